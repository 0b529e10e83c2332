"""Batch norm over 2 and 3 ranks beside one process with the joined batch."""

import numpy as np
import pytest

import dygraph
from dygraph import distributed, nn
from dygraph.errors import ArgumentTypeError, UnimplementedError
from jobs import start_job

SIZES = [3, 5, 0]  # samples of each rank; rank 2, if there is one, has none

NETS = (
    f"SIZES = {SIZES}\n"
    + """
def inputs(size, dtype="float32", seed=0):
    x = np.random.RandomState(seed).randn(sum(SIZES[:size]), 4, 3, 2) * 2 + 3
    return x.astype(dtype)

def net(kind, dtype):
    dygraph.seed(1)
    if kind == "plain":
        made = dygraph.nn.Sequential(dygraph.nn.BatchNorm(4, dtype=dtype))
    elif kind == "NHWC":
        made = dygraph.nn.Sequential(dygraph.nn.BatchNorm(2, data_layout="NHWC", dtype=dtype))
    else:
        norm = dygraph.nn.BatchNorm2D(4, act="relu", momentum=0.7, dtype=dtype)
        made = dygraph.nn.Sequential(norm)
    norm = made[0]
    norm.weight.set_value((np.arange(1.0, len(norm.weight) + 1) / 2).astype(dtype))
    norm.bias.set_value(np.linspace(-1, 1, len(norm.weight)).astype(dtype))
    return made

def run(made, x, second):
    x = dygraph.to_variable(x, stop_gradient=False)
    norm = made[0]
    out = []
    for step in range(2):
        y = made(x)
        loss = (y * dygraph.sin(x)).sum() + (y * y * y).sum() * 0.1
        if second:
            (g,) = dygraph.grad(loss, x, create_graph=True)
            loss = (g * g).sum() + loss
        for v in (x, norm.weight, norm.bias):
            v.clear_gradient()
        loss.backward()
        out = [y, x.grad, norm.weight.grad, norm.bias.grad, norm._mean, norm._variance]
    made.eval()
    return [v.numpy().tolist() for v in [*out, made(x)]]
"""
)

CASES = [("plain", "float32", False), ("NHWC", "float64", False), ("relu", "float32", False),
         ("plain", "float64", True)]  # fmt: skip

JOB = (
    NETS
    + f"CASES = {CASES}\n"
    + """
begin = sum(SIZES[: comm.rank])
result = []
for kind, dtype, second in CASES:
    x = inputs(comm.size, dtype)[begin : begin + SIZES[comm.rank]]
    if comm.rank == 1:  # the order of memory does not matter
        x = np.ascontiguousarray(x)
    made = distributed.convert_sync_batchnorm(net(kind, dtype))
    result.append(run(made, x, second))
calls = []
kept, distributed.Comm.all_reduce = distributed.Comm.all_reduce, (
    lambda self, value, *rest, **more: calls.append(len(value)) or kept(self, value, *rest, **more))
made = dygraph.distributed.SyncBatchNorm(4)
y = made(dygraph.to_variable(x.astype("float32"), stop_gradient=False))
forward = list(calls)
y.sum().backward()
text = ""
try:
    dygraph.jit.trace(made, [dygraph.ones([2, 4, 3, 2])])
except dygraph.errors.UnimplementedError as error:
    text = str(error)
result = dict(cases=result, forward=forward, all=calls, text=text)
"""
)


@pytest.mark.parametrize("size", [2, 3])
def test_equal_to_one_process_with_the_joined_batch(size, tmp_path):
    job = start_job(size, JOB, tmp_path)
    assert job.code == 0, job.err
    room = {"np": np, "dygraph": dygraph}
    exec(NETS, room)
    for i, (kind, dtype, second) in enumerate(CASES):
        whole = room["run"](room["net"](kind, dtype), room["inputs"](size, dtype), second)
        parts = [[np.array(v) for v in got["cases"][i]] for got in job.results]
        joined = [np.concatenate([p[k].reshape(-1, *np.shape(whole[k])[1:]) for p in parts])
                  for k in (0, 1, 6)]  # fmt: skip
        joined += [sum(p[k] for p in parts) for k in (2, 3)]
        limit = 1e-6 if dtype == "float32" else 1e-10
        for got, k in zip(joined, (0, 1, 6, 2, 3), strict=True):
            wanted = np.array(whole[k])
            assert np.abs(got - wanted).max() <= limit * np.abs(wanted).max(), (kind, k)
        for p in parts:  # the running values are equal on all ranks
            for k in (4, 5):
                np.testing.assert_allclose(p[k], whole[k], rtol=limit)
                assert p[k].tolist() == parts[0][k].tolist()
    for got in job.results:
        assert got["forward"] == [9] and got["all"][:2] == [9, 8]
        assert "a program cannot exchange numbers with other ranks" in got["text"]


def test_converting_keeps_parameters_and_shared_layers():
    norm = nn.BatchNorm1D(3, act="relu")
    net = nn.Sequential(nn.Linear(2, 3), norm, nn.LayerList([norm, nn.BatchNorm(3)]))
    before, names = net.parameters(), list(net.state_dict())
    new = distributed.SyncBatchNorm.convert_sync_batchnorm(net)
    assert new is net and net[1] is net[2][0] and net[1] is not norm
    assert all(a is b for a, b in zip(before, net.parameters(), strict=True))
    assert list(net.state_dict()) == names and net[1]._act_name == "relu"
    assert isinstance(distributed.convert_sync_batchnorm(norm), distributed.SyncBatchNorm)
    assert net[1](dygraph.ones([2, 3])).shape == (2, 3)
    with pytest.raises((ValueError, TypeError), match="SyncBatchNorm"):
        net[1](dygraph.ones([2, 3, 4, 4]))
    with pytest.raises(ArgumentTypeError, match="comm must be a Comm or None, got int"):
        distributed.SyncBatchNorm(3, comm=1)
    with pytest.raises(UnimplementedError, match="trainable_statistics"):
        distributed.convert_sync_batchnorm(nn.BatchNorm2D(3, trainable_statistics=True))
