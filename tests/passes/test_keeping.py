"""What each pass that keeps every bit takes out, and what it leaves."""

import numpy as np
import pytest

from dygraph import static
from dygraph.static import layers, passes


class Described:
    """A program of one function; its result is fetched."""

    def __init__(self, function, shape=(3, 4), dtype="float32", backward=False):
        self.main, self.startup = static.Program(), static.Program()
        with static.program_guard(self.main, self.startup), static.unique_name.guard():
            x = static.data("x", list(shape), dtype)
            x.stop_gradient = False
            result = function(x)
            self.results = [v.name for v in (result if isinstance(result, tuple) else (result,))]
            if backward:
                self.results += [g.name for g in static.gradients(result, x)]

    def types(self, names, keep=None, block=0):
        names = [names] if isinstance(names, str) else names
        self.less = passes.apply(self.main, names, keep=self.results if keep is None else keep)
        return [op.type for op in self.less.block(block).ops]

    def run(self, program, x):
        scope, executor = static.Scope(), static.Executor()
        executor.run(self.startup, scope=scope)
        return executor.run(program, {"x": x}, self.results, scope=scope)


def square_of(x):
    return layers.square(x)


# Dead code ----------------------------------------------------------------------------------------


def test_a_chain_that_nothing_reads_goes():
    net = Described(lambda x: (layers.exp(layers.exp(x)), layers.sqrt(x))[1])
    assert net.types("dead_code") == ["sqrt"]
    assert sorted(net.less.global_block().vars) == ["sqrt_0.tmp_0", "x"]


def test_without_a_word_of_what_is_wanted_every_end_is():
    net = Described(lambda x: (layers.exp(layers.exp(x)), layers.sqrt(x))[1])
    assert net.types("dead_code", keep=[]) == ["exp", "exp", "sqrt"]
    pruned = passes.apply("prune", net.main, feeds=["x"], fetches=net.results)
    assert [op.type for op in passes.apply("dead_code", pruned).global_block().ops] == [
        "feed", "sqrt", "fetch",
    ]  # fmt: skip


def test_what_acts_stays():
    def acts(x):
        layers.Print(layers.exp(x))
        layers.uniform_random([2, 2])  # others would draw other numbers
        layers.assign(x, output=layers.create_global_var([3, 4], 0.0, "float32", persistable=True))
        layers.py_func(print, layers.tanh(x), None)
        return layers.sqrt(x)

    assert Described(acts).types("dead_code") == [
        "exp", "print", "uniform_random", "assign", "tanh", "py_func", "sqrt",
    ]  # fmt: skip


def counted(body):
    def described(x):
        i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
        total, more = layers.assign(x), layers.less_than(i, n)
        with layers.While(more).block():
            body(x, total)
            layers.increment(i)
            layers.less_than(i, n, cond=more)
        return total

    return described


def test_dead_code_in_a_block():
    def body(x, total):
        layers.exp(layers.exp(total))
        layers.assign(layers.elementwise_add(total, x), output=total)

    assert Described(counted(body)).types("dead_code", block=1) == [
        "elementwise_add", "assign", "increment", "less_than",
    ]  # fmt: skip


def test_of_several_writes_those_that_are_overwritten_unread_go():
    def overwritten(x):
        y = layers.exp(x)
        layers.assign(layers.sqrt(x), output=y)
        layers.assign(layers.tanh(x), output=y)
        return y

    assert Described(overwritten).types("dead_code") == ["tanh", "assign"]


# Common subexpressions ----------------------------------------------------------------------------


def test_equal_operators_compute_once():
    def twice(x):
        return layers.elementwise_add(layers.exp(layers.tanh(x)), layers.exp(layers.tanh(x)))

    net = Described(twice)
    assert net.types("common_subexpressions") == ["tanh", "exp", "elementwise_add"]
    (add,) = [op for op in net.less.global_block().ops if op.type == "elementwise_add"]
    assert add.input("X") == add.input("Y")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: layers.scale(x, 2.0) + layers.scale(x, 3.0),
        lambda x: layers.uniform_random([3, 4]) + layers.uniform_random([3, 4]),
        lambda x: layers.dropout(x, 0.5) + layers.dropout(x, 0.5),
        lambda x: (
            layers.fill_constant([3, 4], "float32", 0.0)
            * layers.fill_constant([3, 4], "float32", -0.0)
        ),
        lambda x: (layers.exp(x), layers.exp(x)),  # both are fetched
    ],
)
def test_different_ones_stay(function):
    net = Described(function)
    assert net.types("common_subexpressions") == [op.type for op in net.main.global_block().ops]


def test_of_two_versions_of_a_variable_each_is_its_own():
    def changed(x):
        y = layers.tanh(x)
        before = layers.exp(y)
        layers.assign(x, output=y)
        return before + layers.exp(y)

    assert Described(changed).types("common_subexpressions").count("exp") == 2


