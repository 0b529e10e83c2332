"""A step over many parameters does what the operator does to each of them, bit for bit."""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from dygraph.optimizer import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    DecayedAdagrad,
    Ftrl,
    Lamb,
    LarsMomentum,
    Momentum,
    NAdam,
    RAdam,
    RMSProp,
)

# Around the steps at which a thread's share may end, empty, and enough for several threads.
SHAPES = [(3,), (64, 257), (1,), (300, 301), (0,), (17, 5, 3), (16,), (40000,), (2, 8), (31,)]

RULES = {
    "SGD": lambda p: SGD(0.1, p),
    "Momentum": lambda p: Momentum(0.1, 0.9, p),
    "Nesterov": lambda p: Momentum(0.1, 0.9, p, use_nesterov=True),
    "Adam": lambda p: Adam(0.1, parameter_list=p),
    "AdamW": lambda p: AdamW(0.1, parameter_list=p, weight_decay=0.1),
    "Adamax": lambda p: Adamax(0.1, parameter_list=p),
    "NAdam": lambda p: NAdam(0.1, parameter_list=p),
    "RAdam": lambda p: RAdam(0.1, parameter_list=p),
    "Lamb": lambda p: Lamb(0.1, parameter_list=p),
    "LarsMomentum": lambda p: LarsMomentum(0.1, 0.9, parameter_list=p),
    "Adagrad": lambda p: Adagrad(0.1, parameter_list=p),
    "DecayedAdagrad": lambda p: DecayedAdagrad(0.1, parameter_list=p),
    "Adadelta": lambda p: Adadelta(0.1, parameter_list=p),
    "RMSProp": lambda p: RMSProp(0.1, parameter_list=p),
    "Centered": lambda p: RMSProp(0.1, parameter_list=p, centered=True, momentum=0.5),
    "Ftrl": lambda p: Ftrl(0.1, parameter_list=p, l1=0.01, l2=0.01),
}


def one_by_one(optimizer, parameters):
    """{name: array} of what the operator makes of copies, a call for each parameter."""
    expected = {}
    pairs = _core.describe_op(optimizer.operator)["in_place"]
    for k, p in enumerate(parameters):
        values = dict(zip(optimizer._slots, optimizer._entry(p, p.grad), strict=True))
        copies = {s: v.clone().detach() for s, v in values.items() if v is not None}
        made = _core.run_op(optimizer.operator, copies, optimizer.attributes)
        for source, out in pairs:
            if source in copies and out in made:
                expected[k, source] = made[out].numpy()
    return expected


def now(optimizer, parameters):
    return {
        (k, slot): v.numpy()
        for k, p in enumerate(parameters)
        for slot, v in zip(optimizer._slots, optimizer._entry(p, p.grad), strict=True)
        if v is not None
    }


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = dygraph.num_threads()
    dygraph.set_num_threads(request.param)
    yield request.param
    dygraph.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", RULES)
def test_bits_of_the_single_operators(rule, dtype, threads):
    rng = np.random.default_rng(7)
    parameters = [dygraph.Parameter(rng.uniform(-1, 1, s).astype(dtype)) for s in SHAPES]
    optimizer = RULES[rule](parameters)
    for step in range(3):
        for p in parameters:
            p.grad = dygraph.to_variable(rng.uniform(-1, 1, p.shape).astype(dtype))
        expected = one_by_one(optimizer, parameters) if step else None
        optimizer.step()
        if step:
            result = now(optimizer, parameters)
            assert {k for k, _ in expected} == set(range(len(SHAPES)))
            for key, value in expected.items():
                assert value.tobytes() == result[key].tobytes(), (rule, key, step)


def test_shared_and_sparse_parameters_among_others(threads):
    """One whose memory a detached copy shares, one with a sparse gradient, one without any."""
    rng = np.random.default_rng(1)
    shapes = [(200, 300), (50, 4), (70000,), (9,)]
    start = [rng.uniform(-1, 1, s).astype("float32") for s in shapes]
    parameters = [dygraph.Parameter(a) for a in start]
    shared = parameters[0].detach()
    slope = [rng.uniform(-1, 1, s).astype("float32") for s in shapes]
    rows = [7, 3, 7]
    values = rng.uniform(-1, 1, (3, 4)).astype("float32")
    parameters[0].grad = dygraph.to_variable(slope[0])
    parameters[1].grad = _core.make_selected_rows(rows, 50, dygraph.to_variable(values))
    parameters[2].grad = dygraph.to_variable(slope[2])
    SGD(0.5, parameters).step()
    expected = [start[0] - np.float32(0.5) * slope[0], start[1].copy()]
    for row, value in zip(rows, values, strict=True):
        expected[1][row] -= np.float32(0.5) * value
    expected += [start[2] - np.float32(0.5) * slope[2], start[3]]
    for p, value in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(p.numpy(), value, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(shared.numpy(), start[0])


def test_an_update_that_is_refused_leaves_those_before_it_made():
    w = [dygraph.Parameter(np.ones(5, "float32")) for _ in range(3)]
    update, rate = _core.UpdateCall("sgd"), dygraph.to_variable([0.5], dtype="float32")
    good = dygraph.to_variable(np.ones(5, "float32"))
    bad = dygraph.to_variable(np.ones(4, "float32"))
    entries = [
        tuple({"Param": p, "Grad": g, "LearningRate": rate}[s] for s in update.slots)
        for p, g in zip(w, (good, bad, good), strict=True)
    ]
    with pytest.raises(ValueError, match="Grad must have the shape of Param"):
        update.run(entries)
    assert [p.numpy().tolist() for p in w] == [[0.5] * 5, [1.0] * 5, [1.0] * 5]


def test_watched_steps_compute_at_once():
    """A watcher of each call sees its results, not memory that is still to be filled."""
    p = [dygraph.Parameter(np.ones(4, "float32")) for _ in range(2)]
    for q in p:
        q.grad = dygraph.to_variable(np.full(4, 3.4e38, "float32"))
    before = dygraph.get_flags("FLAGS_check_nan_inf")
    dygraph.set_flags({"FLAGS_check_nan_inf": True})
    try:
        with pytest.raises(FloatingPointError, match="sgd"):
            SGD(10.0, p).step()
    finally:
        dygraph.set_flags(before)


def test_gradients_are_cleared_in_one_call():
    p = [dygraph.Parameter(np.ones(4, "float32")) for _ in range(3)]
    (p[0] * p[1]).sum().backward()
    optimizer = SGD(0.5, p)
    optimizer.clear_gradients()
    assert all(q.grad is None for q in p)
