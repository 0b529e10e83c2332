"""layers.Print: the output of a running program."""

import re

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers

pytestmark = pytest.mark.usefixtures("own_programs")


def run(feed, fetch, program=None):
    return static.Executor().run(program, feed, fetch)


def names(text):
    return re.findall(r"^Variable: (.*)$", text, re.MULTILINE)


X = np.array([[1.0, 2.0, 3.0]], "float32")


def test_names_message_and_value(capsys):
    x = layers.data("x", [3], dtype="float32")
    y = layers.Print(layers.fc(x, 2, param_attr=static.initializer.Constant(1.0)), message="fc:")
    static.Executor().run(static.default_startup_program())
    assert static.default_main_program().global_block().ops[-1].type == "print"
    capsys.readouterr()
    (got,) = run({"x": X}, [y])
    assert capsys.readouterr().out == (
        "Variable: fc_0.tmp_1\n  - message: fc:\n  - lod: {}\n  - place: CPUPlace\n"
        "  - shape: [1, 2]\n  - dtype: float32\n  - data: [6 6]\n"
    )
    assert got.tolist() == [[6.0, 6.0]] and y.shape == (-1, 2)


def test_it_runs_though_its_result_is_unused(capsys):
    x = layers.data("x", [3], dtype="float32")
    layers.Print(x)
    run({"x": X}, [layers.mean(x)])
    assert names(capsys.readouterr().out) == ["x"]


@pytest.mark.parametrize(
    ("phase", "printed"),
    [("forward", ["x"]), ("backward", ["Print_0.tmp_0@GRAD"]),
     ("both", ["x", "Print_0.tmp_0@GRAD"])],
)  # fmt: skip
def test_phases(capsys, phase, printed):
    x = layers.data("x", [3], dtype="float32")
    x.stop_gradient = False
    (gradient,) = static.gradients(layers.reduce_sum(layers.Print(x, print_phase=phase) * 2.0), x)
    (got,) = run({"x": X}, [gradient])
    assert names(capsys.readouterr().out) == printed
    assert got.tolist() == [[2.0, 2.0, 2.0]]


def test_the_first_runs_only(capsys):
    x = layers.data("x", [3], dtype="float32")
    x.stop_gradient = False
    (gradient,) = static.gradients(layers.reduce_sum(layers.Print(x, first_n=2)), x)
    executor = static.Executor()
    for _ in range(5):
        executor.run(feed={"x": X}, fetch_list=[gradient])
    assert names(capsys.readouterr().out) == ["x", "Print_0.tmp_0@GRAD"] * 2


def test_a_test_program_prints_too(capsys):
    x = layers.data("x", [3], dtype="float32")
    y = layers.Print(x)
    run({"x": X}, [y.name], static.default_main_program().clone(for_test=True))
    assert names(capsys.readouterr().out) == ["x"]


def test_eager_variables(capsys):
    x = dygraph.to_variable([1.0, 4.0])
    x.name = "pair"
    x.stop_gradient = False
    y = layers.Print(x, message="eager", first_n=1)
    assert capsys.readouterr().out.splitlines()[:2] == ["Variable: pair", "  - message: eager"]
    y.sum().backward()
    assert "Gradient\n  - message: eager" in capsys.readouterr().out
    assert x.gradient().tolist() == [1.0, 1.0]


def test_sparse_gradients(capsys):
    ids = layers.data("ids", [1], dtype="int64")
    table = layers.embedding(ids, size=[5, 2], is_sparse=True)
    static.optimizer.SGD(1.0).minimize(layers.reduce_sum(layers.Print(table)))
    executor = static.Executor()
    executor.run(static.default_startup_program())
    capsys.readouterr()
    executor.run(feed={"ids": np.array([[3]])}, fetch_list=[])
    assert len(names(capsys.readouterr().out)) == 2


def test_a_saved_model_prints(capsys, tmp_path):
    x = layers.data("x", [3], dtype="float32")
    y = layers.scale(layers.Print(x, message="ünïcode"), 2.0)
    static.save_inference_model(str(tmp_path), ["x"], [y], static.Executor())
    program, feeds, fetches = static.load_inference_model(str(tmp_path), static.Executor())
    (got,) = run({feeds[0]: X}, fetches, program)
    assert "ünïcode" in capsys.readouterr().out and got.tolist() == [[2.0, 4.0, 6.0]]


def test_wrong_arguments():
    x = layers.data("x", [3], dtype="float32")
    with pytest.raises(TypeError, match="Print: input must be a Variable, got int 3"):
        layers.Print(3)
    with pytest.raises(TypeError, match="Print: message must be a string, got int 3"):
        layers.Print(x, message=3)
    with pytest.raises(ValueError, match="print_phase must be one of .* got 'SIDEWAYS'"):
        layers.Print(x, print_phase="sideways")
    with pytest.raises(TypeError, match="Print: first_n must be an integer"):
        layers.Print(x, first_n="two")
    assert static.default_main_program().global_block().ops == []
