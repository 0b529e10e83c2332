"""`jit.compile`: the bits of eager steps, and what changes outside is noticed."""

import copy
import warnings

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph import ops as F

ROWS = np.linspace(-1, 1, 20, dtype="float32").reshape(5, 4)


def x_of(rows=5, factor=1.0):
    return dygraph.to_variable(ROWS[:rows] * np.float32(factor))


class Trainer:
    """A network, an optimizer and a step, all from equal weights."""

    def __init__(self, optimizer=dygraph.optimizer.Adam, dropout=0.0, rate=0.1, norm=False):
        dygraph.seed(5)
        with dygraph.unique_name.guard():
            self.net = nn.Sequential(
                nn.Linear(4, 6), nn.BatchNorm1D(6) if norm else nn.ReLU(), nn.Dropout(dropout),
                nn.Linear(6, 2),
            )  # fmt: skip
        for i, parameter in enumerate(self.net.parameters()):
            values = np.cos(np.arange(parameter.size) + i).reshape(parameter.shape)
            parameter.set_value(values.astype("float32"))
        self.optimizer = optimizer(rate, parameter_list=self.net.parameters())
        dygraph.seed(9)

    def step(self, x):
        loss = (self.net(x) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_gradients()
        return loss

    def bits(self):
        states = [*self.net.parameters(), *self.net.buffers()]
        return [v.numpy().tobytes() for v in states]


def both(change=None, calls=8, sizes=(5,), **options):
    """Losses and weights of an eager and of a compiled step; `change` is called before call 5."""
    found = []
    for compiled in (False, True):
        trainer = Trainer(**options)
        step = dygraph.jit.compile(trainer.step) if compiled else trainer.step
        losses = []
        for k in range(calls):
            if k == 5 and change:
                change(trainer)
            losses.append(step(x_of(sizes[k % len(sizes)])).numpy().tobytes())
        found.append((losses, trainer.bits()))
    return (*found, step)


@pytest.mark.parametrize(
    "options",
    [{}, {"dropout": 0.4}, {"norm": True}, {"optimizer": dygraph.optimizer.SGD}],
    ids=lambda options: str(list(options)),
)
def test_a_training_step_has_the_bits_of_eager_ones(options):
    eager, compiled, step = both(**options)
    assert compiled == eager
    assert step.cache_info()[:4] == (5, 3, 1, 8) and step.cache_info().seconds > 0


def test_the_first_step_of_sgd_is_numpys():
    w = dygraph.Parameter(np.array([1.0, -2.0], "float32"))
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])

    @dygraph.jit.compile
    def step(x):
        loss = (w * x).sum()
        loss.backward()
        sgd.step()
        sgd.clear_gradients()
        return loss

    want = np.array([1.0, -2.0], "float32")
    for k in range(6):
        x = np.array([k, 2.0], "float32")
        np.testing.assert_allclose(step(dygraph.to_variable(x)).item(), (want * x).sum())
        want = want - np.float32(0.5) * x
        np.testing.assert_array_equal(w.numpy(), want)


def new_weight(trainer):
    trainer.net[0].weight = dygraph.Parameter(np.ones((4, 6), "float32"))
    trainer.optimizer = dygraph.optimizer.SGD(0.1, parameter_list=trainer.net.parameters())


