"""jit.trace of whole steps of training: the program repeats the eager steps bit for bit."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid
from dygraph import jit, nn, optimizer, static
from dygraph import ops as F
from dygraph.static.program import OpRole
from program import steps
from program.models import numbers

lr = dygraph.lr
OPTIMIZERS = {
    "sgd": lambda p: optimizer.SGD(0.1, parameter_list=p),
    "momentum": lambda p: optimizer.Momentum(0.1, 0.9, parameter_list=p, use_nesterov=True),
    "adam": lambda p: optimizer.Adam(0.05, parameter_list=p),
    "adamw": lambda p: optimizer.AdamW(0.05, parameter_list=p, weight_decay=0.1),
    "adagrad": lambda p: optimizer.Adagrad(0.1, parameter_list=p),
    "adamax": lambda p: optimizer.Adamax(0.1, parameter_list=p),
    "adadelta": lambda p: optimizer.Adadelta(0.1, parameter_list=p),
    "decayed_adagrad": lambda p: optimizer.DecayedAdagrad(0.1, parameter_list=p),
    "rmsprop": lambda p: optimizer.RMSProp(0.1, parameter_list=p, centered=True, momentum=0.5),
    "ftrl": lambda p: optimizer.Ftrl(0.1, parameter_list=p),
    "lamb": lambda p: optimizer.Lamb(0.1, parameter_list=p),
    "lars": lambda p: optimizer.LarsMomentum(0.1, 0.9, parameter_list=p),
    "nadam": lambda p: optimizer.NAdam(0.1, parameter_list=p),
    "radam": lambda p: optimizer.RAdam(0.1, parameter_list=p),
    "dpsgd": lambda p: optimizer.Dpsgd(0.1, clip=1.0, batch_size=4.0, sigma=0.1, parameter_list=p),
    "decay": lambda p: optimizer.SGD(
        0.1, parameter_list=p, regularization=dygraph.regularizer.L2Decay(0.1)
    ),
    "l1 decay": lambda p: optimizer.Momentum(
        0.1, 0.9, parameter_list=p, regularization=dygraph.regularizer.L1Decay(0.1)
    ),
    "clip by value": lambda p: optimizer.SGD(
        0.1, parameter_list=p, grad_clip=nn.ClipGradByValue(0.01)
    ),
    "clip by norm": lambda p: optimizer.Adam(
        0.1, parameter_list=p, grad_clip=nn.ClipGradByNorm(0.05)
    ),
    "clip by global norm": lambda p: optimizer.Adam(
        0.1, parameter_list=p, grad_clip=nn.ClipGradByGlobalNorm(0.5)
    ),
    "clip that does nothing": lambda p: optimizer.SGD(
        0.1, parameter_list=p, grad_clip=nn.ClipGradByGlobalNorm(1e4)
    ),
    "schedule": lambda p: optimizer.SGD(fluid.dygraph.NoamDecay(16, 4), parameter_list=p),
    "schedule by number": lambda p: optimizer.Adam(
        fluid.dygraph.PiecewiseDecay([3, 5], [0.1, 0.01, 0.001], 0), parameter_list=p
    ),
    "groups": lambda p: optimizer.Momentum(
        0.1, 0.9,
        parameter_list=[
            {"params": p[:1], "learning_rate": 0.5, "weight_decay": 0.1}, {"params": p[1:]},
        ],
    ),
}  # fmt: skip

CASES = {
    **{name: steps.plain(make) for name, make in OPTIMIZERS.items()},
    "clear first": steps.plain(OPTIMIZERS["adam"], clear_first=True),
    "minimize": steps.plain(OPTIMIZERS["adam"], minimize=True),
    "dropout": steps.plain(OPTIMIZERS["sgd"], lambda: steps.mlp(dropout=0.3)),
    "batch_norm": steps.plain(OPTIMIZERS["momentum"], lambda: steps.mlp(norm=True)),
    "convnet": steps.convnet,
    "adversarial": steps.adversarial,
    "stale": steps.stale,
    "penalty": steps.penalty,
    "accumulating": steps.accumulating,
    "by hand": steps.by_hand,
    **{name: steps.between(use) for name, use in steps.WAYS.items()},
    **{
        f"sparse {name}": steps.sparse(OPTIMIZERS[name])
        for name in (
            "sgd", "momentum", "adam", "adamw", "adagrad", "rmsprop", "lamb", "decay",
            "clip by norm", "clip by global norm", "clip that does nothing",
        )
    },
}  # fmt: skip


def pair(name):
    """Two cases with equal weights."""
    cases = []
    for _ in range(2):
        dygraph.seed(5)
        cases.append(CASES[name]())
    return cases


def values(result):
    results = result if isinstance(result, (list, tuple)) else [result]
    return [v.numpy().tobytes() for v in results]


@pytest.mark.parametrize("name", CASES)
def test_the_program_makes_the_eager_steps(name):
    eager, case = pair(name)
    dygraph.seed(11)
    expected = [values(eager.step(*eager.inputs(4, 0)))]
    after_one = eager.states()
    for i, n in enumerate((4, 7, 1, 4), 1):
        expected.append(values(eager.step(*eager.inputs(n, i))))
    dygraph.seed(11)
    outputs, traced = jit.trace(case.step, case.inputs(4, 0))
    assert values(outputs) == expected[0]
    for want, got in zip(after_one, case.states(), strict=True):  # one step was made, not six
        np.testing.assert_array_equal(got, want)
    for i, n in enumerate((4, 7, 1, 4), 1):
        assert values(traced(*case.inputs(n, i))) == expected[i], f"step {i}"
    for want, got in zip(eager.states(), case.states(), strict=True):
        assert got.tobytes() == want.tobytes()


def test_a_step_by_hand_is_what_numpy_makes_of_it():
    w = dygraph.Parameter(numbers(3, 1), name="w_numpy")
    sgd = optimizer.Momentum(0.25, 0.5, parameter_list=[w])

    def step(x):
        loss = dygraph.mean(F.square(dygraph.matmul(x, w)))
        loss.backward()
        sgd.step()
        sgd.clear_gradients()
        return loss

    x, at, velocity = numbers(4, 3), numbers(3, 1).astype("float64"), 0.0
    _, traced = jit.trace(step, [dygraph.to_variable(x)])
    for i in range(4):
        if i:
            loss = traced(dygraph.to_variable(x))
            np.testing.assert_allclose(loss.numpy(), np.mean((x @ at) ** 2), rtol=1e-5)
        velocity = 0.5 * velocity + 2 * x.T @ (x @ at) / 4
        at = at - 0.25 * velocity
    np.testing.assert_allclose(w.numpy(), at, rtol=1e-5)


def test_names_and_roles_are_those_of_programs():
    case = steps.plain(OPTIMIZERS["clip by global norm"])()
    w = case.kept[0]
    _, traced = jit.trace(case.step, case.inputs(4, 0))
    block = traced.program.global_block()
    roles = {}
    for op in block.ops:
        if op.type not in ("feed", "fetch"):
            roles.setdefault(op.attr("op_role"), []).append(op.type)
    forward = roles[OpRole.Forward]
    assert "relu" in forward and not [t for t in forward if "grad" in t or t == "adamw"]
    assert roles[OpRole.Forward | OpRole.Loss] == ["reduce_mean"]
    assert roles[OpRole.Backward | OpRole.Loss] == ["fill_any_like"]
    assert "relu_grad" in roles[OpRole.Backward]
    update = roles[OpRole.Optimize]
    assert update.count("adamw") == 4 and "squared_l2_norm" in update
    (adam, *_) = [op for op in block.ops if op.type == "adamw"]
    assert adam.input("Param") == adam.output("ParamOut") == [w.name]
    assert adam.attr("op_role_var") == [w.name, adam.input("Grad")[0]]
    moment = f"{w.name}_moment1_0"
    assert adam.input("Moment1") == adam.output("Moment1Out") == [moment]
    assert adam.input("LearningRate") == ["learning_rate_0"]
    assert block.var(moment).persistable and block.var("learning_rate_0").persistable
    assert {p.name for p in traced.program.all_parameters()} == {p.name for p in case.kept}
    test = traced.program.clone(for_test=True)
    kept = {op.type for op in test.global_block().ops}
    assert not {"relu_grad", "adamw", "fill_any_like", "squared_l2_norm"} & kept and "relu" in kept


def test_a_penalty_on_gradients_is_forward_for_a_test():
    case = steps.penalty()
    loss, traced = jit.trace(case.step, case.inputs(4, 0))
    weights = [p.numpy() for p in case.kept]
    test = traced.program.clone(for_test=True)
    x, y = case.inputs(5, 3)
    (got,) = static.Executor().run(
        test, {"x": x.numpy(), "y": y.numpy()}, traced.fetch_names, scope=traced.scope
    )
    want = case.step(x, y)  # the loss before its update
    assert got.tobytes() == want.numpy().tobytes()
    assert not np.array_equal(weights[0], case.kept[0].numpy())


def test_an_executor_trains_the_eager_parameters():
    eager, case = pair("adam")
    eager.step(*eager.inputs(4, 0))
    _, traced = jit.trace(case.step, case.inputs(4, 0))
    executor = static.Executor()
    with static.scope_guard(static.Scope()):
        for i in (1, 2, 3):
            x, y = (v.numpy() for v in case.inputs(5, i))
            (loss,) = executor.run(traced.program, {"x": x, "y": y}, traced.fetch_names)
            assert loss.tobytes() == eager.step(*eager.inputs(5, i)).numpy().tobytes()
    for want, got in zip(eager.states(), case.states(), strict=True):
        assert got.tobytes() == want.tobytes()
    traced(*case.inputs(4, 9))  # and goes on from there
    eager.step(*eager.inputs(4, 9))
    assert case.kept[0].numpy().tobytes() == eager.kept[0].numpy().tobytes()


CHILD = """
    import sys
    import numpy as np
    import dygraph
    from dygraph import static

    traced = dygraph.jit.load(sys.argv[1])
    given = np.load(sys.argv[2])
    dygraph.seed(77)
    losses = []
    for i in range(3):
        losses.append(traced(*(dygraph.to_variable(given[f"{n}{i}"]) for n in "xy")).numpy())
    np.savez(sys.argv[3], losses=np.array(losses), weight=traced.scope.find_var(sys.argv[4]).get())
    traced.set_lr(0.0)
    weight = traced.scope.find_var(sys.argv[4]).get().numpy()
    traced(*(dygraph.to_variable(given[f"{n}0"]) for n in "xy"))
    assert np.array_equal(traced.scope.find_var(sys.argv[4]).get().numpy(), weight)
    assert not [name for name in sys.modules if name.endswith("program.steps")]
