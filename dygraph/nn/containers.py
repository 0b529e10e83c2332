"""Sequential, LayerList, LayerDict, ParameterList, ParameterDict."""

from dygraph.core import check
from dygraph.core.variable import Parameter
from dygraph.errors import (
    ArgumentTypeError,
    NotFoundError,
    OutOfRangeError,
    did_you_mean,
    did_you_mean_or_all,
    kind_of,
)
from dygraph.nn.layer import Layer

__all__ = ["LayerDict", "LayerList", "ParameterDict", "ParameterList", "Sequential"]


def _at(index, size, what):
    index = check.integer(index, f"{what}: the index")
    if not -size <= index < size:
        raise OutOfRangeError(f"{what}: the index must lie in [-{size}, {size}), got {index}")
    return index % size


class Sequential(Layer):
    """Layers called in order.

    Parameters
    ----------
    *layers : Layer or (str, Layer)
        Layers, named by their indices, or pairs of name and layer; or one list or dict of them.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> net = dygraph.nn.Sequential(dygraph.nn.Linear(3, 8, act="relu"), dygraph.nn.Linear(8, 2))
    >>> net(dygraph.to_variable(np.ones((1, 3), "float32"))).shape
    (1, 2)
    >>> len(net), net[0].weight.shape
    (2, (3, 8))
    """

    def __init__(self, *layers):
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], list):
            layers = layers[0]
        elif len(layers) == 1 and isinstance(layers[0], dict):
            layers = layers[0].items()
        for i, layer in enumerate(layers):
            name, layer = layer if isinstance(layer, tuple) and len(layer) == 2 else (str(i), layer)
            self.add_sublayer(name, layer)

    def forward(self, input):
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Sequential(*list(self._sub_layers.items())[index])
        if isinstance(index, str):
            if index not in self._sub_layers:
                raise NotFoundError(
                    f"Sequential: there must be a layer '{index}'."
                    f"{did_you_mean_or_all(index, self._sub_layers)}"
                )
            return self._sub_layers[index]
        return list(self._sub_layers.values())[_at(index, len(self), "Sequential")]

    def __setitem__(self, name, layer):
        name = (
            name
            if isinstance(name, str)
            else list(self._sub_layers)[_at(name, len(self), "Sequential")]
        )
        self.add_sublayer(name, layer)

    def _ipython_key_completions_(self):
        return list(self._sub_layers)


class LayerList(Layer):
    """A list whose layers are found by `parameters` and `state_dict`.

    Parameters
    ----------
    sublayers : list of Layer, optional
        The first layers.

    Examples
    --------
    >>> from dygraph.static import layers
    >>> import dygraph
    >>> layers = dygraph.nn.LayerList([dygraph.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(layers.parameters())
    (3, 6)
    """

    def __init__(self, sublayers=None):
        super().__init__()
        if sublayers is not None:
            self.extend(sublayers)

    def append(self, sublayer):
        """Append a layer. Returns the list."""
        self.add_sublayer(str(len(self._sub_layers)), sublayer)
        return self

    def extend(self, sublayers):
        """Append layers. Returns the list."""
        if isinstance(sublayers, (str, Layer)) or not hasattr(sublayers, "__iter__"):
            raise ArgumentTypeError(f"LayerList: layers must be a list, got {kind_of(sublayers)}")
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index, sublayer):
        """Insert a layer before the one at `index`."""
        layers = list(self._sub_layers.values())
        index = check.integer(index, "LayerList: the index")
        if not -len(layers) <= index <= len(layers):
            raise OutOfRangeError(
                f"LayerList: the index must lie in [-{len(layers)}, {len(layers)}], got {index}"
            )
        if not isinstance(sublayer, Layer):
            raise ArgumentTypeError(f"LayerList: sublayer must be a Layer, got {kind_of(sublayer)}")
        layers.insert(index, sublayer)
        self._renew(layers)

    def _renew(self, layers):
        for name in list(self._sub_layers):
            delattr(self, name)
        self.extend(layers)

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return LayerList(list(self._sub_layers.values())[index])
        return list(self._sub_layers.values())[_at(index, len(self), "LayerList")]

    def __setitem__(self, index, layer):
        self.add_sublayer(str(_at(index, len(self), "LayerList")), layer)

    def __delitem__(self, index):
        layers = list(self._sub_layers.values())
        del layers[index if isinstance(index, slice) else _at(index, len(self), "LayerList")]
        self._renew(layers)