def test_the_first_is_not_read_after_it_is_overwritten():
    def changed(x):
        y = layers.tanh(x)
        layers.assign(layers.square(y), output=y)
        return y + layers.tanh(x)

    assert Described(changed).types("common_subexpressions").count("tanh") == 2


def test_what_recompute_computes_again_stays():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 4])
        half = layers.tanh(layers.fc(layers.tanh(x * 2.0), 4))
        loss = layers.mean(layers.tanh(half * half))
        static.append_backward(loss, checkpoints=[half])
    less = passes.apply(main, passes.DEFAULT, keep=[loss.name, *_gradients(main)])
    types = [op.type for op in main.global_block().ops]
    assert [op.type for op in less.global_block().ops].count("tanh") == types.count("tanh") == 4


def _gradients(main):
    return [f"{p.name}@GRAD" for p in main.all_parameters()]


# Constants ----------------------------------------------------------------------------------------


def test_constants_are_computed_once():
    def table(x):
        one = layers.fill_constant([2, 4], "float32", 0.1)
        both = layers.concat([layers.scale(one, 0.3), layers.fill_constant([1, 4], "float32", 2.0)])
        return layers.elementwise_mul(x, both)

    net = Described(table)
    assert net.types("fold_constants") == ["assign_value", "elementwise_mul"]
    (folded,) = [op for op in net.less.global_block().ops if op.type == "assign_value"]
    third = np.float32(0.1) * np.float32(0.3)
    assert folded.attr("fp32_values") == [third] * 8 + [2.0] * 4 and folded.attr("shape") == [3, 4]
    x = np.ones((3, 4), "float32")
    assert net.run(net.less, x)[0].tobytes() == net.run(net.main, x)[0].tobytes()


@pytest.mark.parametrize(
    ("dtype", "value", "written"),
    [
        ("float32", 0.1, "fill_constant"),
        ("float32", -0.0, "fill_constant"),
        ("float32", float("inf"), "fill_constant"),
        ("float64", 0.1, "fill_constant"),
        ("int64", (1 << 60) + 1, "fill_constant"),
        ("int32", -7, "fill_constant"),
        ("bool", True, "assign_value"),
        ("float32", float("nan"), "assign"),  # not all of its bits can be written
        ("float16", 0.1, "assign"),  # no operator holds its bits
    ],
)
def test_every_bit_of_a_constant_is_kept(dtype, value, written):
    def constant(x):
        return layers.assign(layers.fill_constant([2, 2], dtype, value))

    net = Described(constant)
    assert net.types("fold_constants")[-1] == written
    x = np.ones((3, 4), "float32")
    (want,), (got,) = net.run(net.main, x), net.run(net.less, x)
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()
    again = static.Program.parse_from_string(net.less.serialize_to_string())
    assert net.run(again, x)[0].tobytes() == want.tobytes()


def test_sizes_that_are_known_are_constants():
    def scaled(x):
        rows, width = layers.split(layers.cast(layers.shape(x), "float32"), 2)
        return layers.elementwise_mul(x, rows)

    assert Described(scaled).types("fold_constants") == ["fill_constant", "elementwise_mul"]
    open_size = Described(scaled, [-1, 4])
    assert open_size.types("fold_constants") == ["shape", "cast", "split", "elementwise_mul"]


def test_large_constants_and_weights_stay():
    def large(x):
        y = layers.scale(layers.fill_constant([40, 40], "float32", 0.5), 2.0)
        w = layers.create_parameter([5, 4], "float32")
        return layers.reduce_sum(y) + layers.reduce_sum(layers.cast(layers.shape(w), "float32"))

    net = Described(large)
    assert net.types("fold_constants").count("scale") == 1  # 1,600 elements
    assert "shape" in net.types("fold_constants")  # the scope may hold a weight of other sizes
    assert "scale" not in net.types([("fold_constants", {"limit": 1600})])
    with pytest.raises(ValueError, match="limit is a number of elements and must be at least 0"):
        passes.apply("fold_constants", net.main, limit=-1)


def test_an_error_of_a_constant_stays_in_the_run():
    def wrong(x):
        return layers.reshape(layers.fill_constant([4], "float32", 1.0), [2, 2]) + layers.gather(
            layers.fill_constant([2, 2], "float32", 1.0), layers.fill_constant([2], "int64", 9)
        )

    net = Described(wrong)
    assert net.types("fold_constants") == [
        "fill_constant", "fill_constant", "fill_constant", "gather", "elementwise_add",
    ]  # fmt: skip
    with pytest.raises(IndexError, match="gather"):
        net.run(net.less, np.ones((3, 4), "float32"))


