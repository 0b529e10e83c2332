"""Base of all schedules: their state, checks of rates."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect import shown


class Schedule(check.NamedArguments):
    """Base of all schedules, and what they have in common.

    ``schedule()`` and ``get_lr()`` give the rate of the next step, ``step()`` advances,
    ``state_dict()`` is what changes. Fluid's schedules per step advance with each call as well;
    see `LearningRateDecay`.

    Attributes
    ----------
    last_lr : float
        The rate, as ``get_lr()`` gives it.
    unit : {"step", "epoch"}
        What `Model.fit` advances it by.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.StepDecay(1.0, step_size=1, decay_rate=0.5)
    >>> rate.step()
    >>> rate(), rate.get_lr(), rate.last_lr, rate.get_last_lr()
    (0.5, 0.5, 0.5, [0.5])
    """

    unit = "step"
    _keys: tuple[str, ...] = ()  # attributes that change

    def get_lr(self):
        """The rate of the next step, without advancing."""
        raise NotImplementedError(f"{type(self).__name__} must define get_lr()")

    def get_last_lr(self):
        """`get_lr` as a list of one number, as torch's schedulers give it."""
        return [self.get_lr()]

    def state_dict(self):
        """The changing numbers by name; an inner schedule is under ``learning_rate``."""
        state = {key: getattr(self, key) for key in self._keys}
        inner = getattr(self, "_inner", None)
        if inner is not None:
            state["learning_rate"] = inner.state_dict()
        return state

    def set_state_dict(self, state_dict):
        """Restore a `state_dict`. InvalidArgumentError if its names do not fit."""
        name = type(self).__name__
        if not hasattr(state_dict, "keys"):
            raise ArgumentTypeError(f"{name}: the state must be a dict, got {kind_of(state_dict)}")
        inner = getattr(self, "_inner", None)
        wanted = {*self._keys, *(() if inner is None else ("learning_rate",))}
        if set(state_dict) != wanted:
            raise InvalidArgumentError(
                f"{name}: the state must hold {sorted(wanted)}, got {sorted(map(str, state_dict))}"
            )
        if inner is not None:
            inner.set_state_dict(state_dict["learning_rate"])
        for key in self._keys:
            setattr(self, key, state_dict[key])

    set_dict = load = load_state_dict = set_state_dict

    def __repr__(self):
        inner = getattr(self, "_inner", None)
        more = {} if inner is None else {"learning_rate": inner}
        return shown.text(self, **more, **{key: getattr(self, key) for key in self._keys})


def positive(value, what):
    value = check.number(value, what, 0)
    if value == 0:
        raise InvalidArgumentError(f"{what} must be positive, got 0")
    return value


def rate_of(schedule, value, name="learning_rate"):
    if hasattr(value, "minimize"):  # as in torch
        kind = type(schedule).__name__
        raise ArgumentTypeError(
            f"{kind}: {name} must be a number, got the optimizer {type(value).__name__}. The "
            f"optimizer takes the schedule: {type(value).__name__}({kind}(0.1, ...), parameters)"
        )
    return check.number(value, f"{type(schedule).__name__}: {name}", 0)


def rate_or_schedule(schedule, value, kind):
    """(a number, None) or (None, a schedule of this kind)."""
    if isinstance(value, kind):
        return None, value
    if callable(value):
        raise ArgumentTypeError(
            f"{type(schedule).__name__}: learning_rate must be a number or a {kind.__name__}, "
            f"got {kind_of(value)}"
        )
    return rate_of(schedule, value), None
