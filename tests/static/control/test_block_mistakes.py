"""Blocks that cannot run: what is missing is named, and nothing is read past an end."""

import subprocess
import sys

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import (
    FormatError,
    OutOfRangeError,
    PreconditionNotMetError,
    ResourceExhaustedError,
)
from dygraph.static import layers


def test_a_block_that_was_not_run_is_named(run):
    chosen = static.data("chosen", [1], "bool")
    block = static.default_main_program().current_block()
    y = block.create_var(name="y", shape=[1], dtype="float32")
    with layers.Switch() as choice, choice.case(chosen):
        layers.assign(np.array([2.0], "float32"), output=y)
    z = y * 3.0
    assert run(z, chosen=np.array([True]))[0].tolist() == [6.0]
    text = r"the variable 'y' holds nothing: the block that writes it \(conditional_block made at "
    here = r"[^()]*test_block_mistakes.py:\d+ in \w+\) was not run"
    with pytest.raises(
        PreconditionNotMetError, match=rf"^scale: {text}{here} \(operator \d of block"
    ):
        run(z, chosen=np.array([False]))


def test_a_block_that_was_not_run_leaves_nothing_to_fetch(run):
    chosen = static.data("chosen", [1], "bool")
    block = static.default_main_program().current_block()
    y = block.create_var(name="y", shape=[1], dtype="float32")
    with layers.Switch() as choice, choice.case(chosen):
        layers.assign(np.array([2.0], "float32"), output=y)
    assert run(y, chosen=np.array([True]))[0].tolist() == [2.0]
    with pytest.raises(
        PreconditionNotMetError,
        match=r"^the variable 'y' holds nothing: the block that writes it \(conditional_block made "
        r"at .*test_block_mistakes.py:\d+ in \w+\) was not run, and it is fetched$",
    ):
        run(y, chosen=np.array([False]))


def test_of_several_blocks_all_are_named(run):
    chosen = static.data("chosen", [1], "int64")
    block = static.default_main_program().current_block()
    y = block.create_var(name="y", shape=[1], dtype="float32")
    with layers.Switch() as choice:
        for number in (1, 2):
            with choice.case(layers.equal(chosen, layers.fill_constant([1], "int64", number))):
                layers.assign(np.array([number], "float32"), output=y)
    z = y * 3.0
    assert run(z, chosen=np.array([2]))[0].tolist() == [6.0]
    with pytest.raises(
        PreconditionNotMetError,
        match="'y' holds nothing: the blocks that write it .conditional_block made at .*, "
        "conditional_block made at .* were not run",
    ):
        run(z, chosen=np.array([3]))


def test_a_block_in_a_loop_that_was_not_run(run):
    """The block that was not run is named, not the loop around it, which was."""
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 9)
    three = layers.fill_constant([1], "int64", 3)
    y = (
        static.default_main_program()
        .current_block()
        .create_var(name="y", shape=[1], dtype="float32")
    )
    more = layers.less_than(i, n)
    with layers.While(more).block():
        with layers.Switch() as choice, choice.case(layers.less_than(three, i)):
            layers.assign(np.array([2.0], "float32"), output=y)
        layers.scale(y, 3.0)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    with pytest.raises(
        PreconditionNotMetError,
        match=r"^scale: the variable 'y' holds nothing: the block that writes it "
        r"\(conditional_block made at .*\) was not run \(operator \d+ of block 1, made at .*\), "
        r"in iteration 0 of the while made at .*test_block_mistakes.py:\d+",
    ):
        run(i)


def test_a_read_past_the_end_in_a_loop_names_the_turn(run):
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 9)
    kept = layers.array_write(layers.fill_constant([1], "float32", 1.0), i)
    for k in range(1, 4):
        layers.array_write(layers.fill_constant([1], "float32", 1.0), i + k, array=kept)
    more = layers.less_than(i, n)
    with layers.While(more).block():
        layers.array_read(kept, i)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    with pytest.raises(
        OutOfRangeError,
        match=r"^read_from_array: I must be in \[0, 4\), got 4 \(operator 0 of block 1, made at "
        r".*test_block_mistakes.py:\d+ in \w+\), in iteration 4 of the while made at "
        r".*test_block_mistakes.py:\d+ in \w+$",
    ):
        run(i)


def test_a_loop_ends_at_the_limit_that_was_set(run):
    always = layers.fill_constant([1], "bool", True)
    i = layers.fill_constant([1], "int64", 0)
    with layers.While(always).block():
        layers.increment(i)
        layers.less_equal(i, i, cond=always)
    dygraph.set_flags({"FLAGS_while_turns": 1000})
    try:
        with pytest.raises(ResourceExhaustedError, match="1000 iterations .FLAGS_while_turns."):
            run(i)
    finally:
        dygraph.set_flags({"FLAGS_while_turns": 0})


