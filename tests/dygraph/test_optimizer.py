"""Optimizers against their formulas in NumPy."""

import numpy as np
import pytest

import dygraph
from dygraph import nn, optimizer, regularizer, static

G = [np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.5, -1.0]), np.array([-1.0, 4.0, 0.0])]


def param(values=(1.0, 2.0, 3.0), **kwargs):
    return dygraph.Parameter(np.array(values, "float64"), **kwargs)


def give(p, gradient):
    p.grad = dygraph.to_variable(np.array(gradient, str(p.dtype)))


def run(opt, p, gradients=G):
    for g in gradients:
        give(p, g)
        opt.step()
    return p.numpy()


def sgd(w, gradients, rate):
    for g in gradients:
        w = w - rate * g
    return w


class TestFormulas:
    W = np.array([1.0, 2.0, 3.0])

    def test_sgd(self):
        p = param()
        assert np.allclose(run(optimizer.SGD(0.1, [p]), p), sgd(self.W, G, 0.1), rtol=1e-6)

    @pytest.mark.parametrize("nesterov", [False, True])
    def test_momentum(self, nesterov):
        p, w, v = param(), self.W, 0.0
        for g in G:
            v = 0.9 * v + g
            w = w - 0.1 * (g + 0.9 * v if nesterov else v)
        opt = optimizer.Momentum(0.1, 0.9, [p], use_nesterov=nesterov)
        assert np.allclose(run(opt, p), w, rtol=1e-6)

    def test_adam(self):
        p, w, m, v = param(), self.W, 0.0, 0.0
        for t, g in enumerate(G, 1):
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * g * g
            rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            w = w - rate * m / (np.sqrt(v) + 1e-8)
        assert np.allclose(run(optimizer.Adam(0.1, parameter_list=[p]), p), w, rtol=1e-5)

    def test_float32_and_0d(self):
        p = dygraph.Parameter(np.float32(1.0))
        assert run(optimizer.SGD(0.5, [p]), p, [1.0]) == np.float32(0.5)

    def test_sparse_sgd(self):
        p = dygraph.Parameter(np.ones((4, 2), "float32"))
        rows = dygraph.to_variable(np.array([[1.0, 2.0], [3.0, 4.0], [10.0, 10.0]], "float32"))
        p.grad = dygraph._core.make_selected_rows([2, 0, 2], 4, rows)
        optimizer.SGD(0.1, [p]).step()
        expected = np.ones((4, 2))
        expected[2] -= [1.1, 1.2]
        expected[0] -= [0.3, 0.4]
        assert np.allclose(p.numpy(), expected, atol=1e-6)


class TestPerParameter:
    W = np.array([1.0, 2.0, 3.0])

    def test_learning_rate_factor(self):
        p, q = param(), param()
        q.learning_rate = 0.5
        opt = optimizer.SGD(0.1, [p, q])
        give(p, G[0])
        give(q, G[0])
        opt.step()
        assert np.allclose(p.numpy(), self.W - 0.1 * G[0], rtol=1e-6)
        assert np.allclose(q.numpy(), self.W - 0.05 * G[0], rtol=1e-6)

    def test_without_gradient_is_passed_over(self):
        p, q = param(), param()
        opt = optimizer.SGD(0.1, [p, q])
        give(p, G[0])
        opt.step()
        assert q.numpy().tolist() == [1.0, 2.0, 3.0]
        p.clear_gradient()
        give(q, G[0])
        opt.step()
        assert np.allclose(p.numpy(), q.numpy()) and np.allclose(p.numpy(), self.W - 0.1 * G[0])

    def test_regularization(self):
        p = param()
        opt = optimizer.SGD(0.1, [p], regularization=regularizer.L2Decay(0.5))
        assert np.allclose(run(opt, p, G[:1]), self.W - 0.1 * (G[0] + 0.5 * self.W), rtol=1e-6)
        p = param([1.0, -2.0, 0.0])
        p.regularizer = regularizer.L1Decay(0.5)
        opt = optimizer.SGD(0.1, [p], regularization=regularizer.L2Decay(100.0))
        expected = [1.0, -2.0, 0.0] - 0.1 * (G[0] + 0.5 * np.array([1, -1, 0]))
        assert np.allclose(run(opt, p, G[:1]), expected, rtol=1e-6)

    def test_clipping(self):
        p = param()
        opt = optimizer.SGD(1.0, [p], grad_clip=nn.ClipGradByValue(-1.0, 1.5))
        assert np.allclose(run(opt, p, G[:1]), self.W - np.clip(G[0], -1.0, 1.5), rtol=1e-6)
        p = param()
        opt = optimizer.SGD(1.0, [p], grad_clip=nn.ClipGradByNorm(1.0))
        assert np.allclose(run(opt, p, G[:1]), self.W - G[0] / np.sqrt(14), rtol=1e-6)
        p, q = param(), param()
        opt = optimizer.SGD(1.0, [p, q], grad_clip=nn.ClipGradByGlobalNorm(1.0))
        give(p, G[0])
        give(q, G[1])
        opt.step()
        norm = np.sqrt(14 + 1.5)
        assert np.allclose(p.numpy(), self.W - G[0] / norm, rtol=1e-6)
        assert np.allclose(q.numpy(), self.W - G[1] / norm, rtol=1e-6)

    @pytest.mark.parametrize("limits", [(-1.0, 1.5), (1.5, -1.0)])
    def test_limits_in_either_order(self, limits):
        p = param()
        opt = optimizer.SGD(1.0, [p], grad_clip=nn.ClipGradByValue(*limits))
        assert np.allclose(run(opt, p, G[:1]), self.W - np.clip(G[0], -1.0, 1.5), rtol=1e-6)
        limit = static.clip.ErrorClipByValue(*limits)(dygraph.to_variable(G[0]))
        assert limit.numpy().tolist() == [1.0, -1.0, 1.5]

    def test_clip_bad_input(self):
        for bad in (None, "a"):
            with pytest.raises(TypeError):
                nn.ClipGradByValue(bad)
            with pytest.raises(TypeError):
                nn.ClipGradByNorm(bad)
        for rule in (nn.ClipGradByValue, static.clip.ErrorClipByValue):
            with pytest.raises(ValueError, match="max without min must be at least 0"):
                rule(max=-1.0)
        assert nn.ClipGradByValue(max=2.0).min == -2.0
        for bad in (None, "a"):
            with pytest.raises(TypeError):
                regularizer.L2Decay(bad)
        with pytest.raises(ValueError):
            regularizer.L1Decay(-1)


