"""ShardedOptimizer on 2 to 4 ranks: the bits of the optimizer itself, states that load anywhere."""

import copy

import numpy as np
import pytest

import dygraph
from dygraph import distributed, nn, optimizer
from dygraph.distributed.sharded import divide
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
)
from jobs import start_job

# Runs in one process, undivided, and on ranks: gradients are functions of (step, rank).
MODEL = """
import hashlib
KINDS = ("adam", "clip", "decay", "wide")
class Net(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.table = dygraph.nn.Embedding((20, 3), is_sparse=True)
        self.fc = dygraph.nn.Linear(3, 50)
        self.out = dygraph.nn.Linear(50, 2)
        self.late = dygraph.nn.Linear(50, 2)
        self.unused = dygraph.nn.Linear(7, 7)

    def forward(self, ids, late):
        x = self.fc(self.table(ids).sum(1)).tanh()
        return self.out(x) + (self.late(x) if late else 0.0)

def rule(kind, net):
    dygraph.seed(0)
    clip = dygraph.nn.ClipGradByGlobalNorm(0.05)
    decay = dygraph.lr.StepDecay(0.1, step_size=2)
    make = {
        "adam": lambda: dygraph.optimizer.Adam(decay, parameter_list=net),
        "clip": lambda: dygraph.optimizer.Momentum(0.1, 0.9, parameter_list=net, grad_clip=clip),
        "decay": lambda: dygraph.optimizer.AdamW(decay, parameter_list=net, weight_decay=0.1),
        "wide": lambda: dygraph.optimizer.Momentum(
            0.1, 0.9, parameter_list=net, regularization=dygraph.regularizer.L2Decay(0.1)),
    }
    return make[kind](), decay

def samples(step, ranks, rank=None):
    numbers = np.random.RandomState(step).randint(0, 20, (12, 2))
    return numbers if rank is None else numbers[rank * 12 // ranks : (rank + 1) * 12 // ranks]

def step(net, sgd, decay, number, ids):
    net(dygraph.to_variable(ids), late=number > 2).square().mean().backward()
    sgd.step()
    sgd.clear_gradients()
    decay.step()

def digest(values):
    whole = hashlib.sha256()
    for v in values:
        whole.update(np.ascontiguousarray(v.numpy()).tobytes())
    return whole.hexdigest()

def net_of(kind):
    dygraph.seed(3)
    return Net().to(dtype="float64") if kind == "wide" else Net()
"""
JOB = (
    MODEL
    + """
result = {}
for kind in KINDS:
    for average in (False, True):
        net = net_of(kind)
        inner, decay = rule(kind, net)
        sgd = distributed.ShardedOptimizer(inner, average_gradients=average)
        for number in range(5):
            # whole gradients: every rank computes the joined batch, as if they had been averaged
            ids = samples(number, comm.size, comm.rank if average else None)
            step(net, sgd, decay, number, ids)
            if number == 3:
                state = {k: v if k == "LR_Scheduler" else v.clone()
                         for k, v in sgd.state_dict().items()}
                kept = [v.numpy() for v in net.parameters()]
        values = digest(net.parameters())
        whole = sgd.state_dict()
        local = sgd.local_state_dict()
        own, every = (
            sum(v.size for k, v in d.items() if k != "LR_Scheduler") for d in (local, whole))
        # once more from the state after step 3
        again = net_of(kind)
        for p, v in zip(again.parameters(), kept):
            p.set_value(v)
        inner, decay = rule(kind, again)
        sgd = distributed.ShardedOptimizer(inner, average_gradients=average)
        sgd.set_state_dict(state)
        if kind == "clip":
            decay = dygraph.lr.StepDecay(0.1, step_size=2)
        step(again, sgd, decay, 4, ids)
        result[f"{kind} {average}"] = dict(
            values=values, again=digest(again.parameters()), own=own, every=every,
            parameters=[v.tolist() for v in net.parameters()],
            state=digest(v for k, v in whole.items() if k != "LR_Scheduler"),
            names=[k for k in whole if k != "LR_Scheduler"], local=list(local),
            owners=[sgd.owner_of(p) for p in again.parameters()])
try:
    rule = distributed.ClipGradByGlobalNorm(1.0)
    rule.clip([(net.fc.weight, dygraph.ones([3, 50]))])
except dygraph.errors.InvalidArgumentError as error:
    result["text"] = str(error)
forgotten = distributed.ShardedOptimizer(dygraph.optimizer.SGD(0.1, parameter_list=net))
try:
    step(net, forgotten, decay, 4, samples(4, comm.size, comm.rank))
except dygraph.errors.PreconditionNotMetError as error:
    result["forgotten"] = str(error)
apart = [dygraph.Parameter(np.full(3, comm.rank, "float32"))]
apart[0].grad = dygraph.ones([3])
forgotten = dygraph.optimizer.SGD(0.1, parameter_list=apart)
try:
    distributed.ShardedOptimizer(forgotten, average_gradients=True).step()
except dygraph.errors.PreconditionNotMetError as error:
    result["apart"] = str(error)
comm.broadcast(apart[0])
forgotten.step()
result["joined"] = apart[0].tolist()
net.clear_gradients()
p = dygraph.Parameter([3.0, 4.0], name=f"own_{comm.rank}")
((_, limited),) = distributed.ClipGradByGlobalNorm(5.0).clip([(p, p.detach())])
result["limited"] = limited.tolist()
# parameters that join later, and a state measured by the allocator
dygraph.seed(9)
big = [dygraph.Parameter(np.ones((250_000,), "float32"), name=f"big_{i}") for i in range(12)]
sgd = distributed.ShardedOptimizer(dygraph.optimizer.Adam(0.1, parameter_list=big[:8]))
sgd.add_param_group({"params": big[8:], "learning_rate": 0.5})
for i, p in enumerate(big):
    p.grad = dygraph.to_variable(np.full(250_000, i + 1, "float32"))
before = dygraph.memory.used()
sgd.step()
result["grown"] = dygraph.memory.used() - before
result["big"] = [p.numpy()[:2].tolist() for p in big]
result["big_owners"] = [sgd.owner_of(p) for p in big]
"""
)