def counting():
    program = static.Program()
    with static.program_guard(program):
        i = layers.fill_constant([1], "int64", 0)
        n = layers.fill_constant([1], "int64", 3)
        more = layers.less_than(i, n)
        with layers.While(more).block():
            layers.increment(i)
            layers.less_than(i, n, cond=more)
    return program, i


def test_a_condition_must_have_a_name_and_a_value():
    program, i = counting()
    loop = next(op for op in program.global_block().ops if op.type == "while")
    loop.desc.set_input("Condition", ["@EMPTY@"])
    with pytest.raises(FormatError, match="Condition.* must be given"):
        static.Executor().run(program, fetch_list=[i])


def test_a_block_must_lie_where_its_operator_does():
    program, i = counting()
    outer = static.Program()
    with static.program_guard(outer):
        more = layers.fill_constant([1], "bool", True)
        block = outer.create_block()
        inner = outer.create_block()
        outer.rollback()
        outer.rollback()
        outer.global_block().append_op(
            "while", {"X": [], "Condition": more}, {"Out": []}, {"sub_block": inner}
        )
    assert inner.parent_idx == block.idx
    with pytest.raises(FormatError, match="block 2 must lie in the block of its operator, 0"):
        static.Executor().run(outer, fetch_list=[more])


def conditional(dtype, shape, type="LOD_TENSOR"):
    """A program with a conditional_block on a variable of this type."""
    program = static.Program()
    with static.program_guard(program):
        block = program.global_block()
        layout = {} if type == "RAW" else {"shape": shape, "dtype": dtype}
        block.create_var(name="c", type=type, persistable=True, **layout)
        y = layers.fill_constant([1], "float32", 0.0)
        body = program.create_block()
        body.append_op("increment", {"X": y}, {"Out": y}, {"step": 1.0})
        program.rollback()
        block.append_op(
            "conditional_block", {"Cond": "c", "Input": y}, {"Out": y},
            {"sub_block": body, "is_scalar_condition": True},
        )  # fmt: skip
    return static.Program.parse_from_string(program.serialize_to_string()), y.name


@pytest.mark.parametrize(
    ("variable", "got"),
    [
        (("float32", [1]), r"float32 of shape \[1\]"),
        (("int64", []), r"int64 of shape \[\]"),
        (("bool", [2]), r"bool of shape \[2\]"),
        (("bool", [0]), r"bool of shape \[0\]"),
        (("bool", [1], "LOD_TENSOR_ARRAY"), "LOD_TENSOR_ARRAY"),
        ((None, None, "RAW"), "RAW"),
    ],
)
def test_a_condition_is_checked_with_the_program(variable, got):
    program, y = conditional(*variable)
    with pytest.raises(
        FormatError, match=f"^conditional_block: the condition 'c' must be one bool, got {got}"
    ):
        static.Executor().run(program, fetch_list=[y])


@pytest.mark.parametrize("shape", [[1], [], [-1], [1, 1]])
def test_a_condition_of_one_bool(shape):
    program, y = conditional("bool", shape)
    scope = static.Scope()
    scope.var("c").set(np.ones([abs(n) for n in shape], "bool"))
    assert static.Executor().run(program, fetch_list=[y], scope=scope)[0].tolist() == [1.0]


@pytest.mark.parametrize("slots", [("In", "Out", "print"), ("X", "Out", "assign")])
def test_what_turns_keep_is_left_to_the_gradient(slots):
    """STEP_SCOPES in the hands of another operator, as reader and as writer."""
    taken, given, type = slots
    for reads in (True, False):
        program, i = counting()
        block = program.global_block()
        (steps,) = next(op for op in block.ops if op.type == "while").output("StepScopes")
        block.create_var(name="other", shape=[1], dtype="float32")
        names = {taken: ["other"], given: ["other"]}
        names[taken if reads else given] = [steps]
        block.append_described(type, {taken: names[taken]}, {given: names[given]}, {})
        with pytest.raises(
            FormatError, match=f"^{type}: '{steps}' must be left to the operator that runs the bl"
        ):
            static.Executor().run(program, fetch_list=[i])


def test_a_condition_is_one_bool(run):
    many = static.data("many", [2], "bool")
    y = layers.fill_constant([1], "float32", 0.0)
    block = static.default_main_program().current_block()
    body = static.default_main_program().create_block()
    body.append_op("increment", {"X": y}, {"Out": y}, {"step": 1.0})
    static.default_main_program().rollback()
    block.append_op(
        "conditional_block", {"Cond": many, "Input": y}, {"Out": y},
        {"sub_block": body, "is_scalar_condition": True},
    )  # fmt: skip
    with pytest.raises(ValueError, match="'many' must be one bool, got bool of shape"):
        run(y, many=np.array([True, False]))