CHANGES = {
    "set_value": lambda t: t.net[0].weight.set_value(np.ones((4, 6), "float32")),
    "set_state_dict": lambda t: t.net.set_state_dict(Trainer(rate=0.3).net.state_dict()),
    "set_lr": lambda t: t.optimizer.set_lr(0.01),
    "eval": lambda t: t.net[2].eval(),
    "train": lambda t: (t.net.eval(), t.net.train()),
    "a new weight": new_weight,
    "a frozen weight": lambda t: setattr(t.net[0].weight, "stop_gradient", True),
    "another layer": lambda t: t.net.__setitem__(1, nn.Tanh())
    if hasattr(t.net, "__setitem__") else t.net.add_sublayer("1", nn.Tanh()),
    "another rule": lambda t: setattr(t.optimizer, "_grad_clip", nn.ClipGradByNorm(0.01)),
    "the seed": lambda t: dygraph.seed(77),
    "a held copy": lambda t: setattr(t, "held", [copy.deepcopy(p) for p in t.net.parameters()]),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_outside_is_noticed(change):
    eager, compiled, step = both(CHANGES[change], calls=11, dropout=0.3)
    assert compiled == eager, step.explain()


def test_a_schedule_gives_the_rate():
    def train(compiled):
        trainer = Trainer(rate=dygraph.lr.StepDecay(0.5, 2, 0.1))
        step = dygraph.jit.compile(trainer.step) if compiled else trainer.step
        losses = []
        for _ in range(7):
            losses.append(step(x_of()).item())
            trainer.optimizer._learning_rate.step()
        return losses

    assert train(True) == train(False)


def test_sizes_are_served_by_a_cache():
    trainer, twin = Trainer(), Trainer()
    step = dygraph.jit.compile(trainer.step, size=2)
    for rows in [5] * 4 + [3] * 4 + [5, 3, 5] + [2] * 4 + [3, 5]:
        assert step(x_of(rows)).item() == twin.step(x_of(rows)).item()
    info = step.cache_info()
    assert info.programs == 2 and info.size == 2
    text = step.explain().splitlines()
    assert text[0] == "step([5, 4]): begins: the first call"
    assert "step([3, 4]): begins: other sizes than ((5, 4),)" in text
    assert any("drops the program that ran longest ago" in line for line in text)
    step.clear()
    assert step.cache_info()[:3] == (0, 0, 0) and step.explain() == ""


def test_structures_constants_and_keywords():
    @dygraph.jit.compile
    def parts(x, scale=1.0, plus=None):
        y = x * scale if plus is None else x * scale + plus
        return {"sum": y.sum(), "both": (y, [y + 1.0, None])}

    with dygraph.no_grad():
        for scale in (2.0, 3.0):
            for k in range(5):
                found = parts(x_of(factor=k), scale=scale, plus=x_of())
                want = ROWS * np.float32(k) * np.float32(scale) + ROWS
                np.testing.assert_allclose(found["both"][0].numpy(), want, rtol=1e-6)
                np.testing.assert_allclose(found["both"][1][0].numpy(), want + 1, rtol=1e-6)
                assert found["both"][1][1] is None and list(found) == ["sum", "both"]
    assert parts.cache_info().programs == 2


def test_a_method_and_a_layer():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)

        @dygraph.jit.compile
        def apply(self, x):
            return self.linear(x)

    one, two = Net(), Net()
    one.eval(), two.eval()
    with dygraph.no_grad():
        for k in range(5):
            x = x_of(factor=k)
            for net in (one, two):
                assert net.apply(x).tolist() == net.linear(x).tolist()
        compiled = dygraph.jit.compile(one.linear)
        assert [compiled(x_of()).tolist() for _ in range(4)] == [one.linear(x_of()).tolist()] * 4


COUNTER = [0.0]


def test_state_in_python_is_not_frozen():
    def counted(x):
        COUNTER[0] += 1.0
        return x * COUNTER[0]

    step = dygraph.jit.compile(counted)
    COUNTER[0] = 0.0
    step(x_of()), step(x_of())
    with pytest.raises(RuntimeError, match="do the same in each call"):
        step(x_of())
    np.random.seed(0)
    step = dygraph.jit.compile(lambda x: x * float(np.random.rand()))
    step(x_of()), step(x_of())
    with pytest.raises(RuntimeError, match="random numbers outside of dygraph"):
        step(x_of())


def test_what_changes_each_time_runs_eagerly_and_warns():
    values = {"scale": 0.0}
    step = dygraph.jit.compile(lambda x: x * values["scale"])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for k in range(30):
            values["scale"] = float(k)
            assert step(x_of()).tolist() == (x_of() * float(k)).tolist()
    assert any("values['scale'] changed" in str(w.message) for w in seen) or any(
        "changed" in str(w.message) for w in seen
    )
    assert step.cache_info().hits == 0


def reads(x):
    return x * float(x.mean())