@pytest.fixture(scope="module")
def undivided():
    """What the optimizers themselves do in one process: parameters and states, by kind."""
    room = {"np": np, "dygraph": dygraph}
    exec(MODEL, room)
    found = {}
    for kind in room["KINDS"]:
        net = room["net_of"](kind)
        rule, decay = room["rule"](kind, net)
        for number in range(5):
            room["step"](net, rule, decay, number, room["samples"](number, 1))
        state = {k: v for k, v in rule.state_dict().items() if k != "LR_Scheduler"}
        digest = room["digest"]
        found[kind] = digest(net.parameters()), [v.tolist() for v in net.parameters()], state
        found[kind] += (digest(state.values()),)
    return found


@pytest.mark.parametrize("size", [2, 3])
def test_bits_of_the_undivided_optimizer(size, tmp_path, undivided):
    job = start_job(size, JOB, tmp_path)
    assert job.code == 0, job.err
    for kind, (values, parameters, state, of_state) in undivided.items():
        whole = [got[f"{kind} False"] for got in job.results]
        averaged = [got[f"{kind} True"] for got in job.results]
        for rank in range(size):
            got = whole[rank]
            # parameters, the collected state, its order, and a run that was resumed
            assert got["values"] == got["again"] == values, (kind, rank)
            assert got["state"] == of_state and got["names"] == list(state)
            assert averaged[rank]["values"] == averaged[rank]["again"] == averaged[0]["values"]
            limit = 1e-6 if kind != "wide" else 1e-12
            for a, b in zip(averaged[rank]["parameters"], parameters, strict=True):
                np.testing.assert_allclose(a, b, rtol=limit, atol=limit)
            assert got["owners"] == whole[0]["owners"] and {*got["owners"]} == {*range(size)}
        names = [name for got in whole for name in got["local"] if name != "LR_Scheduler"]
        assert sorted(names) == sorted(state)
        assert sum(got["own"] for got in whole) == whole[0]["every"]
    for got in job.results:
        assert "use dygraph.nn.ClipGradByGlobalNorm" in got["text"] and "linear_" in got["text"]
        assert "got different ones. Without DataParallel give average" in got["forgotten"]
        assert "the parameters must be equal on all ranks" in got["apart"]
        np.testing.assert_allclose(got["joined"], [-0.1] * 3, rtol=1e-6)
        factor = 5.0 / (5.0 * size**0.5)  # each rank has a gradient of norm 5
        np.testing.assert_allclose(got["limited"], [3 * factor, 4 * factor], rtol=1e-6)
        # Adam's first step is the learning rate; the late group has half of it
        np.testing.assert_allclose(got["big"], [[0.9, 0.9]] * 8 + [[0.95, 0.95]] * 4, rtol=1e-5)
        counts = np.bincount(got["big_owners"], minlength=size)
        assert counts.tolist() == [12 // size] * size
        of_one = 2 * 250_000 * 4
        assert 12 * of_one / size <= got["grown"] <= 1.02 * 12 * of_one / size


def test_parameters_are_divided_by_size():
    assert divide([3, 100, 40, 30, 31, 1], 3) == [1, 0, 1, 2, 2, 1]  # 100, 44 and 61
    assert divide([5, 5, 5], 2) == [0, 1, 0] and divide([], 2) == []
    loads = [10, 0]
    assert divide([4, 4], 2, loads) == [1, 1] and loads == [10, 8]


def test_refusals():
    net = nn.Linear(2, 2)
    sgd = optimizer.Adam(0.1, parameter_list=net)
    with pytest.raises(UnimplementedError, match="noise is drawn in the order of all parameters"):
        distributed.ShardedOptimizer(optimizer.Dpsgd(0.1, parameter_list=net))
    with pytest.raises(ArgumentTypeError, match="must be an eager optimizer such as Adam"):
        distributed.ShardedOptimizer(optimizer.Lookahead(sgd))
    sharded = distributed.ShardedOptimizer(sgd)
    with pytest.raises(PreconditionNotMetError, match="must not have made a step"):
        distributed.ShardedOptimizer(sgd)
    with pytest.raises(InvalidArgumentError, match="a parameter must be given once"):
        sharded.add_param_group([net.weight])
    with pytest.raises(InvalidArgumentError, match="'other.Moment1' is not expected"):
        sharded.set_state_dict({"other.Moment1": np.zeros(2, "float32")})
    with pytest.raises(UnimplementedError, match="a program cannot exchange values"):
        dygraph.jit.compile(lambda x: (net(x).sum().backward(), sharded.step()))(
            dygraph.ones([1, 2])
        )
    with pytest.raises(InvalidArgumentError, match="one of the optimizer, got linear"):
        sharded.owner_of(nn.Linear(2, 2).weight)
    with pytest.raises(PreconditionNotMetError, match="must not be copied"):
        copy.deepcopy(sharded)
    unnamed = dygraph.Parameter([1.0])
    if not unnamed.name:
        with pytest.raises(InvalidArgumentError, match="parameters must have names"):
            distributed.ClipGradByGlobalNorm(1.0).clip([(unnamed, unnamed.detach())])