def constant_in_a_loop():
    """The program of s = 0; 3 times s += x * x, with s as fill_constant leaves it."""
    x = static.data("x", [2, 3])
    x.stop_gradient = False
    s = layers.fill_constant([2, 3], "float32", 0.0)
    i, n = (layers.fill_constant([1], "int64", k) for k in (0, 3))
    more = layers.less_than(i, n)
    with layers.While(more).block():
        layers.assign(s + x * x, output=s)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    return x, s


def test_a_gradient_that_a_constant_stops_is_not_missed_in_silence(run):
    x, s = constant_in_a_loop()
    with pytest.raises(PreconditionNotMetError, match="stop_gradient of 'fill_constant_0.tmp_0'"):
        static.gradients(layers.mean(s), x)
    with pytest.raises(PreconditionNotMetError, match="give .* in no_grad_set if it is to have"):
        static.gradients(layers.mean(s) + layers.mean(x), x)
    (gradient,) = static.gradients(layers.mean(s) + layers.mean(x), x, no_grad_set={s})
    assert run(gradient, x=np.ones([2, 3], "float32"))[0].tolist() == [[np.float32(1 / 6)] * 3] * 2


def test_a_constant_of_a_choice_is_refused_too():
    x = static.data("x", [2, 3])
    x.stop_gradient = False
    s = layers.fill_constant([2, 3], "float32", 0.0)
    for chosen in (static.data("b", [1], "bool"), static.data("c", [1], "bool")):
        with layers.Switch() as choice, choice.case(chosen):
            layers.assign(layers.tanh(x), output=s)
    with pytest.raises(PreconditionNotMetError, match="conditional_block: stop_gradient of"):
        static.gradients(layers.mean(s), x)


def test_what_no_target_depends_on_may_be_a_constant(run):
    x, s = constant_in_a_loop()
    (gradient,) = static.gradients(layers.mean(x), x)
    assert run(gradient, s, x=np.ones([2, 3], "float32"))[1].tolist() == [[3.0] * 3] * 2


def test_what_was_taken_out_of_the_gradient_behind_the_loop_may_come_of_a_constant(run):
    x, s = constant_in_a_loop()
    y = s * x
    y.stop_gradient = True
    (gradient,) = static.gradients(layers.mean(y * x), x)
    x_value = np.full([2, 3], 2.0, "float32")
    np.testing.assert_allclose(run(gradient, x=x_value)[0], np.full([2, 3], 12 * 2 / 6), rtol=1e-6)


def test_a_result_that_is_not_wanted_beside_an_inner_block():
    """batch_norm by running statistics writes none of them; it stands beside a block in a block."""
    script = """
import numpy as np
from dygraph import static
from dygraph.static import layers
x = static.data("x", [None, 3])
i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 2)
s = layers.assign(x)
more = layers.less_than(i, n)
with layers.While(more, is_test=True).block():
    t = layers.batch_norm(s, is_test=True, epsilon=0.0)
    layers.assign(layers.cond(i < 1, lambda: t + 1.0, lambda: t * 3.0), output=s)
    layers.increment(i)
    layers.less_than(i, n, cond=more)
executor = static.Executor()
executor.run(static.default_startup_program())
print(executor.run(feed={"x": np.array([[1, 2, 3]], "float32")}, fetch_list=[s])[0].tolist())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[[6.0, 9.0, 12.0]]\n"), done.stderr


def test_a_gradient_goes_back_over_the_turns_of_its_own_block():
    """Steps of another loop, which kept more or less: refused, not read past their end."""
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [2])
        x.stop_gradient = False
        total = layers.assign(x)
        for power in (2, 1):
            i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", power)
            s = layers.assign(total)
            more = layers.less_than(i, n)
            with layers.While(more).block():
                layers.assign(layers.tanh(s * s) if power == 2 else s * 2.0, output=s)
                layers.increment(i)
                layers.less_than(i, n, cond=more)
            total = total + s
        (grad,) = static.gradients([layers.reduce_sum(total)], [x])
    feed = {"x": np.array([0.5, -1.0], "float32")}
    assert np.isfinite(static.Executor().run(main, feed, [grad])[0]).all()
    grads = [op for op in main.global_block().ops if op.type == "while_grad"]
    steps = [op.desc.input("StepScopes") for op in grads]
    for op, of_the_other in zip(grads, reversed(steps), strict=True):
        program = static.Program.parse_from_string(main.serialize_to_string())
        changed = program.global_block().ops[op.idx]
        changed.desc.set_input("StepScopes", of_the_other)
        with pytest.raises(
            FormatError,
            match=r"^while_grad: the steps in '.*' must be those of the block it is the grad",
        ):
            static.Executor().run(program, feed, [grad.name])
