"""Layer functions that write into a variable that is there, and how results are named."""

import numpy as np
import pytest

import dygraph
from dygraph import static, unique_name
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.static import layers

X = np.array([[1.0, -2.0], [3.0, 0.0]], "float32")


def run(write, feed=None):
    program = static.Program()
    with static.program_guard(program), unique_name.guard():
        results = write()
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    return static.Executor().run(program, feed or {}, results), program


def test_increment_writes_its_input():
    def write():
        i = layers.fill_constant([1], "int64", 5)
        layers.increment(i, 2)
        kept = layers.increment(i, 1, in_place=False)
        return i, kept

    (i, kept), program = run(write)
    assert i.tolist() == [7] and kept.tolist() == [8]
    op = program.global_block().ops[1]
    assert op.input("X") == op.output("Out") == ["fill_constant_0.tmp_0"]


def test_increment_keeps_the_eager_variable_s_identity():
    i = dygraph.to_variable([1.0])
    assert layers.increment(i) is i and i.tolist() == [2.0]


@pytest.mark.parametrize("name", ["less_than", "equal", "greater_equal", "is_empty"])
def test_comparisons_write_cond(name):
    def write():
        x = static.data("x", [None, 2])
        cond = layers.create_tensor("bool", name="cond")
        args = [x] if name == "is_empty" else [x, layers.scale(x, 2.0)]
        assert getattr(layers, name)(*args, cond=cond) is cond
        assert len(cond.shape) == (0 if name == "is_empty" else 2)
        return cond

    wanted = {
        "less_than": X < 2 * X, "equal": X == 2 * X, "greater_equal": X >= 2 * X,
        "is_empty": np.array(False),
    }[name]  # fmt: skip
    (got,), program = run(write, {"x": X})
    assert got.tolist() == wanted.tolist()
    assert [v for v in program.global_block().vars if v.startswith(name)] == []


def written():
    x = layers.data("x", [2])
    condition = layers.greater_than(x, layers.zeros_like(x))
    yield "sums", lambda out: layers.sums([x, x], out), 2 * X
    yield "fill_constant", lambda out: layers.fill_constant([2], "float32", 3, out=out), [3, 3]
    yield "assign", lambda out: layers.assign(x, out), X
    yield "assign array", lambda out: layers.assign(X + 1, out), X + 1
    yield "ones_like", lambda out: layers.ones_like(x, out), X * 0 + 1
    yield "full", lambda out: layers.full([1], 2.0, out=out), [2]
    yield "clamp", lambda out: layers.clamp(x, 0.0, 1.0, out), X.clip(0, 1)
    yield "addcmul", lambda out: layers.addcmul(x, x, x, out=out), X + X * X
    yield "logical_not", lambda out: layers.logical_not(condition, out), X <= 0


@pytest.mark.parametrize("index", range(9))
def test_results_written_to_out(index):
    def write():
        name, call, wanted = list(written())[index]
        dtype = "bool" if name == "logical_not" else "float32"
        out = layers.create_tensor(dtype, name="total", persistable=True)
        assert call(out) is out and out.persistable
        write.wanted = wanted
        return out

    (got,), program = run(write, {"x": X})
    assert got.tolist() == np.asarray(write.wanted).tolist()
    assert program.global_block().ops[-1].output_arg_names[-1] == "total"


def test_out_must_fit():
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 2])
        with pytest.raises(ArgumentTypeError, match="less_than: .* bool, got float32"):
            layers.less_than(x, x, cond=layers.create_tensor("float32"))
        with pytest.raises(ArgumentTypeError, match="sums: .*must be a Variable"):
            layers.sums([x], out=3)
    with static.program_guard(static.Program()):
        other = layers.create_tensor("float32")
    with pytest.raises(InvalidArgumentError, match="sums"):
        layers.sums([x, x], out=other)


def test_names_of_results():
    with static.program_guard(static.Program()), unique_name.guard():
        x = static.data("x", [None, 2])
        assert layers.square_error_cost(x, x).name == "square_error_cost_0.tmp_1"
        assert layers.relu(x).name == "relu_0.tmp_0" and layers.relu(x).name == "relu_1.tmp_0"
        assert [layers.relu(x, name="a").name, layers.tanh(x, name="a").name] == [
            "a.tmp_0", "a.tmp_1",
        ]  # fmt: skip
        assert layers.elementwise_add(x, x, act="relu").name == "elementwise_add_0.tmp_1"
        assert layers.fc(x, 2, act="tanh", name="top").name == "top.tmp_2"
        assert [p.name for p in x.block.all_parameters()] == ["top.w_0", "top.b_0"]


def test_an_eager_parameter_computes_alone_and_enters_a_program():
    weight = dygraph.nn.Linear(2, 3).weight
    program = static.Program()
    with static.program_guard(program):
        assert layers.scale(weight, 2.0).tolist() == (weight.numpy() * 2).tolist()
        assert not program.global_block().ops
        out = layers.matmul(static.data("x", [None, 2]), weight)
    (got,) = static.Executor().run(program, {"x": X}, [out])
    np.testing.assert_allclose(got, X @ weight.numpy(), rtol=1e-6)


def test_names_given_again_do_not_meet():
    program = static.Program()
    for _ in range(2):
        with static.program_guard(program), unique_name.guard():
            if not program.global_block().has_var("x"):
                static.data("x", [None, 2])
            out = layers.relu(program.global_block().var("x"))
    assert out.name == "relu_0.tmp_1" and len(program.global_block().ops) == 2


def test_a_shape_with_variables():
    def write():
        x = static.data("x", [None, 2])
        rows = layers.slice(layers.shape(x), [0], [0], [1])
        filled = layers.fill_constant([rows, 3], "float32", 0.5)
        return filled, layers.reshape(x, [1, rows, -1]), layers.expand(x, [rows, 1])

    (filled, shaped, repeated), _ = run(write, {"x": X})
    assert filled.tolist() == [[0.5] * 3] * 2 and shaped.shape == (1, 2, 2)
    assert repeated.tolist() == np.tile(X, (2, 1)).tolist()


@pytest.mark.parametrize("array", [
    np.array([True, False]), np.array([1, -2], "int32"), np.array([[1 << 40]]), np.array(2.5),
    np.array([1.5, -0.1], "float32"), np.array([True]), np.array([np.nan, np.inf], "float32"),
    np.array([-0.0, 0.0], "float32"), np.array([0.1, 0.2]), np.zeros((0, 2), "float32"),
    np.random.RandomState(0).standard_normal((40, 50)), np.array([1e300, -0.1, 5e-324]),
], ids=repr)  # fmt: skip
def test_arrays_become_constants(array):
    (got,), _ = run(lambda: layers.assign(array))
    assert got.dtype == array.dtype and got.tobytes() == array.tobytes()
    assert got.shape == array.shape


def test_a_large_array_takes_few_operators():
    program = static.Program()
    with static.program_guard(program):
        layers.assign(np.random.RandomState(0).standard_normal((100, 100)))
    assert len(program.global_block().ops) == 4


def test_selected_rows():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), unique_name.guard():
        words = static.data("words", [None, 1], "int64")
        out = layers.embedding(words, [5, 2], is_sparse=True, param_attr="table")
        table = main.global_block().var("table")
        (gradient,) = static.gradients([layers.reduce_sum(out)], [table])
        rows = layers.get_tensor_from_selected_rows(layers.merge_selected_rows(gradient))
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    (got,) = executor.run(main, {"words": np.array([[3], [1], [3]])}, [rows], scope=scope)
    assert sorted(got.tolist()) == [[1.0, 1.0], [2.0, 2.0]]