class TestMemory:
    @pytest.mark.parametrize(
        "make",
        [
            lambda p: optimizer.SGD(0.01, p),
            lambda p: optimizer.Momentum(0.01, 0.9, p),
            lambda p: optimizer.Adam(0.01, parameter_list=p),
        ],
        ids=["sgd", "momentum", "adam"],
    )
    def test_100_steps_copy_no_parameter(self, make):
        params = [dygraph.Parameter(np.ones((8, 8), "float32")) for _ in range(3)]
        opt = make(params)
        pointers = [dygraph._core.data_pointer(p) for p in params]
        for _ in range(100):
            opt.clear_gradients()
            for p in params:
                (p * p).backward()
            opt.step()
        assert [dygraph._core.data_pointer(p) for p in params] == pointers
        assert all(p.is_leaf and not p.stop_gradient for p in params)

    def test_a_sharer_keeps_its_values(self):
        p = param()
        twin = p.detach()
        run(optimizer.SGD(0.1, [p]), p, G[:1])
        assert twin.numpy().tolist() == [1.0, 2.0, 3.0]


class TestLearningRate:
    def test_callable_is_asked_once_a_step(self):
        rates = iter([0.1, 0.2])
        p = param()
        opt = optimizer.SGD(lambda: next(rates), [p])
        with pytest.raises(RuntimeError):
            opt.current_step_lr()
        run(opt, p, G[:2])
        assert opt.current_step_lr() == 0.2
        expected = np.array([1.0, 2.0, 3.0]) - 0.1 * G[0] - 0.2 * G[1]
        assert np.allclose(p.numpy(), expected, rtol=1e-6)
        with pytest.raises(RuntimeError):
            opt.set_lr(0.5)

    def test_set_lr(self):
        p = param()
        opt = optimizer.SGD(0.1, [p])
        assert opt.current_step_lr() == 0.1
        run(opt, p, G[:1])
        opt.set_lr(1.0)
        before = p.numpy()
        assert np.allclose(run(opt, p, G[1:2]), before - G[1], rtol=1e-6)


class TestMinimize:
    def test_calls_backward_and_clears_what_it_made(self):
        p = param([2.0])
        opt = optimizer.SGD(0.1, [p])
        for expected in (2.0 - 0.4, 1.6 - 0.32):
            opt.minimize(p * p)
            assert np.allclose(p.numpy(), [expected], rtol=1e-6)
        assert p.gradient() is None

    def test_uses_gradients_that_are_there(self):
        p = param([2.0])
        opt = optimizer.SGD(0.1, [p])
        loss = p * p
        loss.backward()
        _, used = opt.minimize(loss)
        assert used[0][0] is p and p.gradient().tolist() == [4.0]
        assert np.allclose(p.numpy(), [1.6])
        opt.clear_gradient()
        assert p.gradient() is None

    def test_some_parameters_only(self):
        p, q = param([2.0]), param([3.0])
        opt = optimizer.SGD(0.1, [p, q])
        opt.minimize(p * q, parameter_list=[q])
        assert p.item() == 2.0 and np.isclose(q.item(), 2.8)

    def test_bad_input(self):
        p = param([2.0])
        opt = optimizer.SGD(0.1, [p])
        for bad in (None, 3.0, "a"):
            with pytest.raises(TypeError):
                opt.minimize(bad)
        with pytest.raises(TypeError):
            opt.minimize(p * p, startup_program=3)
        other = param([1.0])
        with pytest.raises(RuntimeError):
            opt.minimize(other * other)


