"""docs/new_layer.md is right: its code compiles, and a layer sees what the page says."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dygraph
import plugins
from dygraph import static

TESTS = Path(__file__).resolve().parents[1]
TEXT = (TESTS.parent / "docs" / "new_layer.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def my_layers(tmp_path_factory):
    """The module of the page, built by its command with the folder of this package in P."""
    folder = tmp_path_factory.mktemp("new_layer")
    (folder / "my_layers.cc").write_text("\n".join(plugins.blocks(TEXT, "cpp")))
    (command,) = re.findall(r"^g\+\+ .*?(?=^```)", TEXT, re.MULTILINE | re.DOTALL)
    command = command.replace("-I$P/include", f"-Wall -Wextra -I{plugins.include_folder()}")
    command = command.replace("$P", str(plugins.PACKAGE))
    command = command.replace("$(python ", f"$({sys.executable} ")
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    sys.path.insert(0, str(folder))
    import my_layers

    yield my_layers
    sys.path.remove(str(folder))


def test_the_use_of_the_page_runs(my_layers):
    (use,) = plugins.blocks(TEXT, "python")
    exec(compile(use, "docs/new_layer.md", "exec"), {})


def counted(my_layers, function):
    with my_layers.tally() as tally:
        function()
    return tally.counts()


def leaf(values):
    x = dygraph.to_variable(np.asarray(values, "float32"))
    x.stop_gradient = False
    return x


def test_every_kind_of_eager_call_comes_by(my_layers):
    x, y = leaf([[1.0, 2.0]]), leaf([[3.0, 4.0]])
    assert counted(my_layers, lambda: x + y) == {"elementwise_add": 1}
    assert counted(my_layers, lambda: x * 2) == {"scale": 1}
    assert counted(my_layers, lambda: x[:, ::2])["strided_slice"] == 1
    assert counted(my_layers, lambda: x.reshape([2, 1])) == {"reshape2": 1}
    assert counted(my_layers, lambda: x.sum(0)) == {"reduce_sum": 1}
    assert counted(my_layers, lambda: dygraph.ones([2])) == {"fill_constant": 1}
    with dygraph.no_grad():
        assert counted(my_layers, lambda: x @ y.reshape([2, 1])) == {"reshape2": 1, "matmul_v2": 1}

        def in_place():
            nonlocal x
            x += y

        assert counted(my_layers, in_place) == {"elementwise_add": 1}
    assert x.numpy().tolist() == [[4.0, 6.0]]


@pytest.mark.parametrize("training", [True, False])
def test_calls_of_nn_layers_come_by(my_layers, training):
    net = dygraph.nn.Linear(2, 3)
    net.training = training
    counts = counted(my_layers, lambda: net(dygraph.ones([4, 2])))
    assert counts == {"fill_constant": 1, "matmul_v2": 1, "elementwise_add": 1}


def test_backward_passes_of_any_order_and_updates_come_by(my_layers):
    x = leaf([2.0, 3.0])
    y = x * x * x
    with my_layers.tally() as first:
        (slope,) = dygraph.grad([y], [x], create_graph=True)
    with my_layers.tally() as second:
        (bend,) = dygraph.grad([slope], [x])
    assert bend.numpy().tolist() == [12.0, 18.0]
    assert first.counts()["fill_any_like"] == second.counts()["fill_any_like"] == 1
    assert sum(second.counts().values()) > sum(first.counts().values()) > 3

    weight = leaf([1.0, 2.0])
    (weight * 3).sum().backward()
    step = dygraph.optimizer.SGD(0.5, parameter_list=[weight]).step
    assert counted(my_layers, step) == {"sgd": 1}
    assert weight.numpy().tolist() == [-0.5, 0.5]


def test_described_calls_and_runs_of_programs_do_not_come_by(my_layers):
    main = static.Program()
    with static.program_guard(main), my_layers.tally() as tally:
        y = static.layers.exp(static.data("x", [None, 2]))
        (value,) = static.Executor().run(main, {"x": np.zeros((3, 2), "float32")}, [y])
    assert tally.counts() == {}
    assert value.tolist() == [[1.0, 1.0]] * 3


def test_a_trace_holds_calls_as_the_layer_left_them(my_layers):
    class Product(dygraph.nn.Layer):
        def forward(self, x):
            return x @ dygraph.ones([3, 1])

    x = np.array([[1e8, 1.0, -1e8], [1e8, 3.0, -1e8]], "float32")
    with my_layers.double_products():
        _, traced = dygraph.jit.TracedLayer.trace(Product(), [dygraph.to_variable(x)])
    assert [op.type for op in traced.program.global_block().ops].count("cast") == 3
    with my_layers.tally() as tally:
        (value,) = traced([dygraph.to_variable(x)])
    assert "matmul_v2" not in tally.counts()
    assert value.numpy().tolist() == [[1.0], [3.0]]


def test_the_newest_comes_first_and_any_leaves_first(my_layers):
    outer, inner, doubling = my_layers.tally(), my_layers.tally(), my_layers.double_products()
    x = leaf([[1.0, 2.0]])
    outer.__enter__()
    doubling.__enter__()
    inner.__enter__()
    assert (x @ leaf([[1.0], [1.0]])).numpy().tolist() == [[3.0]]
    assert inner.counts() == {"matmul_v2": 1}
    assert outer.counts() == {"cast": 3, "matmul_v2": 1}
    outer.__exit__(None, None, None)
    x @ leaf([[1.0], [1.0]])
    assert inner.counts() == {"matmul_v2": 2}
    doubling.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    x @ leaf([[1.0], [1.0]])
    assert inner.counts() == {"matmul_v2": 2}
    assert outer.counts() == {"cast": 3, "matmul_v2": 1}


def test_a_layer_that_is_not_there_cannot_be_removed(my_layers):
    tally = my_layers.tally()
    with pytest.raises(dygraph.errors.PreconditionNotMetError, match="that was not added"):
        tally.__exit__(None, None, None)
    with tally, ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError, match="by the thread that added it"):
            pool.submit(tally.__exit__, None, None, None).result()


def test_threads_have_their_own(my_layers):
    x = leaf([1.0])
    with my_layers.tally() as tally, ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: dygraph.exp(x)).result()
        assert tally.counts() == {}
        assert pool.submit(counted, my_layers, lambda: dygraph.exp(x)).result() == {"exp": 1}
        dygraph.exp(x)
    assert tally.counts() == {"exp": 1}


def test_errors_leave_the_chain_as_it_was(my_layers):
    x = leaf([[1.0, 2.0]])
    with my_layers.tally() as tally, my_layers.double_products():
        with pytest.raises(ValueError, match="matmul_v2"):
            x @ leaf([[1.0]])
        assert (x @ leaf([[1.0], [1.0]])).numpy().tolist() == [[3.0]]
        with pytest.raises(TypeError, match="float32 here, got float64"):
            dygraph.ops.matmul_v2(x, dygraph.to_variable(np.ones((2, 1))))
    assert tally.counts()["matmul_v2"] == 3
    assert counted(my_layers, lambda: x * x) == {"elementwise_mul": 1}


def test_gradients_of_changed_calls_have_the_types_of_their_variables(my_layers):
    x, w = leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]])
    with my_layers.double_products():
        y = x @ w
        (slope,) = dygraph.grad([y * y], [x], create_graph=True)  # 2 y w'
        assert str(slope.dtype) == "float32"
        assert slope.numpy().tolist() == [[66.0, 88.0]]
        slope.sum().backward()  # of 2 (x w) (w1 + w2): 2 x' (w1 + w2) + 2 x w
    assert str(w.grad.dtype) == "float32"
    assert w.gradient().tolist() == [[2 * 1 * 7 + 22.0], [2 * 2 * 7 + 22.0]]


def test_an_error_names_the_operator_whose_result_is_refused(my_layers):
    x = leaf([1.0, -1.0, 2.0])
    with my_layers.no_nan():
        assert dygraph.relu(x).tolist() == [1.0, 0.0, 2.0]
        with pytest.raises(dygraph.errors.NonFiniteError) as info:
            dygraph.log(x)
    assert str(info.value) == "log: the result of 3 elements must hold no NaN, got one"
    assert np.isnan(dygraph.log(x).numpy()[1])
