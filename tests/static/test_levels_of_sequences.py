"""Levels of detail: what programs describe is what eager calls have, of every way to call."""

import numpy as np
import pytest

import dygraph
import dygraph.ops as F
from dygraph import jit, nets, static
from dygraph.static import layers


def made(array, *offsets, dtype="float32"):
    return dygraph.to_variable(np.asarray(array, dtype), lod=list(offsets) or None)


NUMBERS = np.arange(12).reshape(6, 2)
X0, X1, X2 = made(NUMBERS), made(NUMBERS, [0, 2, 6]), made(NUMBERS, [0, 1, 2], [0, 2, 6])
Z1 = made(NUMBERS[:5], [0, 3, 5])
Z2 = made(NUMBERS[:5], [0, 1, 2], [0, 3, 5])
COLUMN1 = made(NUMBERS[:, :1], [0, 2, 6])
COLUMN2 = made(NUMBERS[:, :1], [0, 1, 2], [0, 2, 6])
IDS1 = made(NUMBERS[:, :1], [0, 2, 6], dtype="int64")
IDS2 = made(NUMBERS[:, :1], [0, 1, 2], [0, 2, 6], dtype="int64")
ROWS0, ROWS1 = made(NUMBERS[:2]), made(NUMBERS[:2], [0, 1, 2])
COUNTS = made([2, 3], dtype="int64")
BEGINS, LENGTHS = made([[0], [1]], dtype="int64"), made([[1], [2]], dtype="int64")
OFFSETS = made([0, 1, 6], dtype="int32")
PADDED, ZERO = made(np.zeros((2, 3, 2))), made([0.0])
PLACES = made([[0], [1], [1]], [0, 1, 3], dtype="int64")
UPDATES = made([[1.0], [1.0], [1.0]], [0, 1, 3])
WIDE, W, B = made(np.ones((6, 8)), [0, 2, 6]), made(np.zeros((2, 8))), made(np.zeros((1, 14)))
ALL = [0, 1, 2, 3, 4, 5, 6]
FINE = made(NUMBERS, ALL)

# name: (levels of the result, call with the functions of a module, Variables)
CALLS = {
    "reverse 1": (1, lambda m, x: m.sequence_reverse(x), X1),
    "reverse 2": (2, lambda m, x: m.sequence_reverse(x), X2),
    "reshape 1": (1, lambda m, x: m.sequence_reshape(x, 4), X1),
    "reshape 2": (2, lambda m, x: m.sequence_reshape(x, 4), X2),
    "enumerate 1": (1, lambda m, x: m.sequence_enumerate(x, 2), IDS1),
    "enumerate 2": (2, lambda m, x: m.sequence_enumerate(x, 2), IDS2),
    "concat 1": (1, lambda m, x, y: m.sequence_concat([x, y]), X1, Z1),
    "concat 2": (2, lambda m, x, y: m.sequence_concat([x, y]), X2, Z2),
    "expand 0 by 1": (0, lambda m, x, y: m.sequence_expand(x, y, 0), ROWS0, X1),
    "expand 1 by 1": (1, lambda m, x, y: m.sequence_expand(x, y, 0), ROWS1, X1),
    "expand 0 by 2": (0, lambda m, x, y: m.sequence_expand(x, y, -1), ROWS0, X2),
    "expand 1 by 2": (1, lambda m, x, y: m.sequence_expand(x, y, 0), ROWS1, X2),
    "expand as 1": (1, lambda m, x, y: m.sequence_expand_as(x, y), ROWS0, X1),
    "expand as 2": (2, lambda m, x, y: m.sequence_expand_as(x, y), ROWS0, X2),
    "slice 1": (1, lambda m, x, b, n: m.sequence_slice(x, b, n), X1, BEGINS, LENGTHS),
    "slice 2": (2, lambda m, x, b, n: m.sequence_slice(x, b, n), X2, BEGINS, LENGTHS),
    "softmax 1": (1, lambda m, x: m.sequence_softmax(x), COLUMN1),
    "softmax 2": (2, lambda m, x: m.sequence_softmax(x), COLUMN2),
    "pool 1": (0, lambda m, x: m.sequence_pool(x, "SUM"), X1),
    "pool 2": (1, lambda m, x: m.sequence_pool(x, "SUM"), X2),
    "greatest 2": (1, lambda m, x: m.sequence_pool(x, "MAX"), X2),
    "pad 1": (0, lambda m, x, z: m.sequence_pad(x, z)[0], X1, ZERO),
    "pad 2": (0, lambda m, x, z: m.sequence_pad(x, z)[0], X2, ZERO),
    "unpad": (1, lambda m, x, n: m.sequence_unpad(x, n), PADDED, COUNTS),
    "scatter": (0, lambda m, x, i, u: m.sequence_scatter(x, i, u), PADDED[:, 0], PLACES, UPDATES),
    "positions 2": (2, lambda m, x: m.add_position_encoding(x, 1.0, 1.0), X2),
    "reset 0 to a list": (1, lambda m, x: m.lod_reset(x, target_lod=[0, 1, 6]), X0),
    "reset 2 to a list": (1, lambda m, x: m.lod_reset(x, target_lod=[0, 1, 6]), X2),
    "reset to 1": (1, lambda m, x, y: m.lod_reset(x, y=y), X0, X1),
    "reset to 2": (2, lambda m, x, y: m.lod_reset(x, y=y), X0, X2),
    "reset to offsets": (1, lambda m, x, y: m.lod_reset(x, y=y), X2, OFFSETS),
}  # fmt: skip

