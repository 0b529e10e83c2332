"""Arguments that the functions share: other libraries' spellings, axes, operands, devices."""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import same_type
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean_or_all, kind_of

Variable = _core.Variable
# What torch, Paddle and Fluid call an argument, by the array API's name.
_SPELLINGS = {
    "dim": "axis", "dims": "axis", "keepdim": "keepdims", "keep_dim": "keepdims",
    "shifts": "shift", "diagonal": "k", "offset": "k", "end": "stop", "num_rows": "n_rows",
    "num_columns": "n_cols", "unbiased": "correction", "ddof": "correction",
    "repeat_times": "repetitions", "perm": "axes", "newshape": "shape",
}  # fmt: skip
# Types that most kernels lack, by the type whose results, cast back, are the same.
_WIDER = {
    "int8": "int32", "int16": "int32", "uint8": "int32", "float16": "float32",
    "bfloat16": "float32",
}  # fmt: skip


def spelled(owner, others, **own):
    """The values of `own`, where other libraries' names for them may stand in `others`."""
    for name, value in others.items():
        ours = _SPELLINGS.get(name)
        if ours not in own:
            hint = did_you_mean_or_all(name, own)
            raise ArgumentTypeError(f"{owner}() got an unexpected argument '{name}'.{hint}")
        if own[ours] is not None and own[ours] is not False:
            raise ArgumentTypeError(
                f"{owner}() got the argument '{ours}' twice, the second time as '{name}'. "
                f"Use {ours}="
            )
        if name == "unbiased":
            value = 1.0 if value else 0.0
        own[ours] = value
    return tuple(own.values())


def axes(axis, rank, owner):
    """One axis or several as a list of numbers from 0; None stays None."""
    if axis is None:
        return None
    if type(axis) is int:
        return [check.axis(axis, rank, owner)]
    found = [check.axis(a, rank, owner) for a in check.axes(axis)]
    if not found:
        raise InvalidArgumentError(f"{owner} must name at least one axis, got {axis}")
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f"{owner} must name each axis once, got {axis}")
    return found


def operands(owner, x1, x2):
    """Two operands as Variables of one type; one of them may be a Python number."""
    numbers = bool, int, float
    if type(x1) in numbers and type(x2) in numbers:
        raise ArgumentTypeError(
            f"{owner}: one of the operands must be a Variable, got {x1} and {x2}. Convert numbers "
            "with dygraph.asarray()"
        )
    for x in (x1, x2):
        if not isinstance(x, Variable) and not hasattr(x, "__array_interface__"):
            if type(x) not in numbers:
                raise ArgumentTypeError(
                    f"{owner}: an operand must be a Variable or a number, got {kind_of(x)}. "
                    "Convert lists with dygraph.asarray()"
                )
    return same_type([x1, x2])


def widened(compute, *values):
    """`compute` of Variables of one type, in a wider one where kernels lack theirs."""
    dtype = values[0].dtype
    wider = None if dtype is None else _WIDER.get(dtype.name)
    if wider is None:
        return compute(*values)
    result = compute(*(v.astype(wider) for v in values))
    return result.astype(dtype) if result.dtype.name == wider else result


def through_numpy(function, owner, *values):
    """NumPy's function of the values, for what has no operator; refused where a gradient flows."""
    for v in values:
        if isinstance(v, Variable) and not v.stop_gradient and v.dtype.is_floating:
            raise InvalidArgumentError(
                f"{owner}: no gradient flows through it, got a Variable that needs one. Write "
                "x.detach()"
            )
    return _core.to_variable(
        function(*(v.numpy() if isinstance(v, Variable) else v for v in values))
    )


def place_of(device, owner):
    """A device as a Place: one of ours or 'cpu'."""
    if isinstance(device, _core.Place):
        return device
    if isinstance(device, str) and device.lower() == "cpu":
        return _core.CPUPlace()
    raise ArgumentTypeError(
        f"{owner}: device must be a place such as dygraph.CPUPlace(), got {kind_of(device)}"
    )


def on_device(x, device, owner):
    """`x` on a device; None: where it is."""
    return x if device is None else x.to(place_of(device, owner))