class TestState:
    def test_goes_on_as_if_never_stopped(self):
        p = param(name="p")
        opt = optimizer.Adam(0.1, parameter_list=[p])
        run(opt, p, G[:2])
        state = {k: v.numpy() for k, v in opt.state_dict().items()}
        assert set(state) == {"p.Moment1", "p.Moment2", "p.Beta1Pow", "p.Beta2Pow"}
        q = dygraph.Parameter(p.numpy(), name="p")
        again = optimizer.Adam(0.1, parameter_list=[q])
        again.set_state_dict(state)
        assert np.array_equal(run(again, q, G[2:]), run(opt, p, G[2:]))

    def test_names_must_fit(self):
        opt = optimizer.Adam(0.1, parameter_list=[param(name="p")])
        with pytest.raises(ValueError, match="not expected"):
            opt.set_state_dict({"q.Moment1": np.zeros(3)})
        with pytest.raises(ValueError, match="missing"):
            opt.set_state_dict({"p.Moment1": np.zeros(3)})
        with pytest.raises(TypeError):
            opt.set_state_dict(None)
        assert opt.state_dict() == {}
        opt.set_state_dict({})


class TestWhatIsTrained:
    def test_a_leaf_that_needs_a_gradient(self):
        leaf = dygraph.to_variable([2.0])
        with pytest.raises(ValueError, match=r"parameter_list\[0\].*stop_gradient = False"):
            optimizer.Adam(0.1, parameter_list=[leaf])
        with pytest.raises(ValueError, match=r"parameter_list\[1\] must be a Parameter or need"):
            optimizer.SGD(0.1, [{"params": [param()]}, {"params": [leaf]}])
        leaf.stop_gradient = False
        assert run(optimizer.SGD(0.5, [leaf]), leaf, [[1.0]]).tolist() == [1.5]

    def test_frozen_parameters_are_passed_over(self):
        net = dygraph.nn.Linear(2, 2)
        net.weight.trainable = False
        before = net.weight.numpy()
        opt = optimizer.SGD(0.1, net.parameters())
        net(dygraph.ones([1, 2])).sum().backward()
        opt.step()
        assert net.weight.numpy().tolist() == before.tolist()
        np.testing.assert_allclose(net.bias.numpy(), [-0.1, -0.1], rtol=1e-6)
        net.weight.trainable = True
        net(dygraph.ones([1, 2])).sum().backward()
        opt.step()
        np.testing.assert_allclose(net.weight.numpy(), before - 0.1, rtol=1e-5)

    def test_averages_take_what_is_not_trained(self):
        buffer = dygraph.to_variable([2.0])
        ema = optimizer.ExponentialMovingAverage(0.5, parameter_list=[buffer])
        ema.update()
        with ema.apply():
            assert buffer.item() == 2.0

    def test_a_variable_of_a_program(self):
        with static.program_guard(static.Program(), static.Program()):
            x = static.create_parameter([2], "float32")
        with pytest.raises(TypeError, match=r"static\.optimizer"):
            optimizer.SGD(0.1, [x])

    def test_minimize_takes_parameters_of_the_optimizer_alone(self):
        p, other = param(), param()
        opt = optimizer.SGD(0.1, [p])
        with pytest.raises(ValueError, match=r"minimize: parameter_list\[1\] must be a parameter"):
            opt.minimize((p * other).sum(), parameter_list=[p, other])
        assert p.grad is None and p.numpy().tolist() == [1.0, 2.0, 3.0]

    def test_learning_rate_is_an_attribute(self):
        p = param()
        opt = optimizer.SGD(0.1, [p])
        assert opt.learning_rate == 0.1
        opt.learning_rate = 0.5
        assert np.allclose(run(opt, p, G[:1]), sgd(np.array([1.0, 2.0, 3.0]), G[:1], 0.5))
        with pytest.raises(RuntimeError, match="must be a number to be set, got "):
            optimizer.SGD(dygraph.lr.StepDecay(0.1, 1), [p]).learning_rate = 0.5


class TestBadInput:
    @pytest.mark.parametrize("rate", [None, "a", [0.1]])
    def test_rate_type(self, rate):
        with pytest.raises(TypeError):
            optimizer.SGD(rate, [param()])

    def test_values(self):
        with pytest.raises(ValueError):
            optimizer.SGD(-0.1, [param()])
        with pytest.raises(ValueError):
            optimizer.SGD(0.1, [])
        with pytest.raises(ValueError):
            p = param()
            optimizer.SGD(0.1, [p, p])
        with pytest.raises(ValueError):
            optimizer.SGD(0.1, [param() * 2.0])
        with pytest.raises(ValueError):
            optimizer.Adam(0.1, beta1=1.0, parameter_list=[param()])
        for bad in (None, "ab", 3, param(), ["a"], [None]):
            with pytest.raises(TypeError):
                optimizer.SGD(0.1, bad)
        with pytest.raises(TypeError):
            optimizer.Momentum(0.1, None, [param()])
        with pytest.raises(TypeError):
            optimizer.SGD(0.1, [param()], regularization=3)
        with pytest.raises(TypeError):
            optimizer.SGD(0.1, [param()], grad_clip=3)
        with pytest.raises(TypeError):
            optimizer.SGD(lambda: "fast", [param()]).step()
