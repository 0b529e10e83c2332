"""Updates in programs: settings of parameters, the rate, averages and Lookahead, in NumPy."""

import numpy as np
import pytest

from dygraph import static

START = np.array([0.5, -2.0, 3.0], "float32")
SLOPE = np.array([1.0, -4.0, 0.25], "float32")  # the gradient of sum(w * SLOPE)


class Line:
    """A program that minimizes sum(w * slope), whose gradient is the slope fed to it."""

    def __init__(self, rule, dtype="float32", after=lambda: None, **attr):
        self.main, self.startup, self.scope = static.Program(), static.Program(), static.Scope()
        self.executor = static.Executor(static.CPUPlace())
        start = static.initializer.NumpyArrayInitializer(START.astype(dtype))
        with static.program_guard(self.main, self.startup):
            slope = static.data("slope", [3], dtype)
            attr = static.ParamAttr("w", start, **attr)
            w = static.create_parameter([3], dtype, attr=attr)
            self.loss = static.layers.reduce_sum(w * slope)
            self.minimized = rule.minimize(self.loss)
            self.added = after()
        self.executor.run(self.startup, scope=self.scope)

    def run(self, slope=SLOPE):
        dtype = self.main.global_block().var("slope").dtype
        self.executor.run(self.main, {"slope": np.asarray(slope, str(dtype))}, scope=self.scope)
        return self.w

    @property
    def w(self):
        return self.scope.find_var("w").get().numpy()

    @property
    def types(self):
        return [op.type for op in self.main.global_block().ops]


SGD = static.optimizer.SGD


def test_a_parameter_s_own_rate():
    np.testing.assert_array_equal(Line(SGD(0.5), learning_rate=0.25).run(), START - 0.125 * SLOPE)


def test_a_parameter_s_own_decay_goes_before_the_common_one():
    common = static.regularizer.L2Decay(100.0)
    line = Line(SGD(0.5, regularization=common), regularizer=static.regularizer.L1Decay(2.0))
    np.testing.assert_array_equal(line.run(), START - 0.5 * (SLOPE + 2 * np.sign(START)))
    assert "sign" in line.types
    line = Line(SGD(0.5, regularization=static.regularizer.L2Decay(0.5)))
    np.testing.assert_array_equal(line.run(), START - 0.5 * (SLOPE + 0.5 * START))


@pytest.mark.parametrize("limits", [{"max": 2.0, "min": -1.0}, (-1.0, 2.0), (2.0, -1.0)])
def test_clipping_comes_before_decay(limits):
    named = isinstance(limits, dict)
    by_value = static.clip.GradientClipByValue
    clip = by_value(**limits) if named else by_value(*limits)
    decay = static.regularizer.L2Decay(0.5)
    line = Line(SGD(1.0, regularization=decay, grad_clip=clip))
    np.testing.assert_array_equal(line.run(), START - (np.clip(SLOPE, -1, 2) + 0.5 * START))
    assert line.types[-4:] == ["clip", "scale", "sum", "sgd"]


def test_a_parameter_s_own_clipping():
    line = Line(SGD(1.0), gradient_clip=static.clip.GradientClipByNorm(1.0))
    norm = np.sqrt((SLOPE.astype("float64") ** 2).sum())
    np.testing.assert_allclose(line.run(), START - SLOPE / norm, rtol=1e-6)


def test_the_norm_of_all_gradients():
    line = Line(SGD(1.0, grad_clip=static.clip.GradientClipByGlobalNorm(1.0)))
    norm = np.sqrt((SLOPE.astype("float64") ** 2).sum())
    np.testing.assert_allclose(line.run(), START - SLOPE / norm, rtol=1e-6)


def test_what_is_not_trainable_stays():
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    start = static.initializer.Constant(2.0)
    with static.program_guard(main, startup):
        a = static.create_parameter([1], "float32", attr=static.ParamAttr("a", start))
        b = static.create_parameter(
            [1], "float32", attr=static.ParamAttr("b", start, trainable=False)
        )
        _, pairs = SGD(1.0).minimize(static.layers.mean(a * b))
    assert [p.name for p, _ in pairs] == ["a"]
    executor = static.Executor()
    for program in (startup, main):
        executor.run(program, scope=scope)
    assert (scope.find_var("a").get().item(), scope.find_var("b").get().item()) == (0.0, 2.0)


