"""Places by name, moving values and layers, operators on mixed places."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import nn, static
from dygraph.errors import ArgumentTypeError, OutOfRangeError

PLACE = cuda_library.place()
CPU, PINNED = dygraph.CPUPlace(), dygraph.CUDAPinnedPlace()
pytestmark = [
    pytest.mark.skipif(PLACE is None, reason="no CUDA library"),
    pytest.mark.filterwarnings("ignore:.*has no kernel for CUDAPlace"),
]


@pytest.fixture(autouse=True)
def back_to_the_host():
    yield
    dygraph.set_device("cpu")


@pytest.mark.parametrize("name", ["gpu", "gpu:0", "cuda", "CUDA:0", PLACE])
def test_set_device_takes_names_and_places(name):
    assert dygraph.set_device(name) == PLACE
    assert dygraph.get_device() == "gpu:0"
    assert dygraph.zeros([2]).place == dygraph.to_variable([1.0]).place == PLACE
    assert nn.Linear(2, 3).weight.place == PLACE
    assert dygraph.set_device("cpu") == CPU and dygraph.get_device() == "cpu"
    assert dygraph.zeros([2]).place == CPU


@pytest.mark.parametrize("name", ["tpu", "gpu:x", "gpu:", 0, None, 1.5])
def test_what_names_no_device_is_refused(name):
    with pytest.raises(ArgumentTypeError, match="set_device: device must be a place"):
        dygraph.set_device(name)


def test_a_device_that_is_not_there_is_refused():
    n = dygraph.cuda.device_count()
    with pytest.raises(OutOfRangeError, match="below that of the devices"):
        dygraph.set_device(f"gpu:{n}")
    assert dygraph.get_device() == "cpu"


def test_guards_take_names_and_nest():
    with dygraph.guard("gpu"):
        assert dygraph.get_device() == "gpu:0"
        with dygraph.guard(CPU):
            assert dygraph.zeros([1]).place == CPU
        assert dygraph.zeros([1]).place == PLACE
    assert dygraph.get_device() == "cpu"
    with dygraph.guard(dygraph.CUDAPlace(0)):
        assert dygraph.rand([2]).place == PLACE
    dygraph.enable_dygraph("gpu")
    assert dygraph.get_device() == "gpu:0"
    dygraph.disable_dygraph()
    assert dygraph.get_device() == "cpu"


def test_lists_of_places():
    assert dygraph.is_compiled_with_cuda() is static.is_compiled_with_cuda() is True
    assert dygraph.cuda_places()[0] == PLACE
    assert len(dygraph.cuda_places()) == dygraph.cuda.device_count()
    assert dygraph.cuda_places([0]) == static.cuda_places([0]) == [PLACE]
    assert dygraph.cpu_places(2) == [CPU, CPU]
    assert dygraph.cuda_pinned_places(1) == [PINNED]


def test_variables_move():
    x = dygraph.to_variable(np.arange(3.0))
    y = x.cuda()
    assert y.place == y.device == PLACE and y.is_cuda and not x.is_cuda
    assert y.cuda() is y and y.cuda(0) is y and y.cuda("gpu:0") is y and x.cpu() is x
    assert y.cpu().tolist() == y.to("cpu").tolist() == [0.0, 1.0, 2.0]
    assert x.to("gpu").place == x.to(PLACE).place == PLACE
    assert y.to("float32").place == PLACE
    z = x.pin_memory()
    assert z.place == PINNED and z.is_pinned() and z.cuda().tolist() == x.tolist()
    for wrong in ("cpu", 1.5, PINNED):
        with pytest.raises(ArgumentTypeError, match="cuda: device must be a"):
            x.cuda(wrong)


def test_a_move_to_another_place_keeps_the_lod():
    x = dygraph.to_variable(np.ones((5, 1), "float32"), lod=[[0, 2, 5]])
    assert x.cuda().lod() == x.pin_memory().lod() == x.cuda().cpu().lod() == [[0, 2, 5]]


def test_pinned_values_are_the_hosts_to_operators():
    x = dygraph.to_variable(np.arange(6.0).reshape(2, 3)).pin_memory()
    x.stop_gradient = False
    y = (x * x).sum()
    assert y.place == CPU and y.item() == 55.0
    y.backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert (x + dygraph.ones([2, 3]).astype("float64")).place == CPU
    assert dygraph.concat([x, x.cpu()]).shape == (4, 3)
    images = dygraph.ones([1, 2, 3, 3]).pin_memory()
    assert nn.Conv2D(2, 3, 3)(images).shape == (1, 3, 1, 1)
    x.stop_gradient = True
    x[0] = 7.0
    assert x.tolist()[0] == [7.0] * 3


def test_one_device_input_brings_the_others_there_and_counts():
    host, there = dygraph.ones([2, 3]), dygraph.ones([2, 3]).cuda()
    before = dygraph.cuda.counts()
    for y in (host + there, there + host, there + host.pin_memory()):
        assert y.place == PLACE
    after = dygraph.cuda.counts()
    assert after["moved_inputs"] == before["moved_inputs"] + 3
    assert after["copies_in"] == before["copies_in"] + 3
    there + there
    assert dygraph.cuda.counts()["moved_inputs"] == after["moved_inputs"]


def test_layers_move_with_their_optimizers():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Linear(4, 1))
    momentum = dygraph.optimizer.Momentum(0.1, 0.9, net.parameters())
    x = dygraph.to_variable(np.random.default_rng(0).normal(size=(8, 3)).astype("float32"))

    def step(x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        momentum.step()
        momentum.clear_grad()
        return loss.item()

    losses = [step(x)]
    for move in (lambda: net.cuda(), lambda: net.cpu(), lambda: net.to("gpu:0")):
        assert move() is net
        places = {v.place for v in [*net.parameters(), *net.buffers()]}
        assert len(places) == 1
        losses.append(step(x.to(places.pop())))
    assert net.cuda(0)[0].weight.place == PLACE and net.to(CPU)[0].weight.place == CPU
    assert losses == sorted(losses, reverse=True)


def test_the_same_losses_on_both_places():
    def train(place):
        with dygraph.guard(place, seed=3):
            net = nn.Sequential(nn.Linear(3, 8, act="relu"), nn.Linear(8, 1))
            adam = dygraph.optimizer.Adam(0.01, parameter_list=net.parameters())
            x = dygraph.to_variable(np.random.default_rng(1).normal(size=(16, 3)).astype("float32"))
            losses = []
            for _ in range(10):
                loss = (net(x) ** 2).mean()
                loss.backward()
                adam.step()
                adam.clear_grad()
                losses.append(loss)
            return [loss.item() for loss in losses]

    np.testing.assert_allclose(train(PLACE), train(CPU), rtol=1e-5)


def test_a_child_of_fork_must_not_use_the_device():
    code = """
