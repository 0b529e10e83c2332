"""Base of all schedules: their state, checks of rates."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of


class Schedule:
    """Base of all schedules: their state."""

    _keys: tuple[str, ...] = ()  # attributes that change

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

    set_dict = load = set_state_dict

    def __repr__(self):
        state = ", ".join(f"{key}={getattr(self, key)}" for key in self._keys)
        return f"{type(self).__name__}({state})"


def positive(value, what):
    value = check.number(value, what, 0)
    if value == 0:
        raise InvalidArgumentError(f"{what} must be positive, got 0")
    return value


def rate_of(schedule, value, name="learning_rate"):
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