# Those that one side alone has, or has under another name.
MORE = {
    "erase 1": (1, lambda x: F.sequence_erase(x, [2]), IDS1),
    "erase 2": (2, lambda x: F.sequence_erase(x, [2]), IDS2),
    "append 1 to 0": (1, lambda x: F.lod_reset(x, target_lod=ALL, append=True), X0),
    "append 1 to 1": (2, lambda x: F.lod_reset(x, target_lod=ALL, append=True), X1),
    "append 1 to 2": (3, lambda x: F.lod_reset(x, target_lod=ALL, append=True), X2),
    "nets append a level": (2, lambda x: nets.lod_append(x, ALL), X1),
    "layers append a level": (2, lambda x: layers.lod_append(x, ALL), X1),
    "layers append a variable": (2, layers.lod_append, X1, FINE),
    "layers first": (1, lambda x: layers.sequence_first_step(x), X2),
    "nets last": (1, lambda x: nets.sequence_last_step(x), X2),
    "windows": (1, lambda x: F.im2sequence(x, kernels=[2, 2]), made(np.zeros((2, 1, 4, 4)))),
    "layers windows": (1, lambda x: layers.im2sequence(x, 2), made(np.zeros((2, 1, 4, 4)))),
    "ctc": (1, lambda x: F.ctc_align(x, blank=0), made(NUMBERS[:, :1], [0, 2, 6], dtype="int32")),
    "layers ctc": (1, lambda x: layers.ctc_greedy_decoder(x, 0), X1),
    "lstm": (1, lambda x, w, b: F.lstm(x, w, b)[0], WIDE, W, B),
    "lstm's cell": (1, lambda x, w, b: F.lstm(x, w, b)[1], WIDE, W, B),
    "gru": (1, F.gru, WIDE[:, :6], W[:, :6]),
}
PADDED_CTC = made(NUMBERS[:2], dtype="int32"), made([[2], [1]], dtype="int64")


def described(function, *given):
    """The level that a program has for the result."""
    with static.program_guard(static.Program(), static.Program()):
        variables = [
            static.data(f"x{i}", [None, *v.shape[1:]], str(v.dtype), lod_level=len(v.lod()))
            for i, v in enumerate(given)
        ]
        return function(*variables).lod_level


@pytest.mark.parametrize("module", [F, layers], ids=["functional", "layers"])
@pytest.mark.parametrize("name", CALLS)
def test_both_ways_to_call(name, module):
    levels, function, *given = CALLS[name]
    assert len(function(module, *given).lod()) == levels
    assert described(lambda *v: function(module, *v), *given) == levels


@pytest.mark.parametrize("name", MORE)
def test_one_way_to_call(name):
    levels, function, *given = MORE[name]
    assert len(function(*given).lod()) == levels
    assert described(function, *given) == levels


def test_padded_classes_stay_padded():
    function = lambda x, n: F.ctc_align(x, input_length=n)[0]  # noqa: E731
    assert function(*PADDED_CTC).lod() == []
    assert described(function, *PADDED_CTC) == 0


def test_every_operator_of_sequences_is_here():
    names = {n for n in dygraph.op_names() if n.startswith("sequence_") and "_grad" not in n}
    without = {
        "sequence_conv", "sequence_context", "sequence_mask", "sequence_match",
        "sequence_topk_avg_pooling",
    }  # fmt: skip
    tried = {f"sequence_{n.split()[0]}" for n in [*CALLS, *MORE]} | {"sequence_expand_as"}
    assert names - without <= tried


@pytest.mark.parametrize("name", ["reverse 2", "expand 1 by 1", "pool 2", "reset to 2"])
def test_captured_functions_see_the_levels(name):
    """A level is a number of Python there, on which it decides."""
    levels, function, *given = CALLS[name]

    def f(*variables):
        out = function(F, *variables)
        return out, out.lod_level

    out, seen = jit.to_static(f)(*given)
    assert seen == len(out.lod()) == levels
