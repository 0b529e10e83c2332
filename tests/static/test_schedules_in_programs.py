"""Schedules of `dygraph.lr` as learning rates of programs."""

import pytest

import dygraph.static as fluid
from dygraph import lr, static


def program_with(rate):
    """A program whose one weight loses the learning rate in each run, and its startup program."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()):
        w = static.layers.create_parameter(
            [1], "float32", default_initializer=static.initializer.Constant(8.0)
        )
        sgd = static.optimizer.SGD(learning_rate=rate)
        sgd.minimize(static.layers.mean(w))
    return main, startup, w, sgd


def weights_of(rate, move=None, runs=3):
    main, startup, w, _ = program_with(rate)
    found = []
    with static.scope_guard(static.Scope()):
        exe = static.Executor()
        exe.run(startup)
        for _ in range(runs):
            found.append(exe.run(main, fetch_list=[w])[0].item())
            if move is not None:
                move()
    return found


def test_step_moves_the_rate_of_a_program():
    rate = lr.StepDecay(1.0, step_size=1, decay_rate=0.5)
    assert weights_of(rate, rate.step) == [7.0, 6.5, 6.25]
    assert rate.get_lr() == 0.125
    rate = lr.MultiStepDecay(1.0, [2], decay_rate=0.5)
    assert weights_of(rate, rate.step) == [7.0, 6.0, 5.5]
    assert weights_of(lr.StepDecay(1.0, 1, 0.5)) == [7.0, 6.0, 5.0]  # without step() it stays


def test_a_schedule_per_step_moves_with_the_runs():
    for by_hand in (False, True):
        rate = fluid.dygraph.PiecewiseDecay([1, 2], [2.0, 1.0, 0.5], begin=0)
        assert weights_of(rate, rate.step if by_hand else None) == [6.0, 5.0, 4.5]
        assert rate.step_num == 3


def test_a_plateau_moves_with_the_loss():
    rate = lr.ReduceLROnPlateau(1.0, decay_rate=0.5, patience=0)
    assert weights_of(rate, lambda: rate.step(1.0)) == [7.0, 6.0, 5.5]


def test_runs_without_an_update_do_not_move_it():
    rate = fluid.dygraph.PiecewiseDecay([1], [2.0, 1.0], begin=0)
    main, startup, w, _ = program_with(rate)
    with static.scope_guard(static.Scope()):
        exe = static.Executor()
        exe.run(startup)
        test = main.clone(for_test=True)
        exe.run(test, fetch_list=[w])
        (loss,) = main.global_block().ops[0].output("Out")
        exe.run(main, fetch_list=[loss], use_prune=True)
        assert rate.step_num == 0
        exe.run(main.clone())
        assert rate.step_num == 1
        exe.run(main)
        assert exe.run(test, fetch_list=[w])[0].item() == 5.0


def test_another_rate_reaches_the_program():
    main, startup, w, sgd = program_with(1.0)
    with static.scope_guard(static.Scope()):
        exe = static.Executor()
        with pytest.raises(RuntimeError, match="set_lr: 'learning_rate_.*' must hold a value"):
            sgd.set_lr(0.5)
        exe.run(startup)
        exe.run(main)
        sgd.set_lr(0.5)
        assert exe.run(main, fetch_list=[w])[0].item() == 6.5
        assert sgd.get_lr() == 0.5
    _, _, _, sgd = program_with(lr.StepDecay(1.0, 1))
    with pytest.raises(RuntimeError, match="set_lr"), static.scope_guard(static.Scope()):
        sgd.set_lr(0.5)
    with pytest.raises(TypeError, match="a number, a schedule of dygraph.lr or one of"):
        static.optimizer.SGD(learning_rate=lambda: 0.1)