# Moves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: layers.transpose(layers.transpose(x, [1, 0]), [1, 0]), []),
        (lambda x: layers.transpose(x, [0, 1]), []),
        (lambda x: layers.reshape(layers.reshape(x, [12]), [3, 4]), []),
        (lambda x: layers.reshape(layers.reshape(x, [12]), [2, 6]), ["reshape2"]),
        (lambda x: layers.reshape(layers.reshape(x, [4, 3]), [0, 3, 1]), ["reshape2", "reshape2"]),
        (lambda x: layers.cast(layers.cast(x, "float64"), "float32"), []),
        (lambda x: layers.cast(x, "float32"), []),
        (lambda x: layers.cast(layers.cast(x, "float64"), "bfloat16"), ["cast", "cast"]),
        (lambda x: layers.cast(layers.cast(x, "float16"), "float32"), ["cast", "cast"]),
        (lambda x: layers.cast(layers.cast(x, "int64"), "float32"), ["cast", "cast"]),
        (lambda x: layers.squeeze(layers.unsqueeze(x, [1]), [1]), []),
        (lambda x: layers.squeeze(layers.unsqueeze(x, [-1]), [-1]), []),
        (lambda x: layers.squeeze(layers.unsqueeze(x, [0, 2]), [2]), ["unsqueeze2", "squeeze2"]),
        (lambda x: layers.scale(x, 1.0), []),
        (lambda x: layers.scale(x, 1.0, bias=1.0), ["scale"]),
        (lambda x: layers.assign(layers.assign(x)), []),
    ],
)
def test_moves_that_change_no_bit_go(function, left):
    net = Described(lambda x: layers.square(layers.cast(function(x), "float32")))
    assert net.types("cancel_moves") == [*left, "square"]
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    x[0, :3] = [-0.0, np.nan, -np.inf]
    assert net.run(net.less, x)[0].tobytes() == net.run(net.main, x)[0].tobytes()


def test_a_move_of_what_is_overwritten_stays():
    def overwritten(x):
        y = layers.exp(x)
        z = layers.assign(y)
        layers.assign(x, output=y)
        return layers.square(z) + y

    net = Described(overwritten)
    assert net.types("cancel_moves") == ["exp", "assign", "square", "elementwise_add"]
    x = np.full((3, 4), 2.0, "float32")
    np.testing.assert_allclose(net.run(net.less, x)[0], np.exp(4.0) + 2.0, rtol=1e-6)


def test_a_move_whose_gradient_is_wanted_leaves_the_gradient():
    def turned(x):
        return layers.reduce_sum(
            layers.square(layers.transpose(layers.transpose(x, [1, 0]), [1, 0]))
        )

    net = Described(turned, backward=True)
    types = net.types(["cancel_moves", "dead_code"])
    assert "transpose2" not in types and types[-1] == "assign"  # x's gradient has to be there
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    for got, want in zip(net.run(net.less, x), net.run(net.main, x), strict=True):
        assert got.tobytes() == want.tobytes()
    np.testing.assert_allclose(net.run(net.less, x)[1], 2 * x, rtol=1e-6)


def test_a_cast_of_a_weight_is_not_trusted():
    """The scope may hold another type than the program declares."""

    def cast(x):
        return layers.square(layers.cast(layers.create_parameter([3, 4], "float32"), "float32"))

    assert Described(cast).types("cancel_moves") == ["cast", "square"]


# Lists of passes ----------------------------------------------------------------------------------


def test_a_list_of_passes():
    net = Described(lambda x: layers.square(layers.assign(layers.exp(x))))
    main = net.main
    less = passes.apply(main, ["cancel_moves", ("dead_code", {"keep": net.results})])
    assert [op.type for op in less.global_block().ops] == ["exp", "square"]
    assert [op.type for op in passes.apply(main, []).global_block().ops] == [
        "exp", "assign", "square",
    ]  # fmt: skip
    assert set(passes.DEFAULT) <= set(passes.names())
    lines = passes.describe().splitlines()
    assert [line.split(":")[0] for line in lines] == passes.names()


@pytest.mark.parametrize(
    ("names", "options", "error", "said"),
    [
        ("dead_code", {}, TypeError, "passes must be a list of names"),
        (["dead_cod"], {}, KeyError, "'dead_cod'.*dead_code"),
        ([3], {}, TypeError, "name must be a string, got int"),
        ([("dead_code", 3)], {}, TypeError, "the options of 'dead_code' must be a dict, got int"),
        (
            ["dead_code"],
            {"kept": []},
            KeyError,
            r"one of a pass in the list, \['keep'\], got 'kept",
        ),
        (["dead_code"], {"keep": "y"}, TypeError, "keep must be a list of strings"),
        (["dead_code"], {"keep": ["q"]}, ValueError, "what is kept must be a variable .* got 'q'"),
        ([("dead_code", {"limit": 1})], {}, KeyError, "options of the pass dead_code are keep"),
    ],
)
def test_wrong_lists(names, options, error, said):
    net = Described(square_of)
    before = net.main.serialize_to_string()
    with pytest.raises(error, match=said):
        passes.apply(net.main, names, **options)
    assert net.main.serialize_to_string() == before
