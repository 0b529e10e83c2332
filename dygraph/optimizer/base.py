"""Base of all optimizers: groups of parameters, their states, the step.

An optimizer is a table: the type of an operator, its attributes, and the accumulators of a
parameter, each with its initial value. The table works for eager steps and for programs.
"""

import typing

from dygraph import _core
from dygraph.autograd import passes
from dygraph.autograd.recording import modes, no_grad
from dygraph.core import check
from dygraph.core.module_hints import OF_OPTIMIZERS
from dygraph.core.spellings import OfObjects
from dygraph.core.variable import Variable
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.nn import loading
from dygraph.optimizer.arguments import ours, takes_usual_arguments
from dygraph.optimizer.parameters import Group, parameters_of
from dygraph.regularizer import L2Decay

__all__ = ["Accumulator", "Optimizer"]

ops = _core.ops


class Accumulator(typing.NamedTuple):
    """An accumulator of a parameter: its initial value and its shape.

    ``shape`` None is the parameter's; the type is the parameter's.

    Parameters
    ----------
    value : float
    shape : tuple, optional

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0, 4.0])
    >>> dygraph.optimizer.Accumulator(0.5).make(w).tolist()
    [0.5, 0.5]
    """

    value: float = 0.0
    shape: tuple | None = None

    def make(self, parameter):
        """A Variable with the initial value."""
        if self.shape is None:
            return _filled(parameter, self.value)
        return _core.to_variable([self.value], None, str(parameter.dtype))


NUMBER = (1,)  # shape of a number that is kept between steps

_NAMES_OF_STATES = (
    "Names of parameters count up in a process. With the names of the structure a state fits every "
    "model of its class: give named_parameters(), or the layer, to the optimizer that is saved and "
    "to the one that goes on"
)
_BY_ID = ("_groups", "_names", "_states")  # tables by id of the parameter


