"""Writes a state_dict into variables atomically."""

import numpy as np

from dygraph import _core
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    did_you_mean,
    kind_of,
    nearest_names,
)


class LoadReport:
    """The differences: ``missing`` and ``unexpected`` names, ``mismatched`` reasons by name.

    ``nearest`` maps missing names to the unexpected names nearest to them, if any.
    """

    def __init__(self, missing, unexpected, mismatched):
        self.missing, self.unexpected, self.mismatched = missing, unexpected, mismatched

    @property
    def nearest(self):
        near = {n: nearest_names(n, [str(u) for u in self.unexpected]) for n in self.missing}
        return {n: names for n, names in near.items() if names}

    @property
    def missing_keys(self):
        """`missing`, by torch's name."""
        return list(self.missing)

    @property
    def unexpected_keys(self):
        """`unexpected`, by torch's name."""
        return list(self.unexpected)

    def _prefix(self):
        """The advice if all names differ by one prefix, such as ``module.fc.weight``; or ''."""
        for longer, shorter, advice in (
            (self.unexpected, self.missing, "take it away"),
            (self.missing, self.unexpected, "add it"),
        ):
            names = [str(n) for n in longer]
            if shorter and names and names[0].endswith(f".{shorter[0]}"):
                prefix = names[0][: -len(str(shorter[0]))]
                if names == [f"{prefix}{n}" for n in shorter]:
                    which = "the state" if longer is self.unexpected else "the layer"
                    return (
                        f"all {len(names)} names of {which} begin with '{prefix}', such as "
                        f"'{names[0]}': {advice}"
                    )
        return ""

    def __bool__(self):
        return bool(self.missing or self.unexpected or self.mismatched)

    def __repr__(self):
        lines = [f"'{name}': {reason}" for name, reason in self.mismatched.items()]
        prefix = self._prefix()
        if prefix:
            return "\n".join([*lines, prefix])
        lines += [f"'{n}' is missing.{did_you_mean(n, self.unexpected)}" for n in self.missing]
        lines += [f"'{n}' is not expected.{did_you_mean(n, self.missing)}" for n in self.unexpected]
        return "\n".join(lines) if lines else "all names and shapes agree"


def load(owner, state, given, strict, hint="strict=False writes what fits"):
    """Write ``given`` into the variables of ``state``; returns a LoadReport of the differences."""
    if not hasattr(given, "keys"):
        raise ArgumentTypeError(
            f"{owner}: the state must be a dict of names to Variables, got {kind_of(given)}. "
            "dygraph.load(path) reads one from a file"
        )
    report = compare(state, given)
    if strict and report:
        refuse(owner, report, hint)
    for name, variable in state.items():
        if name in given and name not in report.mismatched:
            value = given[name]
            variable.set_value(value.detach() if isinstance(value, _core.Variable) else value)
    return report


def compare(state, given):
    """The report of `load`, without writing."""
    reasons = ((n, _refusal(v, given[n])) for n, v in state.items() if n in given)
    return LoadReport(
        [name for name in state if name not in given],
        [name for name in given if name not in state],
        {name: reason for name, reason in reasons if reason},
    )


def refuse(owner, report, hint="strict=False writes what fits"):
    """Raise the error of strict loading."""
    raise InvalidArgumentError(
        f"{owner}: the state does not fit, and nothing was written:\n{report!r}\n{hint}".rstrip()
    )


def _refusal(variable, value):
    if isinstance(value, _core.Variable):
        shape, dtype = value.shape, value.dtype
        if dtype != variable.dtype:
            return f"must be {variable.dtype}, got {dtype}"
    elif isinstance(value, (np.ndarray, np.generic, int, float)):
        array = np.asarray(value)
        shape = array.shape
        kind = "float32" if str(variable.dtype) == "bfloat16" else str(variable.dtype)
        if not np.can_cast(array.dtype, kind, "same_kind"):
            return f"must be {variable.dtype}, got {array.dtype}"
    else:
        return f"must be a Variable or an array, got {kind_of(value)}"
    if tuple(shape) != tuple(variable.shape):
        return f"must have shape {list(variable.shape)}, got {list(shape)}"
    return ""
