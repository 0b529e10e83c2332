"""layers.py_func: Python functions that run as operators of a program."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import dygraph
from dygraph import _core, static
from dygraph.static import layers

pytestmark = pytest.mark.usefixtures("own_programs")


def block():
    return static.default_main_program().global_block()


def var(name, shape, dtype="float32"):
    return block().create_var(name=name, shape=shape, dtype=dtype)


def data(name, size, dtype="float32", stop=False):
    x = layers.data(name, [size], dtype=dtype)
    x.stop_gradient = stop
    return x


def run(feed, fetch, **options):
    return static.Executor().run(feed=feed, fetch_list=fetch, **options)


X = np.array([[0.5, -1.0, 2.0]], "float32")


def tanh(x):
    return np.tanh(np.array(x))


def tanh_grad(y, dy):
    return np.array(dy) * (1 - np.square(np.array(y)))


def test_values():
    x = data("x", 3)
    y = layers.py_func(func=tanh, x=x, out=var("y", [-1, 3]))
    assert y.shape == (-1, 3) and block().ops[-1].type == "py_func"
    (got,) = run({"x": X}, [y * 2.0])
    np.testing.assert_array_equal(got, np.tanh(X) * 2)


def test_the_function_may_use_operators():
    x = data("x", 3)
    y = layers.py_func(lambda v: (v * v).sum(), x, var("y", []))
    assert run({"x": X}, [y])[0] == np.float32(5.25)


def test_fluids_own_example():
    """Four layers, each with an activation in Python, trained by its gradient in Python."""
    x = data("x", 3, stop=True)
    label = layers.data("label", [1], dtype="int64")
    hidden = x
    for i in range(4):
        hidden = layers.fc(hidden, 6)
        out = static.default_main_program().current_block().create_var(
            name=f"hidden_{i}", dtype=hidden.dtype, shape=hidden.shape
        )  # fmt: skip
        hidden = layers.py_func(
            func=tanh, x=hidden, out=out, backward_func=tanh_grad,
            skip_vars_in_backward_input=hidden,
        )  # fmt: skip
    prediction = layers.fc(hidden, 4, act="softmax")
    loss = layers.mean(layers.cross_entropy(prediction, label))
    static.optimizer.SGD(0.5).minimize(loss)
    executor = static.Executor()
    executor.run(static.default_startup_program())
    rng = np.random.default_rng(0)
    feed = {"x": rng.standard_normal((8, 3)).astype("float32"),
            "label": rng.integers(0, 4, (8, 1))}  # fmt: skip
    losses = [float(executor.run(feed=feed, fetch_list=[loss])[0]) for _ in range(60)]
    assert losses[-1] < 0.6 * losses[0]


def test_the_gradient_is_that_of_the_operator():
    x = data("x", 3)
    mine = layers.py_func(tanh, x, var("y", [-1, 3]), tanh_grad, x)
    (got,) = static.gradients(layers.reduce_sum(mine * 3.0), x)
    (expected,) = static.gradients(layers.reduce_sum(layers.tanh(x) * 3.0), x)
    got, expected = run({"x": X}, [got, expected])
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_what_backward_is_given():
    seen = []
    a, b = data("a", 2), data("b", 2)

    def forward(a, b):
        return np.array(a) + np.array(b), np.array(a) * np.array(b)

    def backward(a, total, product, d_total, d_product):
        seen.append([a.numpy(), total.numpy(), product.numpy(), d_total, d_product])
        da = np.array(d_total)
        return da, da * 2

    total, product = layers.py_func(
        forward, [a, b], [var("total", [-1, 2]), var("product", [-1, 2])], backward, [b]
    )
    da, db = static.gradients(layers.reduce_sum(total), [a, b])
    feed = {"a": np.array([[1, 2]], "float32"), "b": np.array([[3, 4]], "float32")}
    da, db = run(feed, [da, db])
    assert da.tolist() == [[1.0, 1.0]] and db.tolist() == [[2.0, 2.0]]
    ((a, total, product, d_total, d_product),) = seen
    assert a.tolist() == [[1, 2]] and total.tolist() == [[4, 6]] and product.tolist() == [[3, 8]]
    assert d_total.numpy().tolist() == [[1.0, 1.0]] and d_product is None


def test_everything_may_be_skipped():
    x = data("x", 3)
    y = var("y", [-1, 3])
    layers.py_func(lambda x: np.array(x) * 2, x, y, lambda dy: np.array(dy) * 2, [x, y])
    (gradient,) = static.gradients(layers.reduce_sum(y), x)
    assert run({"x": X}, [gradient])[0].tolist() == [[2.0] * 3]


def test_inputs_without_gradient():
    """Labels: what backward gives for them is not looked at."""
    x, label = data("x", 3), layers.data("label", [1], dtype="int64")

    def pick(x, label):
        return np.array(x)[np.arange(len(x)), np.array(label)[:, 0]][:, None]

    def pick_grad(x, label, y, dy):
        dx = np.zeros(x.shape, "float32")
        dx[np.arange(len(dx)), np.array(label)[:, 0]] = np.array(dy)[:, 0]
        return dx, None

    y = layers.py_func(pick, [x, label], var("y", [-1, 1]), pick_grad)
    (gradient,) = static.gradients(layers.reduce_sum(y), x)
    y, gradient = run({"x": X, "label": np.array([[2]])}, [y, gradient])
    assert y.tolist() == [[2.0]] and gradient.tolist() == [[0.0, 0.0, 1.0]]


def test_no_gradient_passes_without_backward_func():
    x = data("x", 3)
    y = layers.py_func(tanh, x, var("y", [-1, 3]))
    assert static.gradients(layers.reduce_sum(y), x) == [None]


def test_neither_inputs_nor_outputs(capsys):
    x = data("x", 3)
    calls = iter(range(10))
    step = layers.py_func(lambda: next(calls), None, var("step", [], "int64"))
    layers.py_func(lambda v: print(v.shape), x, None)
    executor = static.Executor()
    assert [int(executor.run(feed={"x": X}, fetch_list=[step])[0]) for _ in range(3)] == [0, 1, 2]
    assert capsys.readouterr().out == "(1, 3)\n" * 3


def test_lod_and_writes():
    x = layers.data("x", [1], dtype="float32", lod_level=1)

    def change(v):
        v[0] = 9.0  # a copy: the program's value stays
        return v

    y = layers.py_func(change, x, var("y", [-1, 1]))
    feed = {"x": dygraph.to_variable(np.ones((3, 1), "float32"), lod=[[0, 1, 3]])}
    x, y = run(feed, [x, y], return_numpy=False)
    assert x.tolist() == [[1.0]] * 3 and y.tolist() == [[9.0], [1.0], [1.0]]
    assert y.lod() == [[0, 1, 3]]


def test_selected_rows_are_given_as_such():
    seen = []

    def forward(inputs, wanted):
        seen.append((_core.is_selected_rows(inputs[0]), _core.rows(inputs[0])))
        return [_core.to_dense(inputs[0])]

    rows = dygraph.selected_rows([2, 0], 3, np.array([[1.0], [2.0]], "float32"))
    attrs = {"forward_callable_id": _core.add_host_function(forward)}
    (out,) = dygraph.run_op("py_func", {"X": [rows]}, attrs)["Out"]
    assert seen == [(True, [2, 0])] and out.tolist() == [[2.0], [0.0], [1.0]]


def test_large_inputs_are_given_with_the_lock_held():
    x = layers.data("x", [1 << 16], dtype="float32")
    y = layers.py_func(lambda v: np.array(v).sum(dtype="float32"), x, var("y", []))
    assert run({"x": np.ones((1, 1 << 16), "float32")}, [y])[0] == 1 << 16


def test_from_several_threads():
    x = data("x", 3)
    y = layers.py_func(lambda v: np.array(v) + 1, x, var("y", [-1, 3]))
    executor, results = static.Executor(), {}
    program, scope = static.default_main_program(), static.global_scope()

    def work(n):
        for _ in range(20):
            feed = {"x": np.full((1, 3), n, "float32")}
            results.setdefault(n, []).append(executor.run(program, feed, [y], scope=scope)[0][0, 0])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {n: [n + 1.0] * 20 for n in range(3)}


# Errors ------------------------------------------------------------------------------------------


def line_of(operator):
    return operator.attr("op_callstack")[-1]


@pytest.mark.parametrize("backward", [False, True])
def test_errors_keep_their_type_and_name_the_line(backward):
    x = data("x", 3)

    def fails(*_):
        raise ZeroDivisionError("nothing to divide by")

    y = layers.py_func(*((tanh, x, var("y", [-1, 3]), fails) if backward
                         else (fails, x, var("y", [-1, 3]))))  # fmt: skip
    line = line_of(block().ops[-1])
    fetch = static.gradients(layers.reduce_sum(y), x) if backward else [y]
    with pytest.raises(ZeroDivisionError, match="nothing to divide by") as caught:
        run({"x": X}, fetch)
    assert f"in fails, called by the py_func of {line}" in str(caught.value)
    assert "test_py_func.py" in line


def test_errors_without_a_text_get_a_note():
    x = data("x", 3)

    def fails(_):
        raise KeyError("gone")

    layers.py_func(fails, x, var("y", [-1, 3]))
    with pytest.raises(KeyError, match="gone") as caught:
        run({"x": X}, [])
    notes = getattr(caught.value, "__notes__", ["in fails"])  # Python 3.11 and later
    assert notes[0].startswith("in fails")


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda v: np.array(v, "float64"), TypeError, "must be float32, got float64. Convert with"),
        (lambda v: np.array(v)[:, :2], ValueError, r"shape \[-1, 3\], got \[1, 2\]"),
        (lambda v: np.array(v)[0], ValueError, r"shape \[-1, 3\], got \[3\]"),
        (lambda v: None, TypeError, "must be an array or a Variable, got None"),
        (lambda v: (v, v), ValueError, r"must give a value for each of \['y'\], got 2"),
        (lambda v: "text", ValueError, "could not convert string"),
    ],
)
def test_results_that_do_not_fit(function, error, text):
    x = data("x", 3)
    y = layers.py_func(function, x, var("y", [-1, 3]))
    with pytest.raises(error, match=text) as caught:
        run({"x": X}, [y])
    assert "test_py_func.py" in str(caught.value)


@pytest.mark.parametrize(
    ("backward", "error", "text"),
    [
        (lambda *_: None, TypeError, "gradient that <lambda> gives for 'x' must be an array"),
        (lambda *_: np.ones(2, "float32"), ValueError, r"shape \[1, 3\], got \[2\]"),
        (lambda *_: (X, X), ValueError, r"a value for each of \['x'\], got 2"),
    ],
)
def test_gradients_that_do_not_fit(backward, error, text):
    x = data("x", 3)
    y = layers.py_func(tanh, x, var("y", [-1, 3]), backward)
    (gradient,) = static.gradients(layers.reduce_sum(y), x)
    with pytest.raises(error, match=text):
        run({"x": X}, [gradient])


def test_wrong_arguments():
    x, y = data("x", 3), var("y", [-1, 3])
    bare = block().create_var(name="bare")
    eager = dygraph.ones([1])
    for arguments, error, text in [
        ((3, x, y), TypeError, "func must be callable, got int 3"),
        ((tanh, x, y, 3), TypeError, "backward_func must be callable, got int 3"),
        ((tanh, 3, y), TypeError, "x must be a variable of the program"),
        ((tanh, x, "y"), TypeError, "out must be a variable of the program"),
        ((tanh, eager, y), TypeError, "got an eager Variable. Call the function"),
        ((tanh, x, bare), ValueError, "'bare' must declare the shape and the type"),
        ((tanh, x, y, tanh_grad, bare), ValueError, "must be one of x or out, got 'bare'"),
    ]:
        with pytest.raises(error, match=text):
            layers.py_func(*arguments)
    assert block().ops == []


def test_second_order_is_refused():
    x = data("x", 3)
    y = layers.py_func(tanh, x, var("y", [-1, 3]), tanh_grad, x)
    (first,) = static.gradients(layers.reduce_sum(y), x)
    with pytest.raises(RuntimeError, match="py_func_grad has no gradient, so backward") as caught:
        static.gradients(layers.reduce_sum(first * first), x)
    assert "test_py_func.py" in str(caught.value)


def test_a_pylayer_is_not_described():
    """Its own gradient would be lost."""

    class Double(dygraph.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, grad):
            return grad * 100.0

    with pytest.raises(NotImplementedError, match="Double.apply: .* static.layers.py_func"):
        Double.apply(data("x", 3))
    assert block().ops == []


# Files -------------------------------------------------------------------------------------------


def test_a_model_that_calls_python_is_not_saved(tmp_path):
    x = data("x", 3)
    hidden = layers.py_func(tanh, x, var("y", [-1, 3]))
    for options in ({}, {"program_only": True}, {"export_for_deployment": False}):
        with pytest.raises(RuntimeError, match="calls a Python function.*test_py_func.py"):
            static.save_inference_model(
                str(tmp_path), ["x"], [hidden * 2.0], static.Executor(), **options
            )
    assert list(tmp_path.iterdir()) == []
    other = layers.scale(x, 2.0)  # what does not lead there may be saved
    static.save_inference_model(str(tmp_path), ["x"], [other], static.Executor())


def foreign_model(folder, handle):
    """What another process would have saved."""
    x = data("x", 3)
    y = layers.py_func(tanh, x, var("y", [-1, 3]))
    program = static.default_main_program()
    own = np.int64(block().ops[-1].attr("forward_callable_id"))
    binary = _core.apply_pass(
        program.desc, "prune", {"feeds": ["x"], "fetches": [y.name]}
    ).to_bytes()
    old, new = varint(int(own)), varint(handle(int(own)))
    assert binary.count(old) == 1 and len(old) == len(new)
    (folder / "__model__").write_bytes(binary.replace(old, new))
    (folder / "__params__").write_bytes(b"")
    return (folder / "__model__").read_bytes()


def varint(number):
    """A number as protobuf writes it."""
    parts = []
    while number >= 128:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


# Another process's key; a number that this one has not given out.
HANDLES = [lambda own: own ^ (1 << 40), lambda own: own | 0x3FFFFF]


@pytest.mark.parametrize("handle", HANDLES)
@pytest.mark.parametrize("params", ["__params__", None])
def test_a_model_from_elsewhere_is_refused(tmp_path, params, handle):
    binary = foreign_model(tmp_path, handle)
    with pytest.raises(RuntimeError, match="files hold no code. Build the program again"):
        static.load_inference_model(str(tmp_path), static.Executor(), params_filename=params)
    program = static.Program.parse_from_string(binary)
    with pytest.raises(RuntimeError, match="py_func: its Python function must have been given"):
        static.Executor().run(program, {"x": X}, ["y"])


def test_a_handle_is_checked_wherever_it_is_set():
    for handle in (1, -2, 1 << 62):
        with pytest.raises(RuntimeError, match="must have been given in this process"):
            dygraph.run_op("py_func", {}, {"forward_callable_id": handle})
    with pytest.raises(RuntimeError, match="must have been given in this process"):
        dygraph.run_op("py_func", {})


def test_bytes_run_in_this_process_and_in_no_other(tmp_path):
    x = data("x", 3)
    y = layers.py_func(tanh, x, var("y", [-1, 3]))
    path = tmp_path / "program"
    path.write_bytes(static.default_main_program().serialize_to_string())
    again = static.Program.parse_from_string(path.read_bytes())
    got = static.Executor().run(again, {"x": X}, [y.name])[0]
    np.testing.assert_array_equal(got, np.tanh(X))
    code = (
        "import sys, numpy as np\n"
        "from dygraph import static\n"
        "x = static.data('x', [None, 3], 'float32')\n"
        "y = static.default_main_program().global_block().create_var(\n"
        "    name='y', shape=[-1, 3], dtype='float32')\n"
        "static.layers.py_func(lambda v: print('called'), x, y)\n"
        "program = static.Program.parse_from_string(open(sys.argv[1], 'rb').read())\n"
        "try: static.Executor().run(program, {'x': np.ones((1, 3), 'float32')}, ['y'])\n"
        "except RuntimeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert "files hold no code" in done.stdout and "called" not in done.stdout, done.stderr


def test_clones_call_the_same_function():
    x = data("x", 3)
    y = layers.py_func(tanh, x, var("y", [-1, 3]))
    clone = static.default_main_program().clone(for_test=True)
    got = static.Executor().run(clone, {"x": X}, [y.name])[0]
    np.testing.assert_array_equal(got, np.tanh(X))