WEIGHT = dygraph.Parameter(np.ones(4, "float32"))


def keeps_gradient(x):
    return x * WEIGHT


@pytest.mark.parametrize(
    ("function", "arguments", "error", "text"),
    [
        (reads, lambda: [x_of()], RuntimeError, "float"),
        (keeps_gradient, lambda: [x_of()], RuntimeError, "must call backward"),
        (lambda x: x * 2, lambda: [ROWS], TypeError, "to_variable"),
        (lambda x: x.add_(x), lambda: [x_of()], RuntimeError, "must not write to its arguments"),
        (lambda x: "text", lambda: [x_of()], TypeError, "must return Variables"),
        (
            lambda x: x * 2,
            lambda: [dygraph.to_variable(ROWS, lod=[[0, 2, 5]])], RuntimeError, "levels of detail",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled_raises(function, arguments, error, text):
    step = dygraph.jit.compile(function)
    with pytest.raises(error, match=text):
        for _ in range(3):
            step(*arguments())


def test_an_error_leaves_the_state():
    trainer = Trainer()

    def step(x):
        loss = (trainer.net(x) ** 2).mean()
        loss.backward()
        trainer.optimizer.step()
        trainer.optimizer.clear_gradients()
        return loss + 0.0 if float(loss.detach()) < 0 else loss  # which no program can follow

    compiled = dygraph.jit.compile(step)
    compiled(x_of())
    before = trainer.bits()
    with pytest.raises(RuntimeError):
        compiled(x_of())
    assert trainer.bits() == before


def test_results_outlive_the_next_call():
    with dygraph.no_grad():
        step = dygraph.jit.compile(lambda x: [F.exp(x), F.exp(x).reshape([-1])])
        kept = [step(x_of(factor=k)) for k in range(7)]
    for k, (one, two) in enumerate(kept):
        np.testing.assert_allclose(one.numpy(), np.exp(ROWS * np.float32(k)), rtol=1e-6)
        np.testing.assert_array_equal(two.numpy(), one.numpy().reshape(-1))


def test_the_flag_prints_when_and_why(capfd):
    dygraph.set_flags({"FLAGS_log_compiles": True})
    try:
        step = dygraph.jit.compile(lambda x: x * 2)
        for _ in range(4):
            step(x_of())
    finally:
        dygraph.set_flags({"FLAGS_log_compiles": False})
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2 and "begins: the first call" in lines[0] and "compiled" in lines[1]


def test_wrong_arguments():
    with pytest.raises(TypeError, match="must be a function or a Layer"):
        dygraph.jit.compile(3)
    with pytest.raises(TypeError, match="verify must be a bool"):
        dygraph.jit.compile(abs, verify=1)
    with pytest.raises(ValueError, match="size"):
        dygraph.jit.compile(abs, size=0)
    with pytest.raises(RuntimeError, match="called three times"):
        dygraph.jit.compile(reads).program  # noqa: B018


@pytest.mark.parametrize("kind", ["TracedLayer", "Predictor", "Executor"])
def test_another_program_inside_is_refused(kind, tmp_path):
    """Its result would be a constant of the recorded one."""
    linear = nn.Linear(3, 2)
    traced = dygraph.jit.trace(linear, [dygraph.ones([4, 3])])[1]
    traced.save_inference_model(tmp_path)
    predictor = dygraph.inference.Predictor(tmp_path)
    scope = static.Scope()
    program, (feed,), fetches = static.load_inference_model(str(tmp_path), scope=scope)
    run = {
        "TracedLayer": traced,
        "Predictor": lambda x: predictor.run([x], return_numpy=False)[0],
        "Executor": lambda x: static.Executor().run(
            program, {feed: x}, fetches, scope=scope, return_numpy=False
        )[0],
    }[kind]
    step = dygraph.jit.compile(lambda x: run(x) * 2.0)
    x = dygraph.ones([4, 3])
    with dygraph.no_grad():
        np.testing.assert_array_equal(step(x).numpy(), linear(x).numpy() * 2)
        with pytest.raises(RuntimeError, match="a feed of a value that is being recorded"):
            step(x)
