"""Program, Block, Operator, Variable: describing, editing, copying, refusing."""

import gc
import weakref

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PreconditionNotMetError,
)


@pytest.fixture
def program():
    """A main program under a guard, with a startup program of its own."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        yield main


def test_building_computes_nothing(program):
    """Describing a network of terabytes takes no tensor memory."""
    before = dygraph.memory.stats(dygraph.CPUPlace())["used"]
    x = static.data("x", [1 << 20, 1 << 20])
    for _ in range(10):
        x = static.layers.relu(x) + 1.0
    assert dygraph.memory.stats(dygraph.CPUPlace())["used"] == before
    assert x.shape == (1 << 20, 1 << 20)


def test_the_type_of_the_argument_decides(program):
    eager = dygraph.relu(dygraph.to_variable([-1.0, 2.0]))
    described = dygraph.relu(static.data("x", [2]))
    assert eager.tolist() == [0.0, 2.0]
    assert isinstance(described, static.Variable) and described.op.type == "relu"
    assert len(program.global_block().ops) == 1


def test_number_operators(program):
    x = static.data("x", [3], "int64")
    results = [2 + x, x - 1, 3 * x, x // 2, x % 2, x > 1, -x, 7 - x]
    values = np.array([1, 4, -5])
    arrays = [2 + values, values - 1, 3 * values, values // 2, values % 2, values > 1, -values]
    got = static.Executor().run(program, {"x": values}, results, scope=static.Scope())
    for mine, theirs in zip(got, [*arrays, 7 - values], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_large_integer_keeps_its_digits(program):
    big = (1 << 53) + 1
    (got,) = static.Executor().run(
        program, {"x": np.array([1])}, [static.data("x", [1], "int64") + big], scope=static.Scope()
    )
    assert got.tolist() == [big + 1]


@pytest.mark.parametrize(
    "read",
    [float, int, bool, lambda v: v.numpy(), lambda v: v.item(), lambda v: v.tolist(), np.asarray],
)
def test_values_cannot_be_read(program, read):
    with pytest.raises(PreconditionNotMetError, match=r"'x', a variable of a program.*fetch_list"):
        read(static.data("x", [1]))


def test_length_and_iteration_need_a_known_size(program):
    for what in (len, list):
        with pytest.raises((TypeError, RuntimeError, ValueError), match="x|unknown|-1"):
            what(static.data(f"x{what.__name__}", [None, 2]))


def test_only_parameters_enter_a_program(program):
    x = static.data("x", [2])
    with pytest.raises(ArgumentTypeError, match="eager Variable of shape .2,.*assign"):
        x + dygraph.to_variable([1.0, 2.0]).astype("float32")
    weight = dygraph.Parameter(np.array([1.0, 2.0], "float32"), name="weight")
    y = x * weight
    assert program.global_block().var("weight").persistable
    (got,) = static.Executor().run(
        program, {"x": np.array([3.0, 4.0], "f")}, [y], scope=static.Scope()
    )
    assert got.tolist() == [3.0, 8.0]


def test_variables_of_two_programs_do_not_meet(program):
    x = static.data("x", [2])
    with static.program_guard(static.Program()):
        y = static.data("y", [2])
    with pytest.raises(InvalidArgumentError, match="'y' belongs to another"):
        x + y


def test_a_name_twice_names_both_lines(program):
    block = program.global_block()
    block.create_var(name="a", shape=[1], dtype="float32")
    with pytest.raises(AlreadyExistsError, match=r"'a' already.*test_program.py:\d+.*again at"):
        block.create_var(name="a", shape=[1], dtype="float32")


def test_append_op_checks(program):
    block = program.global_block()
    x = block.create_var(name="x", shape=[2, 3], dtype="float32")
    out = block.create_var(name="out", shape=[1], dtype="float32")
    block.append_op("relu", {"X": x}, {"Out": out})
    assert out.shape == (2, 3)
    with pytest.raises(NotFoundError, match="relu"):
        block.append_op("rellu", {"X": x}, {"Out": out})
    with pytest.raises(ValueError, match="scale"):
        block.append_op("scale", {"X": x}, {"Out": out}, {"skale": 1.0})
    with pytest.raises(NotFoundError, match="'absent'"):
        block.append_op("relu", {"X": "absent"}, {"Out": out})
    with pytest.raises(InvalidArgumentError, match="matmul_v2.*3"):
        block.append_op("matmul_v2", {"X": x, "Y": x}, {"Out": out})
    with pytest.raises(ArgumentTypeError, match=r"Input\(X\)"):
        block.append_op("relu", {"X": 3}, {"Out": out})
    assert len(block.ops) == 1


def test_errors_while_running_name_the_line(program):
    x, y = static.data("x", [None, 3]), static.data("y", [None, 3])
    total = x + y  # the line that is named
    feed = {"x": np.ones((2, 3), "f"), "y": np.ones((4, 3), "f")}
    with pytest.raises(InvalidArgumentError, match=r"elementwise_add.*test_program.py:\d+"):
        static.Executor().run(program, feed, [total], scope=static.Scope())


def test_guards_nest_and_end():
    outer, inner = static.Program(), static.Program()
    default = static.default_main_program()
    with static.program_guard(outer):
        with pytest.raises(ZeroDivisionError), static.program_guard(inner):
            assert static.default_main_program() is inner
            raise ZeroDivisionError
        assert static.default_main_program() is outer
    assert static.default_main_program() is default
    before = static.switch_main_program(outer)
    assert before is default and static.default_main_program() is outer
    assert static.switch_main_program(before) is outer
    for wrong in (None, "main", static.Program().global_block()):
        with pytest.raises(ArgumentTypeError, match=r"must be a static.Program"):
            static.switch_main_program(wrong)


def test_editing_operators(program):
    x = static.data("x", [2])
    y = static.layers.relu(x)
    z = static.layers.scale(y, scale=3.0)
    block = program.global_block()
    block.ops[1].set_attr("scale", 5.0)
    block.insert_op(1, "scale", {"X": y}, {"Out": y}, {"scale": 2.0})
    assert [op.idx for op in block.ops] == [0, 1, 2]
    feed = {"x": np.array([1.0, -1.0], "f")}
    (got,) = static.Executor().run(program, feed, [z], scope=static.Scope())
    assert got.tolist() == [10.0, 0.0]
    block.remove_op(1)
    (got,) = static.Executor().run(program, feed, [z], scope=static.Scope())
    assert got.tolist() == [5.0, 0.0]
    with pytest.raises(TypeError, match="scale must be a float"):
        block.ops[1].set_attr("scale", "much")
    with pytest.raises(IndexError):
        block.remove_op(7)
    block.rename_var(y.name, "hidden")
    assert block.ops[0].output("Out") == ["hidden"] and y.name == "hidden"


def test_clone_for_test(program):
    x = static.data("x", [None, 4])
    hidden = static.layers.dropout(static.layers.fc(x, size=4), 0.5)
    loss = static.layers.mean(hidden)
    before = program.clone(for_test=True)
    static.optimizer.Momentum(0.1, 0.9).minimize(loss)
    after = program.clone(for_test=True)
    assert str(before) != str(program)
    assert [op.type for op in before.global_block().ops] == [
        op.type for op in after.global_block().ops
    ]
    for test in (before, after):
        (op,) = [op for op in test.global_block().ops if op.type == "dropout"]
        assert op.attr("is_test") is True
    copy = program.clone()
    assert copy.serialize_to_string() == program.serialize_to_string()
    assert [p.name for p in copy.all_parameters()] == [p.name for p in program.all_parameters()]
    with static.program_guard(copy):
        static.data("more", [1])
    assert not program.global_block().has_var("more")


def test_programs_are_freed():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        static.layers.fc(static.data("x", [None, 4]), size=4)
    seen = weakref.ref(program)
    del program
    gc.collect()
    assert seen() is None


def test_random_seed_repeats(program):
    program.random_seed = 7
    drawn = static.layers.uniform_random([5])
    runs = [static.Executor().run(program, {}, [drawn], scope=static.Scope())[0] for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    program.random_seed = 8
    (other,) = static.Executor().run(program, {}, [drawn], scope=static.Scope())
    assert (other != runs[0]).any()


def test_blocks_by_number(program):
    assert program.num_blocks == 1 and program.block(0) is program.global_block()
    with pytest.raises(OutOfRangeError, match="1 blocks, got block 1"):
        program.block(1)
    with pytest.raises(NotFoundError, match="Did you mean 'image'"):
        static.data("image", [1])
        program.global_block().var("imag")


def test_scopes_of_names_and_devices(program):
    x = static.data("x", [2])

    def path():
        return static.layers.relu(x).op.attr("op_namescope")

    with static.name_scope("a"):
        with static.name_scope("b"):
            assert path() == "/a/b/"
        with static.name_scope("b"):
            assert path() == "/a/b_1/"
        assert path() == "/a/"
    with static.name_scope("a"):
        assert path() == "/a_1/"
    assert path() == "/"
    with static.device_guard("gpu:1"):
        with static.device_guard():
            assert static.layers.relu(x).op.attr("op_device") == ""
        assert static.layers.relu(x).op.attr("op_device") == "gpu:1"
    for wrong in (None, "", "a/b"):
        with pytest.raises((TypeError, ValueError), match="name_scope: prefix"):
            static.name_scope(wrong).__enter__()
    for wrong in ("tpu", "gpu:", "gpu:x", 0):
        with pytest.raises(ValueError, match="device_guard: device"):
            static.device_guard(wrong).__enter__()


def test_without_a_seed_of_its_own_a_program_draws_what_eager_calls_draw(program):
    def noisy(x):
        return dygraph.dropout(dygraph.dropout(x, 0.5) + 1.0, 0.25)

    out = noisy(static.data("x", [4, 8]))
    executor, ones = static.Executor(), np.ones([4, 8], "float32")
    static.Program.global_seed(3)
    expected = [noisy(dygraph.to_variable(ones)).numpy() for _ in range(4)]
    for _ in range(2):
        static.Program.global_seed(3)
        for want in expected[:2]:
            np.testing.assert_array_equal(executor.run(program, {"x": ones}, [out])[0], want)
    # Eager calls and programs go on where the other stood.
    np.testing.assert_array_equal(noisy(dygraph.to_variable(ones)).numpy(), expected[2])
    np.testing.assert_array_equal(executor.run(program, {"x": ones}, [out])[0], expected[3])
    assert (expected[0] != expected[1]).any()


def test_two_programs_start_differently():
    drawn = []
    for _ in range(2):
        startup, scope = static.Program(), static.Scope()
        with static.program_guard(static.Program(), startup):
            static.create_parameter([8, 8], "float32", "w")
        static.Executor().run(startup, scope=scope)
        drawn.append(scope.find_var("w").get().numpy())
    assert (drawn[0] != drawn[1]).any()