"""


@pytest.mark.parametrize("name", ["sgd", "dropout", "momentum", "sparse sgd"])
def test_another_process_trains_on(name, tmp_path):
    eager, case = pair(name)
    dygraph.seed(3)
    for i in range(2):
        eager.step(*eager.inputs(4, i))
    dygraph.seed(3)
    _, traced = jit.trace(case.step, case.inputs(4, 0))
    traced(*case.inputs(4, 1))
    traced.save(tmp_path / "step")
    arrays = {}
    dygraph.seed(77)
    losses = []
    for i in range(3):
        x, y = case.inputs(3 + i, 10 + i)
        arrays.update({f"x{i}": x.numpy(), f"y{i}": y.numpy()})
        losses.append(eager.step(x, y).numpy())
    np.savez(tmp_path / "given.npz", **arrays)
    paths = [str(tmp_path / name) for name in ("step", "given.npz", "out.npz")]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), *paths, case.kept[0].name],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as out:
        assert out["losses"].tobytes() == np.array(losses).tobytes()
        assert out["weight"].tobytes() == eager.kept[0].numpy().tobytes()


def test_the_learning_rate_is_a_variable():
    w = dygraph.Parameter(np.float32([1.0]))
    sgd = optimizer.SGD(0.5, parameter_list=[w])

    def step(x):
        loss = dygraph.sum(x * w)
        loss.backward()
        sgd.step()
        sgd.clear_gradients()
        return loss

    x = dygraph.to_variable(np.float32([[1.0]]))
    _, traced = jit.trace(step, [x])
    assert w.item() == 0.5
    sgd.set_lr(0.25)
    traced(x)
    assert w.item() == 0.25
    traced.set_lr(1.0)  # until the optimizer says otherwise
    assert w.item() == 0.25


def test_inference_from_a_step(tmp_path):
    model = steps.mlp(dropout=0.5, norm=True)
    adam = optimizer.Adam(0.01, parameter_list=model.parameters())

    def step(x, y):
        logits = model(x)
        loss = dygraph.mean(F.softmax_with_cross_entropy(logits, y))
        loss.backward()
        adam.step()
        adam.clear_gradients()
        return loss, logits

    case = steps.plain(OPTIMIZERS["sgd"])()
    _, traced = jit.trace(step, case.inputs(4, 0))
    traced(*case.inputs(6, 1))
    traced.save_inference_model(tmp_path, feed=[0], fetch=[1])
    model.eval()
    x = case.inputs(3, 2)[0]
    program, feeds, fetches = static.load_inference_model(tmp_path, scope=(scope := static.Scope()))
    types = {op.type for op in program.global_block().ops}
    assert feeds == ["x"] and not {"adamw", "reduce_mean", "relu_grad"} & types
    (got,) = static.Executor().run(program, {"x": x.numpy()}, fetches, scope=scope)
    assert got.tobytes() == model(x).numpy().tobytes()


def line(error, text):
    assert f"{__file__}:" in str(error.value) and text in str(error.value), str(error.value)


def test_what_a_step_may_not_do():
    case = steps.plain(OPTIMIZERS["sgd"])()
    before = [v.numpy() for v in case.kept]

    def refused(step, kind, text):
        with pytest.raises(kind) as error:
            jit.trace(step, case.inputs(4, 0))
        for want, got in zip(before, case.kept, strict=True):  # nothing has happened
            np.testing.assert_array_equal(got.numpy(), want)
        return error

    def shows(x, y):
        loss = case.step(x, y)
        print(float(loss))
        return loss

    line(refused(shows, RuntimeError, ""), "in shows")

    def stops(x, y):
        loss = case.step(x, y)
        if loss > 100:
            return loss * 2
        return loss

    line(refused(stops, RuntimeError, ""), "in stops")
    average = optimizer.ExponentialMovingAverage(0.9, parameter_list=case.kept)

    def averages(x, y):
        loss = case.step(x, y)
        average.update()
        return loss

    line(refused(averages, RuntimeError, ""), "ExponentialMovingAverage.update: it counts steps")
    (sgd,) = case.optimizers

    def moves(x, y):
        sgd.set_lr(sgd.get_lr() / 2)
        return case.step(x, y)

    error = refused(moves, RuntimeError, "")
    assert "the learning rate of SGD must not be changed" in str(error.value)
    counter = []

    def counts(x, y):
        counter.append(1)
        return case.step(x, y) * float(len(counter))

    error = refused(counts, ValueError, "")
    assert "must not depend on the batch size" in str(error.value) or "differs" in str(error.value)


def test_state_kept_in_python_is_noticed():
    class Counter(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.last = dygraph.to_variable(np.float32([0.0]))

        def forward(self, x):
            self.last = self.last + dygraph.mean(x)
            return x + self.last

    with pytest.raises((RuntimeError, ValueError), match="differs"):
        jit.trace(Counter(), [dygraph.to_variable(numbers(4, 2))])
