"""Numbers, types and state of captured functions: as in Python, or refused."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn
from dygraph.errors import PreconditionNotMetError


def given(*numbers):
    return dygraph.to_variable(np.array(numbers, "float32"))


def test_an_int_of_the_run_is_exact_or_raises():
    """Python's ints have no end; those of a program have 62 binary digits."""

    def counted(x):
        k = 1
        while x.sum() < 100:
            x = x + 1
            k = k * 1000
        return k

    counted = jit.to_static(counted, verify=False)  # the proof would try more turns and refuse
    assert int(counted(given(88.0, 1.0))) == 10**18  # 6 turns
    with pytest.raises(PreconditionNotMetError, match=r"OverflowError: .* must be below 2\*\*62"):
        counted(given(1.0, 2.0))  # 49 turns: 10 to the power of 147


def test_a_counter_stays_cheap():
    """Adding 1 needs no check: no assertion stands in the program."""

    @jit.to_static
    def turns(x):
        k = 0
        while x.sum() < 100:
            x = x + 1
            k += 1
        return k

    assert int(turns(given(0.0, 0.0))) == 50
    program = turns.entry(given(0.0, 0.0)).program
    assert "assert" not in [op.type for block in program.blocks for op in block.ops]


def test_the_truth_of_an_int_of_the_run():
    @jit.to_static
    def moved(x):
        k = 2
        while x.sum() < 10:
            x = x + 1
            k = k - 1
        return x * 2 if k else x

    assert moved(given(8.0, 1.0)).tolist() == [18.0, 4.0]  # one turn: k is 1
    assert moved(given(5.0, 1.0)).tolist() == [7.0, 3.0]  # two turns: k is 0


def test_numbers_of_different_types_are_refused():
    @jit.to_static
    def typed(x):
        k = 0
        while x.sum() < 10:
            x = x + 1
            k += 1
        if x.sum() > 11:
            return k
        return k / 2

    with pytest.raises(RuntimeError, match="different results: int at .* and float at"):
        typed(given(1.0))


@pytest.mark.parametrize("verify", [True, False])
def test_variables_of_different_types_keep_them(verify):
    """Their gradients are those of an eager call."""

    def typed(x):
        return x if x.sum() > 0 else x.astype("float64")

    typed = jit.to_static(typed, verify=verify)
    for x, kind in ((given(1.0), "float32"), (given(-1.0), "float64")):
        assert str(typed(x).dtype).endswith(kind)
        x.stop_gradient = False
        typed(x).sum().backward()
        assert x.gradient().tolist() == [1.0]


def test_a_float_of_a_value_has_no_gradient():
    def scaled(x):
        return x * float(x.sum())

    grads = []
    for function in (scaled, jit.to_static(scaled)):
        x = given(1.0, 2.0)
        x.stop_gradient = False
        function(x).sum().backward()
        grads.append(x.gradient().tolist())
    assert grads == [[3.0, 3.0], [3.0, 3.0]]


class Counting(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", dygraph.zeros([1]))

    def forward(self, x):
        if x.sum() > 0:
            self.calls += 1.0
        return x * 2.0


def test_a_saved_program_keeps_what_it_writes_of_its_state(tmp_path):
    layer = Counting()
    layer.eval()
    captured = jit.to_static(layer)
    captured(given(1.0, 2.0))
    captured.save(str(tmp_path / "model"), given(1.0, 2.0))
    loaded = jit.load(str(tmp_path / "model"))
    assert loaded(given(1.0, 2.0)).tolist() == [2.0, 4.0]
    blocks = loaded.program.blocks
    written = {n for block in blocks for op in block.ops for n in op.output_arg_names}
    assert [v.name for v in loaded.program.list_vars() if v.persistable and v.name in written]


def test_training_is_not_saved_as_evaluation(tmp_path):
    layer = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    captured = jit.to_static(layer)
    x = dygraph.to_variable(np.ones((3, 2), "float32"))
    captured(x)
    with pytest.raises(PreconditionNotMetError, match=r"Call eval\(\) on the Layer before"):
        captured.save(str(tmp_path / "model"), x)


@pytest.mark.parametrize(
    "what, text",
    [
        (lambda x: (x * 2).sum().backward(), r"backward\(\) of a value at .*Call it on what"),
        (lambda x: (x * 2).set_value(np.zeros(2)), r"set_value\(\) of a value at .*Bind a new"),
    ],
)
def test_what_no_program_does_names_its_line(what, text):
    def function(x):
        what(x)
        return x

    with pytest.raises(RuntimeError, match=text):
        jit.to_static(function)(given(1.0, 2.0))
