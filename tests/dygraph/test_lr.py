"""Schedules of the learning rate against their closed formulas, over 50 steps each."""

import math

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid
from dygraph import lr

N = range(50)


def check(schedule, formula, steps=N):
    """A schedule that each call moves on."""
    for n in steps:
        expected = formula(n)
        assert math.isclose(schedule.get_lr(), expected, rel_tol=1e-12, abs_tol=1e-15), n
        assert math.isclose(schedule(), expected, rel_tol=1e-12, abs_tol=1e-15), n


class TestPerStep:
    def test_noam(self):
        def formula(n):
            return 2.0 * 64**-0.5 * min(n**-0.5, n * 10**-1.5)

        check(fluid.dygraph.NoamDecay(64, 10, learning_rate=2.0), formula, range(1, 51))
        assert fluid.dygraph.NoamDecay(64, 10, begin=0)() == 0.0

    def test_piecewise(self):
        def formula(n):
            return 1.0 if n < 10 else 0.5 if n < 30 else 0.1

        check(fluid.dygraph.PiecewiseDecay([10, 30], [1.0, 0.5, 0.1], 0), formula)
        with pytest.raises(ValueError, match="one more than boundaries"):
            lr.PiecewiseDecay([10], [1.0])

    @pytest.mark.parametrize("staircase", [False, True])
    def test_by_decay_steps(self, staircase):
        def part(n):
            return n // 8 if staircase else n / 8

        arguments = (0.5, 8, 0.25, staircase)
        check(lr.NaturalExpDecay(*arguments), lambda n: 0.5 * math.exp(-0.25 * part(n)))
        check(lr.ExponentialDecay(*arguments), lambda n: 0.5 * 0.25 ** part(n))
        check(lr.InverseTimeDecay(*arguments), lambda n: 0.5 / (1 + 0.25 * part(n)))

    def test_polynomial(self):
        def formula(n):
            return (1.0 - 0.1) * (1 - min(n, 20) / 20) ** 2 + 0.1

        check(lr.PolynomialDecay(1.0, 20, 0.1, 2.0), formula)

        def cycling(n):
            length = 20 * max(1, -(-n // 20))
            return (1.0 - 0.1) * (1 - n / length) ** 2 + 0.1

        check(lr.PolynomialDecay(1.0, 20, 0.1, 2.0, cycle=True), cycling)

    def test_cosine(self):
        def formula(n):
            return 0.5 * (math.cos((n // 5) * math.pi / 10) + 1) / 2

        check(lr.CosineDecay(0.5, 5, 10), formula)

    def test_warmup(self):
        def formula(n):
            return 0.1 + 0.4 * n / 10 if n < 10 else 0.5

        check(lr.LinearLrWarmup(0.5, 10, 0.1, 0.5), formula, range(1, 51))

    def test_warmup_of_a_schedule(self):
        """The schedule inside moves from the start, as in Fluid."""
        inner = lr.ExponentialDecay(0.5, 10, 0.5)

        def formula(n):
            return 0.5 * n / 10 if n < 10 else 0.5 * 0.5 ** (n / 10)

        check(lr.LinearLrWarmup(inner, 10, 0.0, 0.5, begin=0), formula)

    def test_begin_and_step(self):
        schedule = lr.ExponentialDecay(1.0, 1, 0.5, begin=3, step=2)
        assert [schedule() for _ in range(3)] == [0.5**3, 0.5**5, 0.5**7]


class TestPerEpoch:
    def check(self, schedule, formula):
        for n in N:
            assert math.isclose(schedule(), formula(n), rel_tol=1e-12), n
            assert schedule() == schedule.get_lr()
            schedule.epoch()

    def test_formulas(self):
        self.check(lr.StepDecay(0.5, 7, 0.25), lambda n: 0.5 * 0.25 ** (n // 7))
        self.check(
            lr.MultiStepDecay(0.5, [10, 15, 40], 0.25),
            lambda n: 0.5 * 0.25 ** ((n >= 10) + (n >= 15) + (n >= 40)),
        )
        self.check(lr.LambdaDecay(0.5, lambda e: 0.9**e), lambda n: 0.5 * 0.9**n)

    def test_go_to_an_epoch(self):
        schedule = lr.StepDecay(1.0, 2, 0.5)
        schedule.epoch(5)
        assert schedule() == 0.25

    def test_plateau(self):
        schedule = lr.ReduceLROnPlateau(1.0, decay_rate=0.5, patience=2, cooldown=1, min_lr=0.2)
        losses = [5.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 3.9, 3.9, 3.9, 3.9, 9.0, 9.0, 9.0]
        rates = []
        for loss in losses:
            schedule.step(loss)
            rates.append(schedule())
        # 3 bad ones (places 2 to 4), one not counted, 3 bad ones (6 to 8), one not counted, which
        # hides the better 3.9, and then the first counted 3.9 is better than 4.0
        assert rates == [1.0] * 4 + [0.5] * 4 + [0.25] * 5 + [0.2] * 3

    def test_plateau_modes(self):
        up = lr.ReduceLROnPlateau(1.0, "max", 0.5, 0, threshold=0.5, threshold_mode="abs")
        rates = []
        for value in (1.0, 2.0, 2.4, 2.6):
            up.step(dygraph.to_variable([value]))
            rates.append(up())
        assert rates == [1.0, 1.0, 0.5, 0.5]
        relative = lr.ReduceLROnPlateau(1.0, "max", 0.5, 0, threshold=0.5)
        rates = []
        for value in (1.0, 1.4, 1.6):
            relative.step(value)
            rates.append(relative())
        assert rates == [1.0, 0.5, 0.5]


class TestByStep:
    def check(self, schedule, formula, steps=N):
        for n in steps:
            assert schedule.last_epoch == n
            assert math.isclose(schedule(), formula(n), rel_tol=1e-12, abs_tol=1e-15), n
            assert schedule() == schedule.get_lr()
            schedule.step()

    def test_cosine_annealing(self):
        def formula(n):
            return 0.1 + 0.4 * (1 + math.cos(math.pi * n / 20)) / 2

        self.check(lr.CosineAnnealingDecay(0.5, 20, 0.1), formula)

    def test_linear_warmup(self):
        def formula(n):
            return 0.1 + 0.4 * n / 10 if n < 10 else 0.3

        self.check(lr.LinearWarmup(0.3, 10, 0.1, 0.5), formula)

        def annealed(n):
            return 0.5 * n / 10 if n < 10 else 0.5 * (1 + math.cos(math.pi * (n - 10) / 30)) / 2

        self.check(lr.LinearWarmup(lr.CosineAnnealingDecay(0.5, 30), 10, 0.0, 0.5), annealed)

    def test_one_cycle(self):
        def formula(n):
            if n <= 14:
                return 0.04 + 0.96 * (1 - math.cos(math.pi * n / 14)) / 2
            return 0.01 + 0.99 * (1 + math.cos(math.pi * (n - 14) / 35)) / 2

        self.check(lr.OneCycleLR(1.0, 50, 25.0, 0.01), formula)

        def three(n):
            if n <= 19:
                return 0.1 + 0.9 * n / 19
            if n <= 38:
                return 1.0 - 0.9 * (n - 19) / 19
            return 0.1 - 0.09 * (n - 38) / 11

        schedule = lr.OneCycleLR(1.0, 50, 10.0, 0.01, 0.4, "linear", three_phase=True)
        self.check(schedule, three)
        with pytest.raises(ValueError, match="at most total_steps = 50"):
            schedule.step(51)

    def test_cyclic(self):
        def height(n):
            at = n % 12
            return at / 4 if at <= 4 else (12 - at) / 8

        arguments = (0.1, 0.9, 4, 8)
        self.check(lr.CyclicLR(*arguments), lambda n: 0.1 + 0.8 * height(n))
        self.check(
            lr.CyclicLR(*arguments, mode="triangular2"),
            lambda n: 0.1 + 0.8 * height(n) / 2 ** (n // 12),
        )
        self.check(
            lr.CyclicLR(*arguments, mode="exp_range", exp_gamma=0.9),
            lambda n: 0.1 + 0.8 * height(n) * 0.9**n,
        )
        by = lr.CyclicLR(*arguments, scale_fn=lambda c: 1 / c)
        self.check(by, lambda n: 0.1 + 0.8 * height(n) / (1 + n // 12))
        by = lr.CyclicLR(*arguments, scale_fn=lambda n: 0.5**n, scale_mode="iterations")
        self.check(by, lambda n: 0.1 + 0.8 * height(n) * 0.5**n)

    def test_as_paddle(self):
        """Paddle 2.6.2's rates of steps 0 to 5."""
        for schedule, rates in (
            (
                lr.NoamDecay(64, 4),
                [0.0, 0.015625, 0.03125, 0.046875, 0.0625, 0.05590169943749475],
            ),
            (lr.NoamDecay(64, 4, 2.0, 3), [0.125, 0.1118033988749895, 0.10206207261596577]),
            (lr.PiecewiseDecay([1, 3], [1.0, 0.5, 0.1]), [1.0, 0.5, 0.5, 0.1, 0.1]),
            (lr.PiecewiseDecay([1, 3], [1.0, 0.5, 0.1], 1), [0.5, 0.1, 0.1]),
            (
                lr.LinearWarmup(lr.NoamDecay(64, 2), 2, 0.1, 0.5),
                [0.1, 0.3, 0.0, 0.04419417382415922, 0.08838834764831845],
            ),
        ):
            assert [move(schedule) for _ in rates] == pytest.approx(rates, rel=1e-15)


ALL = {
    "noam": lambda: lr.NoamDecay(64, 10),
    "Fluid's noam": lambda: fluid.dygraph.NoamDecay(64, 10),
    "piecewise": lambda: lr.PiecewiseDecay([4, 9], [0.3, 0.2, 0.1]),
    "Fluid's piecewise": lambda: fluid.dygraph.PiecewiseDecay([4, 9], [0.3, 0.2, 0.1], 0),
    "natural": lambda: lr.NaturalExpDecay(0.5, 8, 0.25),
    "exponential": lambda: lr.ExponentialDecay(0.5, 8, 0.25),
    "inverse": lambda: lr.InverseTimeDecay(0.5, 8, 0.25),
    "polynomial": lambda: lr.PolynomialDecay(1.0, 20),
    "cosine": lambda: lr.CosineDecay(0.5, 2, 10),
    "warmup": lambda: lr.LinearLrWarmup(lr.ExponentialDecay(0.5, 8, 0.25), 5, 0.1, 0.5),
    "step": lambda: lr.StepDecay(0.5, 3),
    "multistep": lambda: lr.MultiStepDecay(0.5, [3, 5]),
    "lambda": lambda: lr.LambdaDecay(0.5, lambda e: 0.9**e),
    "plateau": lambda: lr.ReduceLROnPlateau(0.5, patience=1),
    "annealing": lambda: lr.CosineAnnealingDecay(0.5, 20),
    "linear": lambda: lr.LinearWarmup(lr.CosineAnnealingDecay(0.5, 30), 4, 0.0, 0.5),
    "onecycle": lambda: lr.OneCycleLR(1.0, 50),
    "cyclic": lambda: lr.CyclicLR(0.1, 0.9, 4, mode="triangular2"),
}


def move(schedule):
    """The rate of a step, and on: one protocol for all."""
    rate = schedule()
    schedule.step(*[1.0] if isinstance(schedule, lr.ReduceLROnPlateau) else [])
    return rate


@pytest.mark.parametrize("name", ALL)
class TestAll:
    def test_goes_on_from_its_state(self, name):
        first, second = ALL[name](), ALL[name]()
        for _ in range(7):
            move(first)
        state = first.state_dict()
        rest = [move(first) for _ in range(10)]
        second.set_state_dict(state)
        assert [move(second) for _ in range(10)] == rest
        second.set_dict(state)
        assert [move(second) for _ in range(10)] == rest

    def test_step_advances_once(self, name):
        """Whether the optimizer's step has asked for the rate or nothing has."""
        asked, unasked = ALL[name](), ALL[name]()
        loss = [1.0] if name == "plateau" else []
        for _ in range(6):
            rate = unasked.get_lr()
            assert asked() == rate == unasked.last_lr
            assert unasked.get_last_lr() == [rate]
            asked.step(*loss)
            unasked.step(*loss)
        assert asked.state_dict() == unasked.state_dict()
        state = asked.state_dict()
        asked.load_state_dict(state)
        assert asked.state_dict() == state

    def test_refuses_another_state(self, name):
        schedule = ALL[name]()
        for bad in ({}, {"a": 1}, {**schedule.state_dict(), "more": 1}):
            with pytest.raises(ValueError, match="the state must hold"):
                schedule.set_state_dict(bad)
        with pytest.raises(TypeError, match="must be a dict"):
            schedule.load(3)

    def test_drives_an_optimizer(self, name):
        schedule, twin = ALL[name](), ALL[name]()
        p, expected = dygraph.Parameter(np.array([1.0])), 1.0
        sgd = dygraph.optimizer.SGD(schedule, [p])
        for _ in range(8):
            p.grad = dygraph.to_variable(np.array([1.0]))
            assert sgd.get_lr() == twin.get_lr()
            sgd.step()
            rate = move(twin)
            schedule.step(*[1.0] if name == "plateau" else [])
            expected -= rate
            assert sgd.current_step_lr() == rate
        assert np.allclose(p.numpy(), expected, rtol=1e-6)
        with pytest.raises(RuntimeError):
            sgd.set_lr(1.0)
        assert type(schedule).__name__ in repr(schedule) and repr(schedule) in repr(sgd)


def test_a_schedule_per_step_refuses_steps_per_epoch():
    rate = lr.CosineDecay(0.5, 2, 10)
    for _ in range(3):
        rate()
    with pytest.raises(RuntimeError, match="CosineDecay.step: .* 3 came since the last one"):
        rate.step()
    assert rate.step_num == 3


def test_fluids_subclass_defines_step_as_the_rate():
    class Halving(lr.LearningRateDecay):
        def step(self):
            return 0.5**self.step_num

    class More(Halving):
        def step(self):
            return 2 * super().step()

    rate = More()
    assert [rate(), rate(), rate.get_lr(), rate.last_lr, rate.step()] == [2, 1, 0.5, 0.5, 0.5]
    with pytest.raises(NotImplementedError, match="must define step"):
        lr.LearningRateDecay()()


def test_bad_input():
    for make, error in (
        (lambda: lr.NoamDecay(0, 10), ValueError),
        (lambda: lr.NoamDecay("a", 10), TypeError),
        (lambda: lr.ExponentialDecay(-1.0, 10, 0.5), ValueError),
        (lambda: lr.ExponentialDecay(1.0, 0, 0.5), ValueError),
        (lambda: lr.ExponentialDecay(1.0, 10, 0.5, begin=0.5), TypeError),
        (lambda: lr.LinearLrWarmup(0.1, 10, 0.5, 0.1), ValueError),
        (lambda: lr.LinearLrWarmup(lambda: 0.1, 10, 0.1, 0.5), TypeError),
        (lambda: lr.LinearWarmup(lr.CosineDecay(0.5, 2, 10), 10, 0.1, 0.5), TypeError),
        (lambda: lr.ExponentialDecay(0.5, 0.9, 3), ValueError),  # Paddle 2's gamma and last_epoch
        (lambda: lr.PiecewiseDecay([1], [0.5, 0.1], begin=0), TypeError),
        (lambda: lr.StepDecay(0.1, 0), ValueError),
        (lambda: lr.StepDecay(0.1, 1, 1.0), ValueError),
        (lambda: lr.MultiStepDecay(0.1, [3, 3]), ValueError),
        (lambda: lr.MultiStepDecay(0.1, 3), TypeError),
        (lambda: lr.LambdaDecay(0.1, 3), TypeError),
        (lambda: lr.ReduceLROnPlateau(0.1, mode="least"), ValueError),
        (lambda: lr.ReduceLROnPlateau(0.1).step("a"), TypeError),
        (lambda: lr.OneCycleLR(0.1, 10, anneal_strategy="sine"), ValueError),
        (lambda: lr.OneCycleLR(0.1, 10, phase_pct=0.7, three_phase=True), ValueError),
        (lambda: lr.CyclicLR(0.1, 0.5, 0), ValueError),
        (lambda: lr.CyclicLR(0.1, 0.5, 5, mode="square"), ValueError),
        (lambda: lr.CosineAnnealingDecay(0.1, 10, last_epoch=-2), ValueError),
    ):
        with pytest.raises(error):
            make()
    with pytest.raises(NotImplementedError, match="must define step"):
        lr.LearningRateDecay()()


def test_fluid_finds_its_names():
    names = (
        "CosineDecay ExponentialDecay InverseTimeDecay LambdaDecay LinearLrWarmup MultiStepDecay "
        "NaturalExpDecay NoamDecay PiecewiseDecay PolynomialDecay ReduceLROnPlateau StepDecay"
    )
    for name in names.split():
        assert getattr(dygraph, name) is getattr(lr, name) and name not in dir(dygraph)
    assert dygraph.optimizer.lr is lr
    from dygraph.optimizer.lr import StepDecay  # as Paddle's scripts write

    assert StepDecay is lr.StepDecay


def test_one_cycle_reaches_its_ends(capsys):
    schedule = lr.OneCycleLR(1.0, 10, divide_factor=10, end_learning_rate=0.01, verbose=True)
    rates = [move(schedule) for _ in range(10)]
    assert rates[0] == 0.1 and math.isclose(rates[2], 1.0) and math.isclose(rates[-1], 0.01)
    assert "OneCycleLR: epoch 1, learning rate" in capsys.readouterr().out
