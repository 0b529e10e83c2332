"""`dims` of jit.trace and `InputSpec` of to_static: any axis may be open."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn
from dygraph.jit import InputSpec
from program.models import numbers


def var(*shape):
    return dygraph.to_variable(numbers(*shape, seed=sum(shape)))


class Positions(nn.Layer):
    """Rows of a table, as many as there are steps, and a mask of pairs of steps."""

    def __init__(self):
        super().__init__()
        self.table = self.create_parameter([20, 6])

    def forward(self, x):
        n = x.shape[1]
        later = dygraph.triu(dygraph.ones([n, n]), 1) * dygraph.arange(n, dtype="float32")
        return later @ (x + self.table[:n])


IMAGES = (nn.Conv2D(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2), nn.AdaptiveAvgPool2D(1))
LENGTH = [("batch", "length", 6)]
# (layer, shapes, open sizes, further shapes)
CASES = {
    "LSTM": (
        lambda: nn.LSTM(6, 3, 2, direction="bidirect", time_major=False), [(4, 5, 6)], LENGTH,
        [[(2, 8, 6)], [(1, 1, 6)], [(4, 4, 6)]],
    ),
    "GRU": (
        lambda: nn.GRU(6, 3, time_major=False), [(4, 5, 6)], [(4, None, 6)],
        [[(4, n, 6)] for n in (1, 4, 9)],
    ),
    "Transformer, two lengths": (
        lambda: nn.Transformer(6, 2, 1, 2, 8), [(4, 5, 6), (4, 5, 6)],
        [("batch", "source", 6), ("batch", "target", 6)],
        [[(2, 8, 6), (2, 3, 6)], [(1, 1, 6), (1, 7, 6)], [(5, 5, 6), (5, 5, 6)]],
    ),
    "height and width": (
        lambda: nn.Sequential(*IMAGES), [(2, 3, 12, 12)], [(None, 3, "height", "width")],
        [[(3, 3, 16, 21)], [(1, 3, 5, 40)], [(2, 3, 2, 2)]],
    ),
    "one length of two inputs": (
        lambda: lambda x, y: x * y.shape[1] + y, [(4, 5), (4, 5)],
        [("batch", "length"), ("batch", "length")],
        [[(2, 8), (2, 8)], [(1, 1), (1, 1)], [(7, 3), (7, 3)]],
    ),
    "positions": (Positions, [(4, 5, 6)], LENGTH, [[(2, 8, 6)], [(1, 1, 6)], [(4, 20, 6)]]),
}  # fmt: skip


def arrays(value):
    if isinstance(value, (list, tuple)):
        return [a for item in value for a in arrays(item)]
    return [value.numpy()]


@pytest.mark.parametrize("way", ["trace", "to_static"])
@pytest.mark.parametrize("name", CASES)
def test_eager_bits_at_three_further_sizes(name, way):
    make, shapes, sizes, further = CASES[name]
    layer = make()
    if isinstance(layer, nn.Layer):
        layer.eval()
    given = [var(*shape) for shape in shapes]
    if way == "trace":
        _, program = jit.trace(layer, given, dims=sizes)
    else:
        program = jit.to_static(layer, input_spec=[InputSpec(s) for s in sizes])
        entry = program.entry(*given)
    for others in further:
        inputs = [var(*shape) for shape in others]
        for want, got in zip(arrays(layer(*inputs)), arrays(program(*inputs)), strict=True):
            np.testing.assert_array_equal(got, want, strict=True)
        assert way == "trace" or program.entry(*inputs) is entry


def test_cells_take_open_lengths_in_one_program():
    rnn = nn.RNN(nn.LSTMCell(6, 3))
    captured = jit.to_static(rnn, dims=[{0: None, 1: "length"}])
    entry = captured.entry(var(4, 5, 6))
    for shape in [(4, 9, 6), (2, 1, 6), (3, 6, 6)]:
        for want, got in zip(arrays(rnn(var(*shape))), arrays(captured(var(*shape))), strict=True):
            np.testing.assert_array_equal(got, want, strict=True)
        assert captured.entry(var(*shape)) is entry


def test_a_question_to_an_open_length_is_refused_with_its_line():
    with pytest.raises(ValueError, match="axis 1 of 'x'.*test_open_sizes.py"):
        jit.trace(lambda x: x * 2 if x.shape[1] > 64 else x, [var(4, 5)], dims=[(4, None)])


def test_wrong_specifications_are_refused():
    x = var(4, 5)
    for dims, text in [
        ([(4, 6)], "must fit the input, whose shape is"),
        ([(4,)], "must fit the input, whose shape is"),
        ([("n", "n")], "'n' must be one size, got 4 on axis 0 of 'x' and 5 on axis 1"),
        ([None, None], "must hold an entry for each input, x, got 2"),
        ({"y": (None, None)}, "there must be an input 'y', got x"),
        ([{2: None}], "axis must lie in"),
    ]:
        with pytest.raises((ValueError, IndexError), match=text):
            jit.trace(lambda x: x * 2, [x], dims=dims)
    with pytest.raises(ValueError, match="give input_spec or dims"):
        jit.to_static(lambda x: x, input_spec=[InputSpec([None])], dims=[{0: None}])


def test_input_spec_says_what_it_holds():
    spec = InputSpec([None, -1, "length", 6], "int64", "x")
    assert spec.shape == (-1, -1, -1, 6) and str(spec.dtype) == "int64" and spec.name == "x"
    assert spec == InputSpec((-1, None, "length", 6), "int64", "x") != InputSpec([6])
    assert spec.unbatch().batch(3).shape == (3, -1, -1, 6)
    assert InputSpec.from_numpy(np.zeros([2, 3])) == InputSpec([2, 3], "float64")
    for shape in (None, "ab", [-2], [1.5], [""]):
        with pytest.raises((TypeError, ValueError), match="InputSpec"):
            InputSpec(shape)
