"""Blocks that cannot run: what is missing is named, and nothing is read past an end."""

import numpy as np
import pytest

import dygraph
import static
from dygraph.errors import FormatError, PreconditionNotMetError, ResourceExhaustedError
from static import layers


def test_a_block_that_was_not_run_is_named(run):
    chosen = static.data("chosen", [1], "bool")
    block = static.default_main_program().current_block()
    y = block.create_var(name="y", shape=[1], dtype="float32")
    with layers.Switch() as choice, choice.case(chosen):
        layers.assign(np.array([2.0], "float32"), output=y)
    z = y * 3.0
    assert run(z, chosen=np.array([True]))[0].tolist() == [6.0]
    with pytest.raises(PreconditionNotMetError, match="'y' is written by .* which was not run"):
        run(z, chosen=np.array([False]))


def test_a_loop_ends_at_the_limit_that_was_set(run):
    always = layers.fill_constant([1], "bool", True)
    i = layers.fill_constant([1], "int64", 0)
    with layers.While(always).block():
        layers.increment(i)
        layers.less_equal(i, i, cond=always)
    dygraph.set_flags({"FLAGS_while_turns": 1000})
    try:
        with pytest.raises(ResourceExhaustedError, match="FLAGS_while_turns, 1000, turns"):
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
