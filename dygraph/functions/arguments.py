"""Arguments that the functions share: other libraries' spellings, axes, operands, devices."""

import functools

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check
from dygraph.core.promotion import same_type
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean_or_all, kind_of

Variable = _core.Variable
# Other libraries' names of an argument, and ours of the same meaning; the first that a function has
# counts.
_SPELLINGS = {
    "dim": ("axis",), "dims": ("axis", "axes"), "keepdim": ("keepdims",),
    "keep_dim": ("keepdims", "keepdim"), "keepdims": ("keepdim",), "shifts": ("shift",),
    "diagonal": ("k",), "offset": ("k",), "end": ("stop",), "num_rows": ("n_rows",),
    "num_columns": ("n_cols",), "unbiased": ("correction",), "ddof": ("correction",),
    "repeat_times": ("repetitions",), "perm": ("axes",), "newshape": ("shape",),
    "size": ("shape",),
    **dict.fromkeys(("x", "tensors", "inputs", "input"), ("arrays",)),
}  # fmt: skip
# Types that all kernels have; a test of identity suffices, so the usual ones come first.
USUAL = _core.float32, _core.float64, _core.int64, _core.int32
# Types that most kernels lack, by the type whose results, cast back, are the same.
_WIDER = {
    "int8": "int32", "int16": "int32", "uint8": "int32", "float16": "float32",
    "bfloat16": "float32",
}  # fmt: skip


def _ours(name, own):
    """Which of the arguments `own` another library calls `name`; None where it is none of them."""
    return next((ours for ours in _SPELLINGS.get(name, ()) if ours in own), None)


def spelled(owner, others, **own):
    """The values of `own`, where other libraries' names for them may stand in `others`."""
    for name, value in others.items():
        ours = _ours(name, own)
        if ours is None:
            hint = did_you_mean_or_all(name, own)
            raise ArgumentTypeError(f"{owner}() got an unexpected argument '{name}'.{hint}")
        if name == "unbiased":
            value = 1.0 if value else 0.0
        own[ours] = value
    return tuple(own.values())


def given_twice(owner, ours, name):
    """ArgumentTypeError for an argument that another library's name gives once more."""
    return ArgumentTypeError(
        f"{owner}() got the argument '{ours}' twice, the second time as '{name}'. Use {ours}="
    )


def given_once(function):
    """`function`, which also takes other libraries' names, each in place of ours, never beside it.

    It looks at what the caller wrote, so a default value that is written out counts too.
    """
    code = function.__code__
    most = code.co_argcount
    order = code.co_varnames[: most + code.co_kwonlyargcount]
    own = frozenset(order)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if kwargs and not own.issuperset(kwargs):
            seen = {*order[: min(len(args), most)], *own.intersection(kwargs)}
            for name in kwargs:
                ours = None if name in own else _ours(name, own)
                if ours is not None:
                    if ours in seen:
                        raise given_twice(function.__name__, ours, name)
                    seen.add(ours)
        return function(*args, **kwargs)

    return call


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


def softmax_axis(x, axis, owner):
    """The axis of a softmax. It may be left out, as None, where libraries agree on it."""
    if axis is None and check.variable(x, f"{owner}: x").ndim > 2:
        raise InvalidArgumentError(
            f"{owner}: for {x.ndim} axes axis must be given. Write axis=-1, which Paddle, Keras "
            f"and JAX take by default; torch takes {0 if x.ndim == 3 else 1} and warns"
        )
    return -1 if axis is None else axis


_ARRAYS = "__array_interface__", "__cuda_array_interface__"
_REAL = bool, int, float
_NUMBERS = *_REAL, complex


def operands(owner, x1, x2):
    """Two operands as Variables of one type; one of them may be a Python number."""
    if isinstance(x1, Variable) and x1.dtype in USUAL:
        if type(x2) in _REAL:
            return x1, _core.literal(x2, x1.dtype)
        if isinstance(x2, Variable) and x2.dtype is x1.dtype:
            return x1, x2
    if type(x1) in _NUMBERS and type(x2) in _NUMBERS:
        raise ArgumentTypeError(
            f"{owner}: one of the operands must be a Variable, got {x1} and {x2}. Convert numbers "
            "with dygraph.asarray()"
        )
    for x in (x1, x2):
        if not isinstance(x, Variable) and not any(hasattr(x, name) for name in _ARRAYS):
            if type(x) not in _NUMBERS:
                raise ArgumentTypeError(
                    f"{owner}: an operand must be a Variable or a number, got {kind_of(x)}. "
                    "Convert lists with dygraph.asarray()"
                )
    return same_type([x1, x2])


