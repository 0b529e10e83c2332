"""What is saved on a device loads on the host, and the other way round; programs on a device."""

import copy
import pickle

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import checkpoint, nn, static

PLACE = cuda_library.place()
HOST = dygraph.CPUPlace()
pytestmark = [
    pytest.mark.skipif(PLACE is None, reason="no CUDA library"),
    pytest.mark.filterwarnings("ignore:.*has no kernel for CUDAPlace"),
]
BOTH_WAYS = pytest.mark.parametrize("here, there", [(PLACE, HOST), (HOST, PLACE)])
X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


def made(place, steps=0):
    """A network and its optimizer after some steps, on a place."""
    with dygraph.guard(place, seed=2):
        net = nn.Sequential(nn.BatchNorm1D(3), nn.Linear(3, 4, act="tanh"), nn.Linear(4, 1))
        adam = dygraph.optimizer.Adam(0.01, parameter_list=net)
        train(place, net, adam, steps)
    return net, adam


def train(place, net, rule, steps):
    with dygraph.guard(place):
        for _ in range(steps):
            loss = (net(dygraph.to_variable(X)) ** 2).mean()
            loss.backward()
            rule.step()
            rule.clear_grad()


def numbers(net):
    return {name: value.numpy() for name, value in net.state_dict().items()}


def assert_close(found, wanted):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=1e-6, err_msg=name)


@BOTH_WAYS
def test_states_cross(here, there, tmp_path):
    net, adam = made(here, 3)
    dygraph.save(net.state_dict(), tmp_path / "net.pdparams")
    dygraph.save(adam.state_dict(), tmp_path / "net.pdopt")
    other, rule = made(there)
    other.set_state_dict(dygraph.load(tmp_path / "net.pdparams"))
    rule.set_state_dict(dygraph.load(tmp_path / "net.pdopt"))
    for name, value in numbers(net).items():
        np.testing.assert_array_equal(numbers(other)[name], value)
    assert {p.place for p in other.parameters()} == {there}
    train(here, net, adam, 2)
    train(there, other, rule, 2)
    assert_close(numbers(other), numbers(net))


@BOTH_WAYS
def test_checkpoints_cross(here, there, tmp_path):
    net, adam = made(here, 2)
    checkpoint.save(tmp_path / "two", net, adam, step=2)
    other, rule = made(there)
    checkpoint.load(tmp_path / "two", other, rule)
    assert_close(numbers(other), numbers(net))
    assert {p.place for p in other.parameters()} == {there}


@BOTH_WAYS
def test_variables_are_written_and_read(here, there, tmp_path):
    with dygraph.guard(here):
        values = {"a": dygraph.to_variable(X), "b": [dygraph.ones([2])]}
        dygraph.save(values, tmp_path / "values")
    with dygraph.guard(there):
        found = dygraph.load(tmp_path / "values")
    np.testing.assert_array_equal(np.asarray(found["a"]), X)


def described():
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 4
    with dygraph.unique_name.guard(), static.program_guard(main, startup):
        x = static.data("x", [None, 3])
        y = static.layers.fc(static.layers.fc(x, 8, act="relu"), 1)
        loss = static.layers.mean(static.layers.square(y))
        test = main.clone(for_test=True)
        static.optimizer.Adam(0.01).minimize(loss)
    return main, startup, test, y, loss


def run(place, steps=5, folder=None):
    main, startup, test, y, loss = described()
    with static.scope_guard(static.Scope()):
        exe = static.Executor(place)
        exe.run(startup)
        losses = [exe.run(main, {"x": X}, [loss])[0].item() for _ in range(steps)]
        if folder is not None:
            static.io.save_inference_model(str(folder), ["x"], [y], exe, test)
            static.io.save_persistables(exe, str(folder / "all"), main)
        (out,) = exe.run(test, {"x": X}, [y])
    return losses, out


def test_programs_run_on_the_device():
    (found, out), (wanted, expected) = run(PLACE), run(HOST)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-6)


@BOTH_WAYS
def test_inference_models_cross(here, there, tmp_path):
    _, wanted = run(here, folder=tmp_path)
    with static.scope_guard(static.Scope()):
        exe = static.Executor(there)
        program, feeds, fetches = static.io.load_inference_model(str(tmp_path), exe)
        (found,) = exe.run(program, {feeds[0]: X}, fetches)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


@BOTH_WAYS
def test_persistables_cross(here, there, tmp_path):
    _, wanted = run(here, folder=tmp_path)
    main, startup, test, y, _ = described()
    with static.scope_guard(static.Scope()):
        exe = static.Executor(there)
        exe.run(startup)
        static.io.load_persistables(exe, str(tmp_path / "all"), main)
        (found,) = exe.run(test, {"x": X}, [y])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_feeds_may_lie_anywhere():
    _, startup, test, y, _ = described()
    with static.scope_guard(static.Scope()):
        exe = static.Executor(PLACE)
        exe.run(startup)
        x = dygraph.to_variable(X)
        outs = [exe.run(test, {"x": v}, [y])[0] for v in (X, x, x.cuda(), x.pin_memory())]
    for out in outs[1:]:
        np.testing.assert_array_equal(out, outs[0])


def test_pickles_of_variables_on_a_device():
    x = dygraph.to_variable(X).cuda()
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        np.testing.assert_array_equal(other.numpy(), X)
