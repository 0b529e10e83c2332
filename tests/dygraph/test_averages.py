"""ExponentialMovingAverage, ModelAverage and Lookahead against the parameters' past in NumPy."""

import numpy as np
import pytest

import dygraph
from dygraph import optimizer

VALUES = np.random.RandomState(0).uniform(-1, 1, (12, 3))


def param(values=VALUES[0], **kwargs):
    return dygraph.Parameter(np.array(values), **kwargs)


class TestExponential:
    def test_formula(self):
        p, q = param(name="p"), dygraph.Parameter(np.float32(2.0), name="q")
        ema = optimizer.ExponentialMovingAverage(0.75, parameter_list=[p, q])
        for v in VALUES:
            p.set_value(v)
            ema.update()
        weights = 0.25 * 0.75 ** np.arange(12)[::-1]
        expected = weights @ VALUES / weights.sum()
        with ema.apply() as same:
            assert same is ema
            np.testing.assert_allclose(p.numpy(), expected, rtol=1e-12)
            np.testing.assert_allclose(q.numpy(), 2.0, rtol=1e-6)
        np.testing.assert_array_equal(p.numpy(), VALUES[-1])

    def test_decay_grows_with_the_steps(self):
        p, steps = param(), iter(range(100))
        ema = optimizer.ExponentialMovingAverage(0.9, lambda: next(steps), parameter_list=[p])
        average, left = np.zeros(3), 1.0
        for s, v in enumerate(VALUES):
            p.set_value(v)
            ema.update()
            decay = min(0.9, (1 + s) / (10 + s))
            average, left = decay * average + (1 - decay) * v, left * decay
        with ema.apply():
            np.testing.assert_allclose(p.numpy(), average / (1 - left), rtol=1e-12)

    def test_without_restore(self):
        p = param([1.0])
        ema = optimizer.ExponentialMovingAverage(0.5, parameter_list=[p])
        ema.update()
        p.set_value(np.array([4.0]))
        ema.update()
        with ema.apply(need_restore=False):
            pass
        assert p.numpy() == 3.0
        with pytest.raises(RuntimeError, match="must not be applied twice"):
            ema.apply()
        with pytest.raises(RuntimeError, match="must hold their own values, got averages"):
            ema.update()
        ema.restore()
        assert p.numpy() == 4.0

    def test_restores_after_an_error(self):
        p = param([1.0])
        ema = optimizer.ExponentialMovingAverage(0.5, parameter_list=[p])
        ema.update()
        p.set_value(np.array([5.0]))
        with pytest.raises(KeyError), ema.apply():
            raise KeyError("a")
        assert p.numpy() == 5.0

    def test_state(self):
        p = param(name="p")
        ema = optimizer.ExponentialMovingAverage(0.75, parameter_list=[p])
        for v in VALUES[:5]:
            p.set_value(v)
            ema.update()
        state = {k: v.numpy() if hasattr(v, "numpy") else v for k, v in ema.state_dict().items()}
        assert set(state) == {"p.ema", "decay_product"}
        other = optimizer.ExponentialMovingAverage(0.75, parameter_list=[p])
        other.set_state_dict(state)
        for e in (ema, other):
            e.update()
        with ema.apply():
            expected = p.numpy()
        with other.apply():
            np.testing.assert_array_equal(p.numpy(), expected)
        with pytest.raises(ValueError, match="missing"):
            other.set_state_dict({"decay_product": 0.5})

    def test_bad_input(self):
        ema = optimizer.ExponentialMovingAverage(parameter_list=[param()])
        with pytest.raises(RuntimeError, match="update"):
            ema.apply()
        with pytest.raises(RuntimeError, match="apply"):
            ema.restore()
        for bad in (1.0, -0.1):
            with pytest.raises(ValueError):
                optimizer.ExponentialMovingAverage(bad, parameter_list=[param()])
        with pytest.raises(TypeError):
            optimizer.ExponentialMovingAverage(0.5)
        with pytest.raises(TypeError):
            optimizer.ExponentialMovingAverage(0.5, "a", parameter_list=[param()])