def widened(compute, *values):
    """`compute` of Variables of one type, in a wider one where kernels lack theirs."""
    dtype = values[0].dtype
    if dtype in USUAL or dtype is None:
        return compute(*values)
    wider = _WIDER.get(dtype.name)
    if wider is None or (modes.casts is dtype and values[0].is_cuda):  # which widens for itself
        return compute(*values)
    result = compute(*(v.astype(wider) for v in values))
    if modes.casts:
        return result
    return result.astype(dtype) if result.dtype.name == wider else result


def through_numpy(function, owner, *values):
    """NumPy's function of the values, for what has no operator; refused where a gradient flows."""
    for v in values:
        if isinstance(v, Variable) and not v.stop_gradient and v.dtype.is_inexact:
            raise InvalidArgumentError(
                f"{owner}: no gradient flows through it, got a Variable that needs one. Write "
                "x.detach()"
            )
    return _core.to_variable(
        function(*(v.numpy() if isinstance(v, Variable) else v for v in values))
    )


def named_place(device):
    """The place that 'gpu', 'gpu:1' and the like name; other values unchanged."""
    if isinstance(device, str):
        kind, colon, number = device.lower().partition(":")
        if kind in ("gpu", "cuda") and (number.isdecimal() or not colon):
            return _core.CUDAPlace(int(number or 0))
        if device.lower() == "pinned":
            return _core.CUDAPinnedPlace()
        if device.lower() == "cpu":
            return _core.CPUPlace()
    return device


def place_of(device, owner):
    """A device as a Place: one of ours, or 'cpu', 'gpu', 'gpu:1', 'cuda', 'cuda:1', 'pinned'."""
    place = named_place(device)
    if isinstance(place, _core.Place):
        return place
    raise ArgumentTypeError(
        f"{owner}: device must be a place such as dygraph.CPUPlace(), 'cpu', 'gpu' or 'gpu:1', got "
        f"{repr(device) if isinstance(device, str) else kind_of(device)}"
    )


def cuda_place_of(device, owner):
    """A CUDA device by its number, place or name; None: the current one, or the first."""
    if device is None:
        here = _core.current_place()
        return here if here.kind == "CUDAPlace" else _core.CUDAPlace(0)
    if not isinstance(device, bool) and hasattr(device, "__index__"):
        return _core.CUDAPlace(device.__index__())
    place = place_of(device, owner)
    if place.kind != "CUDAPlace":
        raise ArgumentTypeError(
            f"{owner}: device must be a CUDAPlace, its number or 'gpu', got {place}"
        )
    return place


def place_and_type(place, dtype):
    """What ``x.to(place, dtype)`` means, as a Place and a dtype, each None where not asked for.

    As in torch the first argument may be a type, or a Variable that gives both.
    """
    if isinstance(place, Variable):
        return place.place, place.dtype
    if isinstance(place, (_core.dtype, str)) and not str(place).startswith(_DEVICES):
        return None, place
    return None if place is None else place_of(place, "to()"), dtype


def on_device(x, device, owner):
    """`x` on a device; None: where it is."""
    return x if device is None else x.to(place_of(device, owner))


_DEVICES = "cpu", "cuda", "gpu", "pinned"
_LISTS, _INT = (list, tuple), {int}


def numbers(values, what):
    if type(values) in _LISTS and _INT.issuperset(map(type, values)):
        return values
    if isinstance(values, (Variable, np.ndarray)):
        values = values.tolist()
    if hasattr(type(values), "__index__"):
        values = [values]
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{what} must be a list of integers, got {kind_of(values)}")
    return [check.integer(v, what) for v in values]


def countable(x, axis, owner):
    """The size of an axis, which is the number of results."""
    axis = check.axis(axis, check.variable(x, f"{owner}: x").ndim, f"{owner}: axis")
    n = x.shape[axis]
    if type(n) is not int:
        raise n.refused(f"the number of {owner}'s results is the size")
    if n < 0:
        raise check.unknown_size(x, axis, owner, ", and so is the number of results")
    return n


def share_of_old(momentum, owner):
    """`momentum` of a batch norm. InvalidArgumentError for what only PyTorch users write.

    Fluid's `BatchNorm` takes any.
    """
    value = check.number(momentum, f"{owner}: momentum", 0, 1)
    if value < 0.5 and owner != "BatchNorm":
        raise InvalidArgumentError(
            f"{owner}: momentum must be at least 0.5, since it is the share of the old value, got "
            f"{momentum}. PyTorch's momentum is the share of the new one: write "
            f"momentum={round(1 - value, 12)}"
        )
    return value
