"""print: Out = In, and a text about it."""

import io
import subprocess
import sys

import numpy as np
import pytest

import dygraph
from dygraph import _core
from op_test import OpTest, rand


class TestPrint(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "print"
        self.inputs = {"In": rand(2, 3)}
        self.attrs = {"summarize": 2}

    def reference(self, inputs, attrs):
        return {"Out": inputs["In"].copy()}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["In"], "Out")


class TestPrintImage(TestPrint):
    def setUp(self):
        self.op_type = "print"
        self.inputs = {"In": rand(2, 3, 2, 2, dtype="float32")}


def printed(capsys, value, **attrs):
    capsys.readouterr()
    v = value if isinstance(value, _core.Variable) else _core.to_variable(value)
    out = dygraph.run_op("print", {"In": v}, attrs)["Out"]
    return capsys.readouterr().out, out


def data_of(text):
    (line,) = [line for line in text.splitlines() if line.startswith("  - data: ")]
    return line.removeprefix("  - data: ")


@pytest.mark.parametrize(
    ("array", "shape", "data"),
    [
        (np.array([1.0, np.nan, np.inf, -np.inf], "float32"), "[4]", "[1 nan inf -inf]"),
        (np.array(2.5), "[]", "[2.5]"),
        (np.zeros((0, 3), "float32"), "[0, 3]", "[]"),
        (np.array([0.1, 1e-45, 3e38], "float32"), "[3]", "[0.1 1.4e-45 3e+38]"),
        (np.array([0.1, 5e-324, 1 / 3]), "[3]", "[0.1 4.94e-324 0.3333333333333333]"),
        (np.array([0.1, -65504.0], "float16"), "[2]", "[0.1 -6.55e+04]"),
        (np.array([True, False]), "[2]", "[True False]"),
        (np.array([-128, 127], "int8"), "[2]", "[-128 127]"),
        (np.array([2**63 - 1], "int64"), "[1]", "[9223372036854775807]"),
    ],
)
def test_values_of_every_kind(capsys, array, shape, data):
    text, out = printed(capsys, array)
    assert f"  - shape: {shape}\n" in text and f"  - dtype: {array.dtype}\n" in text
    assert data_of(text) == data
    np.testing.assert_array_equal(out.numpy(), array)


def test_digits_say_which_number_it_is(capsys):
    x = np.random.default_rng(0).standard_normal(200).astype("float32")
    text, _ = printed(capsys, x, summarize=-1)
    numbers = np.array([float(word) for word in data_of(text)[1:-1].split()]).astype("float32")
    np.testing.assert_array_equal(numbers, x)


def test_only_so_many_values(capsys):
    x = np.arange(5)
    for most, data in [(3, "[0 1 2 ...]"), (0, "[...]"), (5, "[0 1 2 3 4]"), (-1, "[0 1 2 3 4]")]:
        assert data_of(printed(capsys, x, summarize=most)[0]) == data


def test_what_is_told_may_be_chosen(capsys):
    x = _core.to_variable(np.ones((3, 1), "float32"), lod=[[0, 1, 3]])
    x.name = "words"
    text, out = printed(capsys, x, message="look")
    assert text == (
        "Variable: words\n  - message: look\n  - lod: {[0, 1, 3]}\n  - place: CPUPlace\n"
        "  - shape: [3, 1]\n  - dtype: float32\n  - data: [1 1 1]\n"
    )
    assert _core.lod(out) == [[0, 1, 3]]
    off = {f"print_tensor_{what}": False for what in ("name", "type", "shape", "lod")}
    text, _ = printed(capsys, x, **off)
    assert text == "Variable\n  - place: CPUPlace\n  - data: [1 1 1]\n"


def test_selected_rows(capsys):
    rows = dygraph.selected_rows([4, 1], 6, np.array([[1.0], [2.0]], "float32"))
    text, out = printed(capsys, rows)
    assert "  - rows: [4, 1]\n" in text and "  - shape: [6, 1]\n" in text
    assert data_of(text) == "[1 2]" and _core.is_selected_rows(out)


@pytest.mark.parametrize(
    ("phase", "forward", "backward"),
    [("FORWARD", True, False), ("BACKWARD", False, True), ("BOTH", True, True)],
)
def test_both_ways(capsys, phase, forward, backward):
    x = _core.to_variable(np.array([3.0]))
    x.stop_gradient = False
    text, out = printed(capsys, x, print_phase=phase)
    assert bool(text) == forward
    (out * 5.0).sum().backward()
    text = capsys.readouterr().out
    assert text.startswith("Gradient\n") == backward and ("[5]" in text) == backward
    assert x.gradient().tolist() == [5.0]


def test_a_wrong_phase_is_refused():
    with pytest.raises(ValueError, match="print_phase must be one of 'FORWARD', 'BACK"):
        dygraph.run_op("print", {"In": _core.to_variable(np.ones(1))}, {"print_phase": "up"})


def test_the_result_shares_memory_until_a_write():
    x = _core.to_variable(np.ones(3))
    out = dygraph.run_op("print", {"In": x})["Out"]
    x.fill_(7.0)
    assert out.tolist() == [1.0, 1.0, 1.0]


def test_the_text_goes_where_python_prints(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    dygraph.run_op("print", {"In": _core.to_variable(np.ones(100000, "float32"))})  # unlocks
    assert stream.getvalue().startswith("Variable\n")
    monkeypatch.setattr(sys, "stdout", None)
    dygraph.run_op("print", {"In": _core.to_variable(np.ones(1))})


def test_a_stream_that_raises_is_heard(monkeypatch):
    class Broken:
        def write(self, text):
            raise OSError("no space")

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(OSError, match="no space"):
        dygraph.run_op("print", {"In": _core.to_variable(np.ones(100000, "float32"))})


def test_order_with_pythons_own_prints():
    code = (
        "import dygraph; x = dygraph.ones([1])\n"
        "for i in range(3): print(i); dygraph.run_op('print', {'In': x}, {'message': str(i)})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept = [t for t in done.stdout.splitlines() if t[0].isdigit() or "message" in t]
    assert kept == [t for i in range(3) for t in (str(i), f"  - message: {i}")]