class TestModelAverage:
    def test_window(self):
        p, left_out = param(), param([1.0])
        left_out.do_model_average = False
        average = optimizer.ModelAverage(0.5, 2, 4, parameter_list=[p, left_out])
        current, old = [], []
        for n, v in enumerate(VALUES, 1):
            p.set_value(v)
            left_out.set_value(v[:1])
            average.update()
            current.append(v)
            if len(current) >= 2 and len(current) >= min(4, n // 2):
                current, old = [], current
            with average.apply():
                np.testing.assert_allclose(p.numpy(), np.mean(current + old, axis=0), rtol=1e-6)
                np.testing.assert_array_equal(left_out.numpy(), v[:1])
            np.testing.assert_array_equal(p.numpy(), v)

    def test_state(self):
        p = param(name="p")
        average = optimizer.ModelAverage(0.5, 2, 4, parameter_list=[p])
        for v in VALUES[:5]:
            p.set_value(v)
            average.update()
        state = {k: v.numpy() for k, v in average.state_dict().items()}
        assert {"p.sum_1", "p.num_updates"} < set(state)
        other = optimizer.ModelAverage(0.5, 2, 4, parameter_list=[p])
        other.set_state_dict(state)
        for a in (average, other):
            a.update()
        assert all(
            np.array_equal(a.numpy(), b.numpy())
            for a, b in zip(average.state_dict().values(), other.state_dict().values(), strict=True)
        )

    def test_bad_input(self):
        with pytest.raises(ValueError, match="must not exceed"):
            optimizer.ModelAverage(0.5, 10, 5, parameter_list=[param()])
        with pytest.raises(TypeError):
            optimizer.ModelAverage(0.5)
        with pytest.raises(RuntimeError, match="update"):
            optimizer.ModelAverage(0.5, parameter_list=[param()]).apply()


class TestLookahead:
    def test_formula(self):
        p = param()
        ahead = optimizer.Lookahead(optimizer.SGD(0.5, [p]), alpha=0.25, k=3)
        fast, slow = VALUES[0].copy(), VALUES[0].copy()
        for n, g in enumerate(VALUES, 1):
            p.grad = dygraph.to_variable(g)
            ahead.step()
            ahead.clear_gradients()
            fast = fast - 0.5 * g
            if n % 3 == 0:
                slow = slow + 0.25 * (fast - slow)
                fast = slow
            np.testing.assert_allclose(p.numpy(), fast, rtol=1e-12)

    def test_minimize_and_rates(self):
        p = param([2.0])
        ahead = optimizer.LookaheadOptimizer(optimizer.SGD(0.25, [p]), k=2)
        ahead.minimize(p * p)
        ahead.minimize(p * p)
        np.testing.assert_allclose(p.numpy(), [2.0 + 0.5 * (0.5 - 2.0)])
        ahead.set_lr(0.125)
        assert ahead.get_lr() == 0.125 and ahead.current_step_lr() == 0.25

    def test_goes_on_from_its_state(self):
        def run(p, ahead, gradients):
            for g in gradients:
                p.grad = dygraph.to_variable(g)
                ahead.step()
            return p.numpy()

        def make(values):
            p = param(values, name="p")
            return p, optimizer.Lookahead(optimizer.Momentum(0.5, 0.9, [p]), k=3)

        p, ahead = make(VALUES[0])
        run(p, ahead, VALUES[:4])
        state = ahead.state_dict()
        state = {k: v.numpy() if hasattr(v, "numpy") else np.copy(v) for k, v in state.items()}
        state["lookahead_steps"] = int(state["lookahead_steps"])
        q, again = make(p.numpy())
        again.set_state_dict(state)
        np.testing.assert_array_equal(run(q, again, VALUES[4:]), run(p, ahead, VALUES[4:]))
        with pytest.raises(ValueError, match="missing"):
            again.set_state_dict({"lookahead_steps": 1})

    def test_bad_input(self):
        with pytest.raises(ValueError, match="inner_optimizer"):
            optimizer.Lookahead(None)
        sgd = optimizer.SGD(0.1, [param()])
        for bad in ({"alpha": 1.5}, {"k": 0}):
            with pytest.raises(ValueError):
                optimizer.Lookahead(sgd, **bad)
