"""Operators of which variables give an attribute; what Paddle and this library make of them.

A case: operator, inputs by slot, the output that is looked at, attributes that are values, those
that variables give (an array: VAR; a list of arrays: VARS), and the input of a gradient.
"""

import numpy as np


def _numbers(*shape):
    n = int(np.prod(shape))
    return (np.cos(np.arange(n) * 1.7) * 2).reshape(shape).astype("float32")


def ints(*values, dtype="int64"):
    return np.array(values, dtype)


def axis(value, dtype="int64"):
    return np.array([value], dtype)


X = _numbers(2, 3, 4)
IMAGE = _numbers(1, 2, 4, 4)
WHERE = np.array([[[[1, 3], [8, 10]]]], "int32")


def _reduce(op, attrs, given):
    return op, {"X": X}, "Out", attrs, {"dim": given}, "X"


CASES = {
    "reduce_sum": _reduce("reduce_sum", {"keep_dim": False}, axis(1)),
    "reduce_sum_of_two": _reduce("reduce_sum", {"keep_dim": True}, ints(0, -1)),
    "reduce_sum_of_a_list": _reduce("reduce_sum", {"keep_dim": False}, [axis(2, "int32"), axis(0)]),
    "reduce_mean": _reduce("reduce_mean", {"keep_dim": False}, axis(-1, "int32")),
    "reduce_max": _reduce("reduce_max", {"keep_dim": True}, axis(1)),
    "reduce_min": _reduce("reduce_min", {"keep_dim": False}, ints(1, 2)),
    "reduce_prod": _reduce("reduce_prod", {"keep_dim": False}, axis(0)),
    "frobenius_norm": _reduce("frobenius_norm", {"keep_dim": False}, ints(1, 2)),
    "arg_max": ("arg_max", {"X": X}, "Out", {"keepdims": False, "dtype": 3}, {"axis": axis(1)}, ""),
    "arg_min": ("arg_min", {"X": X}, "Out", {"keepdims": True, "dtype": 3}, {"axis": axis(0)}, ""),
    "cumsum": ("cumsum", {"X": X}, "Out", {"reverse": True}, {"axis": axis(1, "int32")}, "X"),
    "reverse": ("reverse", {"X": X}, "Out", {}, {"axis": ints(0, 2, dtype="int32")}, "X"),
    "squeeze2": ("squeeze2", {"X": X[:, :1]}, "Out", {}, {"axes": axis(1, "int32")}, "X"),
    "tile": ("tile", {"X": X}, "Out", {}, {"repeat_times": ints(1, 2, 1, dtype="int32")}, "X"),
    "tile_of_a_list": (
        "tile", {"X": X}, "Out", {}, {"repeat_times": [axis(2, "int32"), axis(1, "int32")]}, "X",
    ),
    "pad": (
        "pad", {"X": X}, "Out", {"paddings": [0, 1, 1, 0, 0, 0]},
        {"pad_value": np.array([2.5], "float32")}, "X",
    ),
    "pool2d": (
        "pool2d", {"X": IMAGE}, "Out",
        {"pooling_type": "avg", "strides": [2, 2], "paddings": [0, 0], "exclusive": True},
        {"ksize": ints(2, 3, dtype="int32")}, "X",
    ),
    "pool2d_of_a_maximum": (
        "pool2d", {"X": IMAGE}, "Out",
        {"pooling_type": "max", "strides": [1, 1], "paddings": [0, 0]},
        {"ksize": [axis(2, "int32"), axis(2, "int32")]}, "X",
    ),
    "conv2d_transpose": (
        "conv2d_transpose", {"Input": IMAGE, "Filter": _numbers(2, 3, 2, 2)}, "Output",
        {"strides": [2, 2], "paddings": [0, 0], "dilations": [1, 1], "groups": 1,
         "padding_algorithm": "EXPLICIT", "data_format": "NCHW"},
        {"output_size": ints(9, 8, dtype="int32")}, "Input",
    ),
    "depthwise_conv2d_transpose": (
        "depthwise_conv2d_transpose", {"Input": IMAGE, "Filter": _numbers(2, 1, 2, 2)}, "Output",
        {"strides": [2, 2], "paddings": [0, 0], "dilations": [1, 1], "groups": 2,
         "padding_algorithm": "EXPLICIT", "data_format": "NCHW"},
        {"output_size": [axis(8, "int32"), axis(9, "int32")]}, "Input",
    ),
    "unpool": (
        "unpool", {"X": _numbers(1, 1, 2, 2), "Indices": WHERE}, "Out",
        {"ksize": [2, 2], "strides": [2, 2], "paddings": [0, 0], "unpooling_type": "max",
         "data_format": "NCHW"},
        {"output_size": ints(4, 5, dtype="int32")}, "X",
    ),
    "dropout": (
        "dropout", {"X": X}, "Out",
        {"is_test": True, "dropout_implementation": "downgrade_in_infer"},
        {"dropout_prob": np.array([0.25], "float32")}, "",
    ),
    "fill_any_like": (
        "fill_any_like", {"X": X}, "Out", {"dtype": 5}, {"value": np.array([-1.5], "float32")}, "",
    ),
    "eye": (
        "eye", {}, "Out", {"dtype": 5},
        {"num_rows": axis(2), "num_columns": axis(3, "int32")}, "",
    ),
}  # fmt: skip


# Paddle spells these gradient operators in a way that this library does not read.
GRADIENT_NOT_READ = ("cumsum", "pad")


def variables(case):
    """({attribute: names of the variables that give it; a list: VARS}, {name: array})."""
    names, arrays = {}, {}
    for attr, given in CASES[case][4].items():
        several = isinstance(given, list)
        named = {f"{attr}_{i}": v for i, v in enumerate(given if several else [given])}
        names[attr] = list(named) if several else next(iter(named))
        arrays.update(named)
    return names, arrays