def test_the_start_is_an_operator_with_its_seed():
    startup = static.Program()
    start = static.initializer.UniformInitializer(low=-0.5, high=0.25, seed=7)
    with static.program_guard(static.Program(), startup):
        static.create_parameter([50, 40], "float32", attr=static.ParamAttr("w", start))
    (op,) = startup.global_block().ops
    assert op.type == "uniform_random"
    assert (op.attr("min"), op.attr("max"), op.attr("seed")) == (-0.5, 0.25, 7)
    drawn = []
    for _ in range(2):
        scope = static.Scope()
        static.Executor().run(startup, scope=scope)
        drawn.append(scope.find_var("w").get().numpy())
    np.testing.assert_array_equal(*drawn)
    assert drawn[0].min() >= -0.5 and drawn[0].max() < 0.25
    np.testing.assert_allclose(drawn[0].mean(), -0.125, atol=0.02)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_of_arrays_at_the_start(dtype):
    rows = np.random.RandomState(0).standard_normal((2, 3)).astype(dtype)
    kernel = np.array([[[[0.25, 0.75, 0.75, 0.25]]]], dtype).swapaxes(2, 3) * np.array(
        [0.25, 0.75, 0.75, 0.25], dtype
    )
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        for name, shape, start in (
            ("rows", [2, 3], static.initializer.NumpyArrayInitializer(rows)),
            ("kernel", [1, 1, 4, 4], static.initializer.Bilinear()),
        ):
            static.create_parameter(shape, dtype, name, default_initializer=start)
    static.Executor().run(startup, scope=scope)
    np.testing.assert_array_equal(scope.find_var("rows").get().numpy(), rows)
    np.testing.assert_allclose(scope.find_var("kernel").get().numpy(), kernel, rtol=1e-6)


def test_the_rate_is_a_variable_that_may_be_written():
    line = Line(SGD(0.5))
    (name,) = [n for n in line.main.global_block().vars if n.startswith("learning_rate")]
    line.run()
    line.scope.find_var(name).set(np.array([0.125], "float32"))
    np.testing.assert_array_equal(line.run(), START - 0.625 * SLOPE)


def test_a_rate_that_the_program_computes():
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        w = static.create_parameter(
            [1], "float32", "w", default_initializer=static.initializer.Constant(1.0)
        )
        rate = static.layers.piecewise_decay([2], [0.5, 0.25])
        SGD(rate).minimize(static.layers.mean(w))
    executor = static.Executor()
    executor.run(startup, scope=scope)
    found = []
    for _ in range(4):
        executor.run(main, scope=scope)
        found.append(scope.find_var("w").get().item())
    assert found == [0.5, 0.0, -0.25, -0.5]


def test_state_is_filled_by_the_startup_program():
    line = Line(static.optimizer.Adam(0.1, beta1=0.75, beta2=0.5))
    state = {n: v for n, v in line.startup.global_block().vars.items() if n.startswith("w_")}
    shapes = {n.rsplit("_", 1)[0]: v.shape for n, v in state.items()}
    assert shapes == {
        "w_moment1": (3,), "w_moment2": (3,), "w_beta1_pow_acc": (1,), "w_beta2_pow_acc": (1,),
    }  # fmt: skip
    starts = {n: line.scope.find_var(n).get().numpy() for n in state}
    for name, value in starts.items():
        first = 0.75 if "beta1" in name else 0.5 if "beta2" in name else 0.0
        np.testing.assert_array_equal(value, np.full_like(value, first))