class ParameterList(Layer):
    """A list of parameters that `parameters` and `state_dict` find.

    Parameters
    ----------
    parameters : list of Parameter, optional
        The first parameters.

    Raises
    ------
    ArgumentTypeError
        `parameters` is no list of them.

    Examples
    --------
    >>> import dygraph
    >>> pair = dygraph.nn.ParameterList([dygraph.Parameter([1.0]), dygraph.Parameter([2.0])])
    >>> len(pair.parameters()), pair[1].item()
    (2, 2.0)
    """

    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            if isinstance(parameters, (str, Parameter)) or not hasattr(parameters, "__iter__"):
                raise ArgumentTypeError(
                    f"ParameterList: parameters must be a list, got {kind_of(parameters)}"
                )
            for parameter in parameters:
                self.append(parameter)

    def extra_repr(self):
        return ", ".join(str(list(p.shape)) for p in self._parameters.values())

    def append(self, parameter):
        """Append a parameter. Returns the list."""
        if not isinstance(parameter, Parameter):
            raise ArgumentTypeError(
                f"ParameterList: parameter must be a Parameter, got {kind_of(parameter)}"
            )
        self.add_parameter(str(len(self._parameters)), parameter)
        return self

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ParameterList(list(self._parameters.values())[index])
        return list(self._parameters.values())[_at(index, len(self), "ParameterList")]

    def __setitem__(self, index, parameter):
        self.add_parameter(str(_at(index, len(self), "ParameterList")), parameter)


class _Dict(Layer):
    """Base of the two dicts: `_held` names the registry of their members."""

    _held = "_sub_layers"

    def __init__(self, members=None):
        super().__init__()
        if members is not None:
            self.update(members)

    def update(self, members):
        """Add the members of a dict, or of a list of pairs, in their order."""
        pairs = members.items() if hasattr(members, "items") else members
        if isinstance(pairs, str) or not hasattr(pairs, "__iter__"):
            raise ArgumentTypeError(
                f"{type(self).__name__}: members must be a dict or pairs, got {kind_of(members)}"
            )
        for name, member in pairs:
            self[name] = member

    def _members(self):
        return getattr(self, self._held)

    def _require(self, name):
        members = self._members()
        if name not in members:
            raise NotFoundError(
                f"{type(self).__name__}: there must be a member '{name}'."
                f"{did_you_mean(name, members)}"
            )
        return members[name]

    def __getitem__(self, name):
        return self._require(name)

    def __delitem__(self, name):
        self._require(name)
        delattr(self, name)

    def __contains__(self, name):
        return name in self._members()

    def __len__(self):
        return len(self._members())

    def __iter__(self):
        return iter(self._members())

    def keys(self):
        """The names, in order."""
        return self._members().keys()

    def values(self):
        """The members, in order."""
        return self._members().values()

    def items(self):
        """(name, member), in order."""
        return self._members().items()

    def pop(self, name):
        """Remove a member and return it."""
        member = self._require(name)
        delattr(self, name)
        return member

    def clear(self):
        """Remove all members."""
        for name in list(self._members()):
            delattr(self, name)

    def _ipython_key_completions_(self):
        return list(self._members())


class LayerDict(_Dict):
    """A dict whose layers are found by `parameters` and `state_dict`.

    Parameters
    ----------
    members : dict or list of (str, Layer), optional
        The first entries, in order.

    Examples
    --------
    >>> import dygraph
    >>> heads = dygraph.nn.LayerDict({"a": dygraph.nn.Linear(2, 3), "b": dygraph.nn.Linear(2, 1)})
    >>> list(heads), len(heads.parameters())
    (['a', 'b'], 4)
    """

    def __setitem__(self, name, layer):
        self.add_sublayer(name, layer)


class ParameterDict(_Dict):
    """A dict of parameters that `parameters` and `state_dict` find.

    Parameters
    ----------
    members : dict or list of (str, Parameter), optional
        The first entries, in order.

    Examples
    --------
    >>> import dygraph
    >>> scales = dygraph.nn.ParameterDict({"in": dygraph.Parameter([1.0, 2.0])})
    >>> scales["out"] = dygraph.Parameter([3.0])
    >>> list(scales), len(scales.parameters())
    (['in', 'out'], 2)
    """

    _held = "_parameters"

    def extra_repr(self):
        return ", ".join(f"{name}: {list(p.shape)}" for name, p in self._parameters.items())

    def __setitem__(self, name, parameter):
        if not isinstance(parameter, Parameter):
            raise ArgumentTypeError(
                f"ParameterDict: a value must be a Parameter, got {kind_of(parameter)}"
            )
        self.add_parameter(name, parameter)