import os, sys
sys.path.insert(0, sys.argv[1])
import cuda_library, dygraph
place = cuda_library.place()
x = dygraph.ones([2]).to(place)
pid = os.fork()
if pid == 0:
    try:
        dygraph.ones([2]).to(place)
    except dygraph.errors.PreconditionNotMetError as error:
        print("refused:", error, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print((x + x).tolist())
"""
    out = subprocess.run(
        [sys.executable, "-c", code, str(Path(cuda_library.__file__).parent)],
        capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    refused, after = out.stdout.splitlines()
    assert "must not be used in a child of fork()" in refused and "spawn" in refused
    assert after == "[2.0, 2.0]"


@pytest.mark.skipif(
    PLACE is None or not cuda_library.is_pretended(), reason="needs the pretended CUDA"
)
def test_several_devices():
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import cuda_library, dygraph
from dygraph import cuda
cuda_library.place()
assert cuda.device_count() == 2 and len(dygraph.cuda_places()) == 2
dygraph.set_device("gpu:1")
x = dygraph.to_variable([1.0, 2.0])
assert dygraph.get_device() == "gpu:1" and x.place == dygraph.CUDAPlace(1)
assert x.__dlpack_device__() == (2, 1)
y = x.cuda(0)
assert y.place == dygraph.CUDAPlace(0) and (y + x).tolist() == [2.0, 4.0]
z = dygraph.from_dlpack(x)
assert z.place == dygraph.CUDAPlace(1)
assert x.cuda().place == dygraph.CUDAPlace(1)
"""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(Path(cuda_library.__file__).parent)],
        check=True, env={**os.environ, "PRETEND_CUDA_DEVICES": "2", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
