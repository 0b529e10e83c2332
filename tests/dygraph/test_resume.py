"""Training resumed from a checkpoint gives the same bits as training never interrupted."""

import numpy as np
import pytest

import dygraph
from dygraph import lr, optimizer
from dygraph import ops as F
from dygraph.nn import BatchNorm, Dropout, Embedding, Layer, Linear

STEPS, STOP = 10, 6


class Net(Layer):
    def __init__(self, is_sparse):
        super().__init__()
        self.table = Embedding([11, 6], is_sparse=is_sparse)
        self.hidden = Linear(6, 8)
        self.norm = BatchNorm(8)
        self.dropout = Dropout(0.3)
        self.out = Linear(8, 1)

    def forward(self, ids):
        return self.out(self.dropout(F.tanh(self.norm(self.hidden(self.table(ids))))))


OPTIMIZERS = {
    "SGD": {},
    "Momentum": {"momentum": 0.9, "use_nesterov": True},
    "Adam": {},
    "lazy": {"lazy_mode": True},
    "AdamW": {"weight_decay": 0.1},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "Adagrad": {"initial_accumulator_value": 0.1},
    "DecayedAdagrad": {},
    "Adadelta": {},
    "RMSProp": {"momentum": 0.5, "centered": True},
    "Ftrl": {"l1": 0.01},
    "Lamb": {},
    "LarsMomentum": {"momentum": 0.9},
    "Dpsgd": {"sigma": 0.1},
}
SPARSE = {"SGD", "Momentum", "Adam", "lazy", "AdamW", "Adagrad", "RMSProp", "Lamb"}


def make(name, sparse):
    with dygraph.guard(seed=3):
        net = Net(sparse)
    schedule = lr.LinearLrWarmup(lr.ExponentialDecay(0.05, 3, 0.9), 4, 0.01, 0.05)
    kind = getattr(optimizer, "Adam" if name == "lazy" else name)
    return net, kind(learning_rate=schedule, parameter_list=net, **OPTIMIZERS[name])


def run(net, opt, steps):
    for n in steps:
        rng = np.random.RandomState(n)
        ids, goal = rng.randint(0, 11, 5), rng.uniform(-1, 1, (5, 1)).astype("float32")
        error = net(dygraph.to_variable(ids)) - dygraph.to_variable(goal)
        (error * error).mean().backward()
        opt.step()
        opt.clear_gradients()


def copied(state):
    return {k: v.numpy() if isinstance(v, dygraph.Variable) else v for k, v in state.items()}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_bits(name, sparse):
    if sparse and name not in SPARSE:
        with pytest.raises(TypeError, match=r"Input\(Grad\) must be a tensor"):
            run(*make(name, True), range(1))
        return
    dygraph.seed(5)
    net, opt = make(name, sparse)
    run(net, opt, range(STOP))
    kept = copied(net.state_dict()), copied(opt.state_dict()), dygraph.get_rng_state()
    run(net, opt, range(STOP, STEPS))
    expected = copied(net.state_dict()), copied(opt.state_dict())

    dygraph.seed(99)
    other, again = make(name, sparse)  # other names in the process: the state has the structure's
    run(other, again, range(2))  # and another past
    model, state, random = kept
    other.set_state_dict(model)
    again.set_state_dict(state)
    dygraph.set_rng_state(random)
    run(other, again, range(STOP, STEPS))
    for got, want in zip((other, again), expected, strict=True):
        for key, value in copied(got.state_dict()).items():
            np.testing.assert_array_equal(value, want[key], err_msg=key)


def test_a_fresh_optimizer_takes_the_state():
    """Without a step before: the accumulators are made by the state."""
    dygraph.seed(5)
    net, opt = make("Adam", False)
    run(net, opt, range(STOP))
    kept = copied(net.state_dict()), copied(opt.state_dict()), dygraph.get_rng_state()
    run(net, opt, range(STOP, STEPS))
    other, again = make("Adam", False)
    other.set_state_dict(kept[0])
    again.set_state_dict(kept[1])
    dygraph.set_rng_state(kept[2])
    run(other, again, range(STOP, STEPS))
    for got, want in zip(other.parameters(), net.parameters(), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_names_are_those_of_the_structure():
    net, opt = make("Adam", False)
    run(net, opt, range(1))
    assert "hidden.weight.Moment1" in opt.state_dict()
    assert "table.weight.Beta1Pow" in opt.state_dict()


def test_rng_state():
    dygraph.seed(11)
    F.dropout(dygraph.to_variable(np.ones(3, "float32")))
    state = dygraph.get_rng_state()
    assert state == (11, 1)
    first = F.uniform_random(shape=[4]).numpy()
    dygraph.set_rng_state(state)
    np.testing.assert_array_equal(F.uniform_random(shape=[4]).numpy(), first)
    dygraph.set_rng_state(list(state))
    for bad, error in (
        (3, TypeError),
        ((1,), TypeError),
        ((1, "a"), TypeError),
        ((1, -1), ValueError),
    ):
        with pytest.raises(error):
            dygraph.set_rng_state(bad)
    assert dygraph.get_rng_state() == state