class Optimizer(check.NamedArguments, OfObjects):
    """Base of all optimizers: one operator that updates a parameter in place.

    Parameters
    ----------
    learning_rate : float or callable
        A callable is called once a step; see `dygraph.lr`.
    parameter_list : list, or Layer
        Parameters; or (name, parameter) pairs as ``named_parameters()`` gives them, or a layer:
        then `state_dict` has the names of the structure; or groups, dicts with the key ``params``
        (a list of parameters) and optionally ``lr``, their rate, or ``learning_rate``, a factor on
        the optimizer's, and ``weight_decay``, a number or a regularizer that replaces the
        optimizer's own.
    regularization : L1Decay or L2Decay, optional
        For parameters without their own. It makes a sparse gradient dense, since every row decays,
        as in Fluid.
    grad_clip : object, optional
        A rule such as ``dygraph.nn.ClipGradByNorm``; clips before the regularization is added, as
        in Fluid.
    name : str, optional

    Notes
    -----
    The parameters may stand first, as in torch: ``SGD(model.parameters(), lr=0.1)``. ``lr`` is
    another name of `learning_rate`, ``params`` and ``parameters`` are others of `parameter_list`,
    and ``weight_decay=0.01`` stands for ``regularization=L2Decay(0.01)``, where the optimizer has
    no decay of its own.

    A parameter without a gradient is skipped. No step copies a parameter.

    A subclass names its `operator`, sets `attributes` before it calls this constructor, and lists
    the operator's accumulators in `accumulators`. `decay_attribute` is the attribute for a group's
    ``weight_decay`` if the operator itself decays.

    Examples
    --------
    >>> import dygraph
    >>> class Descent(dygraph.optimizer.Optimizer):
    ...     operator = "sgd"
    >>> v, w = dygraph.Parameter([3.0]), dygraph.Parameter([3.0])
    >>> rule = Descent(0.5, [{"params": [v]}, {"params": [w], "learning_rate": 0.5}])
    >>> (v + w).backward()
    >>> rule.step()
    >>> v.item(), w.item()
    (2.5, 2.75)
    """

    _hints = OF_OPTIMIZERS

    operator = ""
    has_rate = True  # the operator reads a learning rate
    attributes: dict = {}
    decay_attribute: str | None = None
    _sharding = None  # who updates which parameter, if ranks divide them

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = takes_usual_arguments(cls.__init__)

    @classmethod
    def _ours(cls, args, kwargs):
        return ours(cls, args, kwargs)

    def __init__(
        self, learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None
    ):
        kind = type(self).__name__
        if not callable(learning_rate) and not self._is_rate(learning_rate):
            learning_rate = check.number(learning_rate, f"{kind}: learning_rate", 0)
        if regularization is not None and not callable(regularization):
            raise ArgumentTypeError(
                f"{kind}: regularization must be L1Decay or L2Decay, got "
                f"{kind_of(regularization)}. Write dygraph.regularizer.L2Decay(1e-4)"
            )
        if grad_clip is not None and not hasattr(grad_clip, "clip"):
            raise ArgumentTypeError(
                f"{kind}: grad_clip must be a rule such as ClipGradByNorm, got "
                f"{kind_of(grad_clip)}. Write dygraph.nn.ClipGradByGlobalNorm(1.0)"
            )
        self._learning_rate, self._last, self._was_set = learning_rate, None, False
        self._regularization, self._grad_clip = regularization, grad_clip
        self._updates = {}  # attributes that differ, as a key -> UpdateCall
        self._take(parameter_list)
        self._states = {}  # by id of the parameter: slot -> Variable
        self._rates = {}  # (factor, dtype) -> Variable
        self._waiting = list(self._parameters)  # no gradient seen yet
        self._entries = {}  # by key of the UpdateCall: updates that take the parameter's gradient
        self._changed = []  # parameters whose gradient is clipped or decayed first

    def _is_rate(self, value):
        """Whether a `value` that is no number is a valid rate: a program's variable."""
        return False

    def _take(self, parameter_list):
        """Read the `parameter_list`."""
        kind = type(self).__name__
        self._parameters, self._names, self._groups, _ = parameters_of(
            parameter_list, kind, rate=self._learning_rate
        )
        for group in self._groups.values():
            self._check_decay(group.weight_decay)
        self._slots = self._update_of(self._parameters[0])[1].slots

    # Copies and pickles ---------------------------------------------------------------------------

    def __getstate__(self):
        """All state except prepared calls. Tables by id become pairs, since copies have other ids.

        A copy made together with its layer, ``copy.deepcopy((layer, optimizer))``, trains the copy.
        """
        state = dict(self.__dict__)
        for name in _BY_ID:
            table = state[name]
            state[name] = [(p, table[id(p)]) for p in self._parameters if id(p) in table]
        state.update(_updates={}, _entries={}, _changed=[], _waiting=list(self._parameters))
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _BY_ID:
            self.__dict__[name] = {id(p): value for p, value in state[name]}

    # What subclasses say --------------------------------------------------------------------------

    def accumulators(self):
        """Input slot -> `Accumulator` of the operator for a parameter."""
        return {}

    def attributes_of(self, parameter):
        """Attributes of the operator for this parameter that differ from `attributes`."""
        decay = self._group_of(parameter).weight_decay
        return (
            {} if self.decay_attribute is None or decay is None else {self.decay_attribute: decay}
        )

    def make_state(self, parameter):
        """Slot name -> Variables of the operator for a parameter, with their initial values."""
        return {slot: a.make(parameter) for slot, a in self.accumulators().items()}

    # Steps ----------------------------------------------------------------------------------------

    def step(self):
        """Update every parameter that has a gradient, in place.

        Raises
        ------
        InvalidArgumentError, ArgumentTypeError
            For a gradient or a learning rate that the operator does not accept.

        Examples
        --------
        >>> import dygraph
        >>> w = dygraph.Parameter([1.0])
        >>> sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
        >>> (w * w).backward()
        >>> sgd.step()
        >>> w.numpy()
        array([0.], dtype=float32)
        """
        if passes.steps:
            for prepare in tuple(passes.steps):
                prepare(self)
        if self._sharding is not None:
            self._sharding.before_step()
        if modes.tracer is None:
            self.ask_rate()
        else:
            modes.tracer.stepping(self)
        if self._waiting:
            self._admit()
        for update, entries in self._entries.values():
            update.run(entries)
        if self._changed or self._sharding is not None:  # a norm over ranks needs all of them
            self._step_changed()
        if self._sharding is not None:
            self._sharding.after_step()

    def ask_rate(self):
        """Read the learning rate of the next step, at the start of `step`."""
        rate = self._learning_rate
        if callable(rate):
            rate = check.number(_as_number(rate()), f"{type(self).__name__}: learning_rate()", 0)
        if rate != self._last:
            self._last = rate
            for (factor, _), variable in self._rates.items():
                variable.fill_(rate * factor)

    def _admit(self):
        """Prepare the update of parameters that got their first gradient."""
        still = []
        for p in self._waiting:
            if p.grad is None:
                still.append(p)
            elif self._is_changed(p):
                if self._is_own(p):
                    self._state_of(p)
                self._changed.append(p)
            elif self._is_own(p):
                key, update = self._update_of(p)
                self._entries.setdefault(key, (update, []))[1].append(self._entry(p, None))
        self._waiting = still

    def _is_own(self, p):
        """Whether this process updates a parameter."""
        return self._sharding is None or self._sharding.owns(p)

    def _is_changed(self, p):
        own = self._decay_of(p) or getattr(p, "gradient_clip", None)
        return self._grad_clip is not None or own is not None

    def _group_of(self, p):
        return self._groups.get(id(p), Group())

    def _check_decay(self, decay):
        if self.decay_attribute is not None and callable(decay):
            raise ArgumentTypeError(
                f"{type(self).__name__}: weight_decay must be a number, since the decay is part of "
                f"its step, got {kind_of(decay)}"
            )

    def _decay_of(self, p):
        """The regularizer of a parameter: its own, its group's, or the optimizer's."""
        own = getattr(p, "regularizer", None)
        if own is not None:
            return own
        decay = self._group_of(p).weight_decay
        if decay is None or self.decay_attribute is not None:
            return self._regularization
        if callable(decay):
            return decay
        return L2Decay(decay) if decay else None

    def _update_of(self, p):
        special = self.attributes_of(p)
        key = tuple(sorted(special.items()))
        if key not in self._updates:
            attributes = {**self.attributes, **special}
            self._updates[key] = _core.UpdateCall(self.operator, attributes)
        return key, self._updates[key]

    def _entry(self, p, gradient):
        values = {"Param": p, "Grad": gradient}
        if self.has_rate:
            values["LearningRate"] = self._rate_of(p)
        values.update(self._state_of(p))
        return tuple(values.get(slot) for slot in self._slots)

    @no_grad
    def _step_changed(self):
        pairs = [(p, p.grad) for p in self._changed if p.grad is not None]
        _clip_own(pairs)
        if self._grad_clip is not None:
            pairs = self._grad_clip.clip(pairs)
        batches = {}
        for p, g in pairs:
            if not self._is_own(p):
                continue
            decay = self._decay_of(p)
            key, update = self._update_of(p)
            entry = self._entry(p, g if decay is None else decay(p, g))
            batches.setdefault(key, (update, []))[1].append(entry)
        for update, entries in batches.values():
            update.run(entries)

    def _rate_of(self, p):
        factor = float(getattr(p, "learning_rate", 1.0)) * self._group_of(p).learning_rate
        key = (factor, str(p.dtype))
        if key not in self._rates:
            rate = self._last if self._last is not None else 0.0
            self._rates[key] = _core.to_variable([rate * key[0]], None, key[1])
        return self._rates[key]

    def _state_of(self, p):
        state = self._states.get(id(p))
        if state is None:
            state = self._states[id(p)] = self.make_state(p)
        return state

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Update the parameters to make `loss` smaller.

        After ``loss.backward()`` its gradients are used, as in Fluid, and kept until
        `clear_gradients`. If no parameter has a gradient, `minimize` calls backward and clears the
        gradients after the step, so a loop needs only ``minimize(loss)``.

        Parameters
        ----------
        loss : Variable
        startup_program, no_grad_set
            Must be None: they belong to programs.
        parameter_list : list of Parameter, optional
            Update only these.

        Returns
        -------
        (list, list of (Parameter, Variable))
            An empty list, as in Fluid, and the used gradients.
        """
        check.variable(loss, f"{type(self).__name__}.minimize: loss")
        for name, value in (("startup_program", startup_program), ("no_grad_set", no_grad_set)):
            if value is not None:
                raise ArgumentTypeError(
                    f"{type(self).__name__}.minimize: {name} belongs to programs and must be None, "
                    f"got {kind_of(value)}"
                )
        chosen = None if parameter_list is None else self._chosen(parameter_list)
        own = all(p.grad is None for p in self._parameters)
        if own:
            loss.backward()
        kept = None
        if chosen is not None:
            kept = [(p, p.grad) for p in self._parameters if id(p) not in chosen]
            for p, _ in kept:
                p.clear_gradient()
        used = [(p, p.grad) for p in self._parameters if p.grad is not None]
        if not used:
            raise PreconditionNotMetError(
                f"{type(self).__name__}.minimize: the loss must depend on a parameter of the "
                "optimizer, but none got a gradient"
            )
        self.step()
        for p, g in kept or ():
            p.grad = g
        if own:
            self.clear_gradients()
        return [], used

    def _chosen(self, parameter_list):
        """Ids of the parameters to which `minimize` is limited, all of them the optimizer's."""
        owner = f"{type(self).__name__}.minimize"
        chosen, own = parameters_of(parameter_list, owner).parameters, {*map(id, self._parameters)}
        for i, p in enumerate(chosen):
            if id(p) not in own:
                raise InvalidArgumentError(
                    f"{owner}: parameter_list[{i}] must be a parameter of the optimizer, got "
                    f"{p.name or 'another Variable'}. Give it to the constructor"
                )
        return {*map(id, chosen)}

    def clear_gradients(self):
        """Clear the gradients of all parameters of the optimizer."""
        _core.clear_gradients(self._parameters)

    clear_gradient = clear_grad = clear_gradients

    def zero_grad(self, set_to_none=True):
        """`clear_gradients`, by torch's name; a gradient is None afterwards."""
        self.clear_gradients()

    # Learning rate --------------------------------------------------------------------------------

    def current_step_lr(self):
        """The learning rate of the last step; before the first one, the given number."""
        if self._last is not None:
            return self._last
        if callable(self._learning_rate):
            raise PreconditionNotMetError(
                f"{type(self).__name__}: the learning rate is computed in step(), so it is known "
                "after the first step, got none yet"
            )
        return self._learning_rate

    def get_lr(self):
        """The learning rate of the next step, if it is known.

        PreconditionNotMetError for a callable that is no scheduler and was not called yet.
        """
        if hasattr(self._learning_rate, "get_lr"):
            return float(self._learning_rate.get_lr())
        return self.current_step_lr() if callable(self._learning_rate) else self._learning_rate

    @property
    def learning_rate(self):
        """The result of `get_lr`; assigning a number calls `set_lr`."""
        return self.get_lr()

    @learning_rate.setter
    def learning_rate(self, value):
        self.set_lr(value)

    def set_lr(self, value):
        """Set another learning rate. PreconditionNotMetError if a callable gives it."""
        if callable(self._learning_rate):
            raise PreconditionNotMetError(
                f"{type(self).__name__}.set_lr: the learning rate must be a number to be set, got "
                f"{type(self._learning_rate).__name__}. Change the schedule"
            )
        self._learning_rate = check.number(value, f"{type(self).__name__}: learning_rate", 0)
        self._was_set = True

    # State ----------------------------------------------------------------------------------------

    def state_dict(self):
        """The accumulators of the parameters, by ``parameter name.slot``.

        The scheduler's state is under ``LR_Scheduler``, a rate of `set_lr` under ``LR``. The
        Variables are the optimizer's own: copy them to keep the current values.
        """
        state = {}
        for name, p in self._named():
            for slot, variable in self._states.get(id(p), {}).items():
                state[f"{name}.{slot}"] = variable
        rate = self._learning_rate
        if hasattr(rate, "state_dict"):
            state["LR_Scheduler"] = rate.state_dict()
        elif self._was_set:
            state["LR"] = rate
        return state

    def set_state_dict(self, stat_dict):
        """Restore a `state_dict`. Names and shapes must agree with the parameters'.

        A state taken before the first step is empty, and so is what it sets.

        Raises
        ------
        InvalidArgumentError
            Lists missing and mismatched names; no value has been written.
        """
        if not hasattr(stat_dict, "keys"):
            raise ArgumentTypeError(
                f"{type(self).__name__}: the state must be a dict, got {kind_of(stat_dict)}"
            )
        given = {k: v for k, v in stat_dict.items() if k not in ("LR_Scheduler", "LR")}
        fresh = {}
        for name, p in self._named():
            state = self._states.get(id(p)) or self.make_state(p)
            names = {f"{name}.{slot}": variable for slot, variable in state.items()}
            if id(p) in self._states or any(n in given for n in names):
                fresh[id(p)] = (state, names)
        wanted = {n: v for _, names in fresh.values() for n, v in names.items()}
        hint = "" if self._names else _NAMES_OF_STATES
        loading.load(type(self).__name__, wanted, given, True, hint)
        self._states.update({key: state for key, (state, _) in fresh.items()})
        if "LR_Scheduler" in stat_dict and hasattr(self._learning_rate, "set_state_dict"):
            self._learning_rate.set_state_dict(stat_dict["LR_Scheduler"])
        if "LR" in stat_dict and not callable(self._learning_rate):
            self.set_lr(stat_dict["LR"])

    set_dict = load_state_dict = set_state_dict

    def _named(self):
        for i, p in enumerate(self._parameters):
            yield self._names.get(id(p)) or p.name or f"parameter_{i}", p

    def __repr__(self):
        rate = self._learning_rate
        return f"{type(self).__name__}(learning_rate={rate}, {len(self._parameters)} parameters)"

    def _repr_html_(self):
        from dygraph.inspect import views

        return views.optimizer(self)


def _as_number(value):
    return value.item() if isinstance(value, Variable) else value


def _clip_own(pairs):
    """Clip by `ParamAttr`'s gradient_clip; a rule shared by several parameters gets all of them."""
    rules = {}
    for i, (p, _) in enumerate(pairs):
        rule = getattr(p, "gradient_clip", None)
        if rule is not None:
            key = getattr(rule, "group_name", None) or id(rule)
            rules.setdefault(key, (rule, []))[1].append(i)
    for rule, places in rules.values():
        for i, pair in zip(places, rule.clip([pairs[i] for i in places]), strict=True):
            pairs[i] = pair


@no_grad
def _filled(parameter, value):
    return ops.fill_any_like(parameter.detach(), value=value)


# Type checkers see the documented arguments.
Optimizer.__init__ = takes_usual_arguments(Optimizer.__init__)  # type: ignore[method-assign]
