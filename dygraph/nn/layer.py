"""Layer: parameters, buffers and inner layers, called like a function."""

import warnings

from dygraph import _core, unique_name
from dygraph.autograd.recording import modes
from dygraph.core import check, foreign, module_hints, spellings
from dygraph.core.promotion import default_float
from dygraph.core.variable import Parameter, Variable
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
    did_you_mean,
    kind_of,
)
from dygraph.initializer import Constant, Xavier
from dygraph.nn import loading
from dygraph.nn.hooks import HookHandle
from dygraph.nn.moves import _Moves
from dygraph.nn.param_attr import ParamAttr
from dygraph.nn.paths import add_layer, tell_path

__all__ = ["Layer"]


def needs_gradient(value):
    """True if a Variable in `value`, also inside lists, tuples and dicts, requires a gradient."""
    if isinstance(value, Variable):
        return not value.stop_gradient
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(needs_gradient(v) for v in value)
    if isinstance(value, dict):
        return any(needs_gradient(v) for v in value.values())
    return False


class Layer(check.NamedArguments, spellings.OfObjects, _Moves):
    """Base of all layers and models.

    A subclass creates its parts in ``__init__``, after ``super().__init__()``, and computes in
    ``forward``. `parameters`, `state_dict` and similar methods find assigned parameters, layers and
    buffers.

    Parameters
    ----------
    name_scope : str, optional
        Prefix of the layer's name; None: from the class, ``linear_0``.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    training : bool
        Set by `train` and `eval`; dropout and batch normalisation read it.

    Notes
    -----
    In eval mode the layer that is called runs without recording, unless a Variable among its
    arguments requires a gradient or the call is inside ``dygraph.enable_grad()``. An eval layer
    inside a training one changes only its own behaviour.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> class Net(dygraph.Layer):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = dygraph.nn.Linear(3, 2)
    ...
    ...     def forward(self, x):
    ...         return self.fc(x)
    >>> net = Net()
    >>> net(dygraph.to_variable(np.ones((4, 3), "float32"))).shape
    (4, 2)
    >>> sorted(net.state_dict())
    ['fc.bias', 'fc.weight']
    """

    _hints = module_hints.OF_LAYERS

    training = True

    def __init__(self, name_scope=None, dtype=None):
        if name_scope is not None and not isinstance(name_scope, str):
            raise ArgumentTypeError(
                f"Layer: name_scope must be a string, got {kind_of(name_scope)}"
            )
        attributes = self.__dict__
        attributes["_parameters"] = {}
        attributes["_buffers"] = {}
        attributes["_sub_layers"] = {}
        attributes["_unsaved"] = frozenset()  # buffers that state_dict leaves out
        attributes["_pre_hooks"] = ()
        attributes["_post_hooks"] = ()
        kind = name_scope or unique_name.snake(type(self).__name__)
        attributes["_full_name"] = unique_name.generate(kind)
        if dtype is None:
            dtype = default_float()
        attributes["_dtype"] = _core.dtype_of(dtype)
        attributes["_made"] = {"w": 0, "b": 0}

    # Attributes -----------------------------------------------------------------------------------

    def __setattr__(self, name, value):
        attributes = self.__dict__
        if isinstance(value, Layer):
            group = "_sub_layers"
        elif isinstance(value, Parameter):
            group = "_parameters"
        elif name in attributes.get("_parameters", ()):
            foreign.require_none(self, name, value, "Parameter")
            group = "_parameters"
        elif name in attributes.get("_buffers", ()):
            if value is not None and not isinstance(value, Variable):
                raise ArgumentTypeError(
                    f"{type(self).__name__}: the buffer '{name}' must be a Variable or None, got "
                    f"{kind_of(value)}. Convert with dygraph.to_variable()"
                )
            if modes.ways is not None:
                value = modes.ways.symbolic(value)
            if value is not None:
                value.persistable = name not in self._unsaved
            group = "_buffers"
        else:
            foreign.refuse(self, name, foreign.OF_LAYERS)
            if name in attributes.get("_sub_layers", ()):
                foreign.require_none(self, name, value, "Layer")
                del attributes["_sub_layers"][name]
            object.__setattr__(self, name, value)
            return
        if group not in attributes:
            raise PreconditionNotMetError(
                f"{type(self).__name__}: call super().__init__() before assigning '{name}'"
            )
        for other in ("_parameters", "_sub_layers", "_buffers"):
            if other != group:
                attributes[other].pop(name, None)
        attributes[group][name] = value
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        object.__delattr__(self, name)
        for group in (self._parameters, self._sub_layers, self._buffers):
            group.pop(name, None)
        self.__dict__["_unsaved"] = self._unsaved - {name}

    def add_parameter(self, name, parameter):
        """Register a parameter under any name and return it.

        ArgumentTypeError for a value that is no Parameter or None, AlreadyExistsError for a used
        name.
        """
        self._require_free(name, self._parameters, "add_parameter")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise ArgumentTypeError(
                f"add_parameter: '{name}' must be a Parameter, got {kind_of(parameter)}. "
                "dygraph.Parameter(value) makes one"
            )
        if parameter is None:
            self._parameters[name] = self.__dict__[name] = None
        else:
            setattr(self, name, parameter)
        return parameter

    def add_sublayer(self, name, sublayer):
        """Register a layer under any name and return it."""
        self._require_free(name, self._sub_layers, "add_sublayer")
        if not isinstance(sublayer, Layer):
            fix = ""
            if isinstance(sublayer, type):
                fix = f". Make one of it: {sublayer.__name__}(...)"
            elif callable(sublayer):
                fix = ". A function is called in forward(), or is a Layer such as nn.ReLU()"
            raise ArgumentTypeError(
                f"{type(self).__name__}: '{name}' must be a Layer, got {kind_of(sublayer)}{fix}"
            )
        setattr(self, name, sublayer)
        return sublayer

    def register_buffer(self, name, variable, persistable=True, *, persistent=True):
        """Register a Variable of the state that is not trained, such as a running mean.

        `persistable` False omits it from `state_dict`; `persistent` is torch's name.
        """
        self._require_free(name, self._buffers, "register_buffer")
        persistable = persistable and persistent
        if variable is not None:
            check.variable(variable, f"register_buffer: '{name}'")
            variable.persistable = bool(persistable)
        self._buffers[name] = variable
        self.__dict__[name] = variable
        unsaved = self._unsaved - {name} if persistable else self._unsaved | {name}
        self.__dict__["_unsaved"] = unsaved
        return variable

    def _require_free(self, name, group, what):
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{what}: the name must be a string, got {kind_of(name)}")
        if not name or "." in name:
            raise InvalidArgumentError(
                f"{what}: the name must not be empty and have no '.', got '{name}'"
            )
        if "_parameters" not in self.__dict__:
            raise PreconditionNotMetError(
                f"{type(self).__name__}: call super().__init__() before {what}"
            )
        taken = name not in group and hasattr(self, name)
        if taken:
            raise AlreadyExistsError(f"{what}: '{name}' is already an attribute of the layer")

    def create_parameter(
        self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None
    ):
        """Make a parameter by `attr`. It belongs to the layer after an assignment.

        Parameters
        ----------
        shape : list of int
        attr : ParamAttr, str, Initializer, None or False
            False gives None: no parameter.
        dtype : dtype, optional
            None: the layer's.
        is_bias : bool
            True: starts at 0, named ``b``. False: initialised by `Xavier`, named ``w``.
        default_initializer : Initializer, optional
            Used if `attr` has none.
        """
        attr = ParamAttr.of(attr)
        if attr is None:
            return None
        shape = check.shape(shape, f"{type(self).__name__}: the shape of a parameter")
        dtype = _core.dtype_of(dtype) if dtype is not None else self._dtype
        if not dtype.is_floating:
            raise ArgumentTypeError(
                f"{type(self).__name__}: a parameter of shape {shape} must be of a floating type, "
                f"got {dtype}. Pass dtype='float32'"
            )
        kind = "b" if is_bias else "w"
        number = self._made[kind]
        self._made[kind] = number + 1
        name = attr.name or f"{self._full_name}.{kind}_{number}"
        initializer = attr.initializer or default_initializer
        initializer = initializer or (Constant(0.0) if is_bias else Xavier())
        value = initializer(shape, str(dtype))
        parameter = Parameter(value, trainable=attr.trainable, name=name)
        if attr.learning_rate != 1.0:
            parameter.learning_rate = attr.learning_rate
        for what in ("regularizer", "gradient_clip"):
            if getattr(attr, what) is not None:
                setattr(parameter, what, getattr(attr, what))
        if not attr.do_model_average:
            parameter.do_model_average = False
        return parameter

    def create_variable(self, name=None, persistable=None, dtype=None, type=None):
        """Make an empty Variable of the layer's type, for ``set_value``.

        Parameters
        ----------
        name : str, optional
            Suffix of its name; None: from the layer's name.
        persistable : bool, optional
        dtype : dtype, optional
            None: the layer's.
        type : None
            Fluid's; not used.
        """
        end = unique_name.generate("_generated_var") if name is None else name
        dtype = self._dtype if dtype is None else _core.dtype_of(dtype)
        variable = _core.to_variable([], None, str(dtype), f"{self._full_name}.{end}")
        variable.persistable = bool(persistable)
        return variable

    # Walking --------------------------------------------------------------------------------------

    def full_name(self):
        """The layer's name, ``linear_0``, unique in the process."""
        return self._full_name

    def named_children(self):
        """(name, layer) of the layers directly below."""
        return iter(self._sub_layers.items())

    def children(self):
        """The layers directly below."""
        return iter(self._sub_layers.values())

    def named_sublayers(
        self, prefix="", include_sublayers=True, include_self=False, layers_set=None
    ):
        """(dotted name, layer) of all layers below, each once, parents first.

        Those of `layers_set` are left out, with the layers below them.
        """
        seen = {id(layer) for layer in layers_set or ()}
        if not include_self:
            seen.add(id(self))
        stack = [(prefix, self)] if include_self else self._below(prefix)
        while stack:
            name, layer = stack.pop()
            if id(layer) in seen:
                continue
            seen.add(id(layer))
            yield name, layer
            if include_sublayers:
                stack.extend(layer._below(name))

    def _below(self, prefix):
        start = f"{prefix}." if prefix else ""
        return [(start + name, layer) for name, layer in reversed(self._sub_layers.items())]

    def sublayers(self, include_sublayers=True):
        """A list of all layers below."""
        return [layer for _, layer in self.named_sublayers("", include_sublayers)]

    def _named(self, group, prefix, include_sublayers):
        seen = set()
        layers = (
            self.named_sublayers(prefix, include_self=True)
            if include_sublayers
            else [(prefix, self)]
        )
        for path, layer in layers:
            for name, value in getattr(layer, group).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix="", include_sublayers=True):
        """(dotted name, parameter), each once, however many layers share it."""
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers=True):
        """A list of all parameters, each once.

        Warns of layers and parameters in plain lists, which are not found: `LayerList` and
        `ParameterList` are. Names that begin with ``_`` are not checked.
        """
        if include_sublayers:
            _warn_of_plain_lists(self)
        return [p for _, p in self.named_parameters("", include_sublayers)]

    def named_buffers(self, prefix="", include_sublayers=True):
        """(dotted name, buffer), each once."""
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers=True):
        """A list of all buffers, each once."""
        return [b for _, b in self.named_buffers("", include_sublayers)]

    def apply(self, function):
        """Call ``function(layer)`` for all layers below, then for this one. Returns this layer."""
        for layer in self._sub_layers.values():
            layer.apply(function)
        function(self)
        return self

    # Modes and state ------------------------------------------------------------------------------

    def train(self, mode=True):
        """Set this layer and all below to training mode, or with False to eval mode."""
        if not isinstance(mode, bool):
            raise ArgumentTypeError(f"train: mode must be True or False, got {kind_of(mode)}")
        return self._set_training(mode)

    def eval(self):
        """Set this layer and all below to eval mode; its own calls are not recorded."""
        return self._set_training(False)

    def _set_training(self, training):
        for _, layer in self.named_sublayers(include_self=True):
            layer.__dict__["training"] = training
        return self

    def clear_gradients(self):
        """Clear the gradients of all parameters."""
        for _, parameter in self.named_parameters():
            parameter.clear_gradient()

    zero_grad = clear_gradients

    def requires_grad_(self, requires_grad=True):
        """Train all parameters, or with False freeze them. Returns this layer."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix=""):
        """Parameters and persistable buffers by dotted name: the Variables themselves.

        A shared parameter is listed under each of its names.
        """
        state = {} if destination is None else destination
        start = structured_name_prefix
        for name, value in self._parameters.items():
            if value is not None:
                state[start + name] = value
        for name, value in self._buffers.items():
            if value is not None and name not in self._unsaved:
                state[start + name] = value
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                layer.state_dict(state, True, f"{start}{name}.")
        return state

    def set_state_dict(
        self, stat_dict, include_sublayers=True, use_structured_name=True, strict=True,
        from_torch=None,
    ):  # fmt: skip
        """Write the values of a `state_dict` into this layer's parameters and buffers.

        Parameters
        ----------
        stat_dict : dict of str to Variable or array
        include_sublayers : bool
        use_structured_name : bool
            False: the keys are the parameters' own names, ``linear_0.w_0``.
        strict : bool
            True: raise an error if names or shapes do not agree, before any value is written.
            False: write the values that fit.
        from_torch : bool, optional
            True: the state is PyTorch's, whose Linear weights are ``[out, in]`` and are transposed;
            ``running_mean`` and ``running_var`` are `BatchNorm`'s buffers; attention's weights
            are taken apart. None: tensors of torch
            and these names say it; other shapes decide, and arrays for square weights alone raise.

        Returns
        -------
        LoadReport
            ``missing``, ``unexpected`` and ``mismatched``, printable.

        Raises
        ------
        InvalidArgumentError
            Lists all missing, unexpected and mismatched names, with near names; or says that
            `from_torch` must be given.
        """
        state = self.state_dict(include_sublayers=include_sublayers)
        if not use_structured_name:
            state = {value.name: value for value in state.values()}
        if hasattr(stat_dict, "keys"):
            from dygraph.nn.torch_states import translated

            stat_dict = translated(self, state, stat_dict, from_torch)
        return loading.load(type(self).__name__, state, stat_dict, strict)

    set_dict = set_state_dict
    load_dict = set_state_dict

    def load_state_dict(self, state_dict, strict=True, *, from_torch=None):
        """`set_state_dict`, by torch's name and with its arguments."""
        return self.set_state_dict(state_dict, strict=strict, from_torch=from_torch)

    # Calling --------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook):
        """Call ``hook(layer, inputs)`` before forward; its result replaces the inputs."""
        return self._add_hook("_pre_hooks", hook)

    def register_forward_post_hook(self, hook):
        """Call ``hook(layer, inputs, outputs)`` after forward; its result replaces the outputs."""
        return self._add_hook("_post_hooks", hook)

    def _add_hook(self, hooks, hook):
        if not callable(hook):
            raise ArgumentTypeError(f"a forward hook must be a function, got {kind_of(hook)}")
        self.__dict__[hooks] = (*self.__dict__[hooks], hook)
        return HookHandle(self, hooks, hook)

    def forward(self, *inputs, **kwargs):
        """The computation of the layer; every subclass defines it."""
        near = did_you_mean("forward", [n for n in vars(type(self)) if n != "forward"])
        raise UnimplementedError(f"{type(self).__name__}: a layer must define forward().{near}")

    def backward(self, *inputs):
        """Raises an error: gradients come from ``loss.backward()``."""
        raise PreconditionNotMetError(
            f"{type(self).__name__}: a layer has no backward() of its own. Call backward() on the "
            "loss"
        )

    # The result of `forward`, between the hooks. The outermost layer in eval mode does not record,
    # unless an argument needs a gradient or the call is inside enable_grad().
    __call__ = _core.layer_call

    def _call_with_hooks(self, inputs, kwargs):
        for hook in self._pre_hooks:
            result = hook(self, inputs)
            if result is not None:
                inputs = result if isinstance(result, tuple) else (result,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in self._post_hooks:
            result = hook(self, inputs, outputs)
            if result is not None:
                outputs = result
        return outputs

    # Text -----------------------------------------------------------------------------------------

    def extra_repr(self):
        """The text in the parentheses of ``repr`` of a layer without inner layers."""
        return ""

    def __repr__(self):
        head, extra = type(self).__name__, self.extra_repr()
        if not self._sub_layers:
            return f"{head}({extra})"
        lines = [f"{head}({extra}"]
        for name, layer in self._sub_layers.items():
            lines.append(f"  ({name}): " + repr(layer).replace("\n", "\n  "))
        return "\n".join([*lines, ")"])

    def _repr_html_(self):
        from dygraph.inspect import views

        return views.layer(self)

    def __dir__(self):
        """Names without a layer's internal tables."""
        inner = {"_parameters", "_buffers", "_sub_layers", "_unsaved", "_pre_hooks", "_post_hooks"}
        inner |= {"_full_name", "_dtype", "_made"}
        return [name for name in super().__dir__() if name not in inner]

    def __getstate__(self):
        state = dict(self.__dict__)
        state["_pre_hooks"] = state["_post_hooks"] = ()
        return state


def _require_init(layer):
    if "_parameters" not in layer.__dict__:
        raise PreconditionNotMetError(
            f"{type(layer).__name__}: __init__ must call super().__init__() first, got a layer "
            "without it"
        ) from None


def _failed(layer, error, outermost):
    """Add the layer's path to the error of a call."""
    _require_init(layer)
    add_layer(error, layer)
    if outermost:
        tell_path(error)


_core.set_layer_functions(needs_gradient, _failed)


def _warn_of_plain_lists(root):
    """Layers and parameters in lists, tuples and dicts, which are not registered."""
    layers = [layer for _, layer in root.named_sublayers(include_self=True)]
    found = {id(v) for layer in layers for v in (layer, *layer._parameters.values())}
    for layer in layers:
        for name, value in layer.__dict__.items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            for member in value.values() if isinstance(value, dict) else value:
                if isinstance(member, (Layer, Parameter)) and id(member) not in found:
                    kind = "Layer" if isinstance(member, Layer) else "Parameter"
                    held = "Dict" if isinstance(value, dict) else "List"
                    warnings.warn(
                        f"{type(layer).__name__}: parameters() does not find the {kind} in the "
                        f"{type(value).__name__} '{name}', so no optimizer trains it. Keep it in "
                        f"nn.{kind}{held}, or name the attribute '_{name}' to hide it",
                        stacklevel=3,
                    )
                    break