class TestAverages:
    def average(self, make, slopes, dtype="float64"):
        """The program after runs with each slope, and the parameters it had."""
        made = []

        def after():
            made.append(make())
            if hasattr(made[0], "update"):
                made[0].update()

        line = Line(SGD(1.0), dtype, after)
        return line, made[0], [line.run(slope) for slope in slopes]

    slopes = np.random.RandomState(0).uniform(-1, 1, (9, 3))

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_exponential(self, dtype):
        line, ema, past = self.average(
            lambda: static.optimizer.ExponentialMovingAverage(0.75), self.slopes, dtype
        )
        weights = 0.25 * 0.75 ** np.arange(9)[::-1]
        expected = weights @ np.array(past, "float64") / weights.sum()
        with static.scope_guard(line.scope):
            with ema.apply(line.executor):
                tolerance = 1e-12 if dtype == "float64" else 1e-5
                np.testing.assert_allclose(line.w, expected, rtol=tolerance)
            np.testing.assert_array_equal(line.w, past[-1])

    def test_a_decay_that_grows_with_the_steps(self):
        def make():
            steps = static.layers.autoincreased_step_counter(begin=0)
            return static.optimizer.ExponentialMovingAverage(0.375, steps)

        line, ema, past = self.average(make, self.slopes)
        average, left = np.zeros(3), 1.0
        for s, value in enumerate(past):
            decay = min(0.375, (1 + s) / (10 + s))
            average, left = decay * average + (1 - decay) * value, left * decay
        with static.scope_guard(line.scope), ema.apply():
            np.testing.assert_allclose(line.w, average / (1 - left), rtol=1e-12)

    def test_exponential_and_eager_have_equal_bits(self):
        import dygraph

        line, ema, past = self.average(
            lambda: static.optimizer.ExponentialMovingAverage(0.9), self.slopes, "float32"
        )
        p = dygraph.Parameter(START)
        eager = dygraph.optimizer.ExponentialMovingAverage(0.9, parameter_list=[p])
        for value in past:
            p.set_value(value)
            eager.update()
        with static.scope_guard(line.scope), ema.apply(), eager.apply():
            np.testing.assert_array_equal(line.w, p.numpy())

    def test_window(self):
        line, average, past = self.average(
            lambda: static.optimizer.ModelAverage(0.5, 2, 4), self.slopes
        )
        current, old = [], []
        for n, value in enumerate(past, 1):
            current.append(value)
            if len(current) >= 2 and len(current) >= min(4, n // 2):
                current, old = [], current
        with static.scope_guard(line.scope):
            average.apply(need_restore=False)
            np.testing.assert_allclose(line.w, np.mean(current + old, axis=0), rtol=1e-12)
            with pytest.raises(RuntimeError, match="must not be applied twice"):
                average.apply()
            average.restore()
        np.testing.assert_array_equal(line.w, past[-1])

    def test_lookahead(self):
        line = Line(static.optimizer.Lookahead(SGD(1.0), alpha=0.25, k=3), "float64")
        fast = slow = START.astype("float64")
        for n, slope in enumerate(self.slopes, 1):
            fast = fast - slope
            if n % 3 == 0:
                fast = slow = slow + 0.25 * (fast - slow)
            np.testing.assert_allclose(line.run(slope), fast, rtol=1e-12)

    def test_averages_are_saved_with_the_persistables(self, tmp_path):
        line, ema, _ = self.average(
            lambda: static.optimizer.ExponentialMovingAverage(0.75), self.slopes
        )
        with static.scope_guard(line.scope):
            static.io.save_persistables(line.executor, tmp_path, line.main)
            with ema.apply():
                expected = line.w
        line.scope = static.Scope()
        with static.scope_guard(line.scope):
            static.io.load_persistables(line.executor, tmp_path, line.main)
            with ema.apply():
                np.testing.assert_array_equal(line.w, expected)

    def test_mistakes(self):
        made = []

        def after():
            made.append(static.optimizer.ExponentialMovingAverage(0.5))
            made.append(static.optimizer.ModelAverage(0.5))
            made[0].update()

        line = Line(SGD(1.0), after=after)
        with static.scope_guard(static.Scope()), pytest.raises(RuntimeError, match="scope_guard"):
            made[0].apply()
        with static.scope_guard(line.scope):
            for average in made:
                with pytest.raises(RuntimeError, match="before"):
                    average.apply()
                with pytest.raises(RuntimeError, match="apply"):
                    average.restore()
        with static.program_guard(static.Program(), static.Program()):
            with pytest.raises(RuntimeError, match="must have parameters"):
                static.optimizer.ExponentialMovingAverage(0.5)
            with pytest.raises(TypeError, match="thres_steps"):
                static.optimizer.ExponentialMovingAverage(0.5, 3)
            with pytest.raises(ValueError, match="decay"):
                static.optimizer.ExponentialMovingAverage(1.0)
            with pytest.raises(ValueError, match="max_average_window"):
                static.optimizer.ModelAverage(0.5, 3, 2)
        with pytest.raises(TypeError, match="inner_optimizer"):
            static.optimizer.Lookahead("sgd")
        with pytest.raises(ValueError, match="k must"):
            static.optimizer.Lookahead(SGD(1.0), k=0)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_weights_of_length_and_direction(dim):
    """Training moves g and v by the gradients of w = g v / ||v||."""
    values = np.random.RandomState(0).standard_normal((3, 2))
    x = np.random.RandomState(1).standard_normal((5, 3))
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    start = static.initializer.NumpyArrayInitializer(values)
    with static.program_guard(main, startup):
        out = static.layers.fc(
            static.data("x", [None, 3], "float64"), 2, bias_attr=False,
            param_attr=static.WeightNormParamAttr(dim, "w", initializer=start),
        )  # fmt: skip
        SGD(0.5).minimize(static.layers.reduce_sum(out))
    executor = static.Executor()
    executor.run(startup, scope=scope)
    axes = tuple(i for i in range(2) if dim is None or i != dim % 2)
    norm = np.sqrt((values**2).sum(axis=axes, keepdims=True))
    np.testing.assert_allclose(scope.find_var("w_g").get().numpy(), norm, rtol=1e-12)
    (first,) = executor.run(main, {"x": x}, [out], scope=scope)
    np.testing.assert_allclose(first, x @ values, rtol=1e-10)
    slope = x.sum(axis=0)[:, None] * np.ones((1, 2))  # by w
    along = (slope * values).sum(axis=axes, keepdims=True) / norm  # by g
    by_v = slope - along * values / norm  # times g / ||v||, which is 1 at the start
    np.testing.assert_allclose(scope.find_var("w_g").get().numpy(), norm - 0.5 * along, rtol=1e-9)
    np.testing.assert_allclose(scope.find_var("w_v").get().numpy(), values - 0.5 * by_v, rtol=1e-9)


def test_weights_of_length_and_direction_refuse_other_axes():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 3])
        with pytest.raises(IndexError, match=r"dim must be in \[-2, 2\)"):
            static.layers.fc(x, 2, param_attr=static.WeightNormParamAttr(2))
