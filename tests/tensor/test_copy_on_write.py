"""Values are values: shared storage is never visible, whichever holder writes or keeps it."""

import numpy as np
import pytest

from dygraph import _core

ops = _core.ops


def var(array, grad=False):
    v = _core.to_variable(np.asarray(array))
    v.stop_gradient = not grad
    return v


def write(target, source):
    """An in-place operation: compute, then take the result over."""
    _core.become(target, source)


def test_detach_shares_until_one_writes():
    x = var([1.0, 2.0])
    d = x.detach()
    assert _core.storage_id(d) == _core.storage_id(x)
    _core.set_value(x, np.array([5.0, 6.0]))
    np.testing.assert_array_equal(d.numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(x.numpy(), [5.0, 6.0])
    e = x.detach()
    with pytest.raises(RuntimeError, match="does not reach the Variable of shape"):
        _core.set_value(e, np.array([0.0, 0.0]))
    np.testing.assert_array_equal(x.numpy(), [5.0, 6.0])


def test_reshape_and_slice_keep_their_values():
    x = var(np.arange(6.0))
    shape = _core.run_op("reshape2", {"X": x}, {"shape": [2, 3]})["Out"]
    rows = _core.run_op("slice", {"Input": shape}, {"axes": [0], "starts": [0], "ends": [1]})["Out"]
    _core.set_value(x, np.zeros(6))
    np.testing.assert_array_equal(shape.numpy(), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(rows.numpy(), [[0.0, 1.0, 2.0]])
    _core.set_value(shape, np.ones((2, 3)))
    np.testing.assert_array_equal(rows.numpy(), [[0.0, 1.0, 2.0]])


def test_a_kept_value_is_never_changed_by_a_write():
    a, b = var([2.0], grad=True), var([3.0], grad=True)
    m = a * 1.0
    y = m * b
    write(m, m * 100.0)
    assert m.item() == 200.0
    _core.backward([y], [], False, False)
    assert b.grad.item() == 2.0, "the product saw 2, whatever m became later"
    assert a.grad.item() == 3.0


def test_gradient_flows_through_what_was_written_in_place():
    a = var([2.0], grad=True)
    m = a * 3.0
    write(m, m * m)
    _core.backward([m], [], False, False)
    assert a.grad.item() == 36.0


def test_set_value_of_a_parameter_between_forward_and_backward():
    w, x = var([2.0], grad=True), var([5.0], grad=True)
    y = w * x
    _core.set_value(w, np.array([7.0]))
    _core.backward([y], [], False, False)
    assert x.grad.item() == 2.0


def test_in_place_on_a_recorded_leaf_raises():
    w = var([1.0], grad=True)
    with pytest.raises(RuntimeError, match="no_grad"):
        write(w, w * 2.0)
    assert w.item() == 1.0 and not w.stop_gradient
    _core.set_grad_enabled(False)
    try:
        write(w, w * 2.0)
    finally:
        _core.set_grad_enabled(True)
    assert w.item() == 2.0 and not w.stop_gradient and w.is_leaf


def test_set_value_keeps_shape_and_type():
    x = var([1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        _core.set_value(x, np.zeros(3))
    with pytest.raises(TypeError, match="element type"):
        _core.set_value(x, var(np.float32([1, 2])))
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])


def test_set_value_takes_a_copy_of_the_array():
    source = np.array([1.0, 2.0])
    x = var([0.0, 0.0])
    _core.set_value(x, source)
    y = _core.to_variable(source)
    source[:] = 9
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(y.numpy(), [1.0, 2.0])


def test_numpy_is_independent_and_writable():
    x = var([1.0, 2.0])
    n = x.numpy()
    n[:] = 7
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])


def test_a_view_keeps_the_old_values_and_cannot_write():
    x = var([1.0, 2.0])
    view = _core.view(x)
    assert view.__array_interface__["data"][0] == _core.data_pointer(x)
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view[0] = 3
    with pytest.raises(ValueError):
        view.flags.writeable = True
    _core.set_value(x, np.array([8.0, 9.0]))
    np.testing.assert_array_equal(view, [1.0, 2.0])
    del x
    np.testing.assert_array_equal(view, [1.0, 2.0])


def sgd(w, g, rate):
    """One step under no_grad that asks for the parameter itself as the result."""
    return _core.run_op("sgd", {"Param": w, "Grad": g, "LearningRate": rate})["ParamOut"]


def test_gradient_accumulation_does_not_touch_a_view():
    x = var([1.0], grad=True)
    _core.backward([x * 2.0], [], False, False)
    view = _core.view(x.grad)
    held = x.grad.detach()
    _core.backward([x * 3.0], [], False, False)
    assert x.grad.item() == 5.0
    np.testing.assert_array_equal(view, [2.0])
    assert held.item() == 2.0


def test_operators_leave_a_parameter_alone():
    w, g, rate = var([1.0, 2.0]), var([1.0, 1.0]), var([0.5])
    out = sgd(w, g, rate)
    np.testing.assert_array_equal(w.numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(out.numpy(), [0.5, 1.5])


def test_channels_last_twin_follows_writes():
    """The plain copy kept beside a channels-last value must not outlive it."""
    values = np.arange(24.0).reshape(1, 2, 3, 4)
    x = _core.to_layout(var(values), "NHWC")
    np.testing.assert_array_equal(x.numpy(), values)
    _core.set_value(x, values + 1)
    np.testing.assert_array_equal(x.numpy(), values + 1)


def test_a_hundred_steps_copy_no_parameter():
    """The step writes into the parameter's own block and makes no other; a sharer gets a copy."""
    w = var(np.ones(1 << 14), grad=True)
    g, rate = var(np.ones(1 << 14)), var([0.125])
    step = _core.UpdateCall("sgd")
    values = {"Param": w, "Grad": g, "LearningRate": rate}
    entry = tuple(values.get(slot) for slot in step.slots)
    step.run([entry])
    block, place = _core.data_pointer(w), _core.CPUPlace()
    allocated, used = _core.memory.stats(place)["total_allocs"], _core.memory.used(place)
    for _ in range(100):
        step.run([entry])
        assert _core.data_pointer(w) == block
    assert _core.memory.stats(place)["total_allocs"] == allocated
    assert _core.memory.used(place) == used
    np.testing.assert_array_equal(w.numpy(), np.full(1 << 14, 1 - 101 * 0.125))
    kept = w.detach()
    step.run([entry])
    assert _core.data_pointer(w) != block
    np.testing.assert_array_equal(kept.numpy(), np.full(1 << 14, 1 - 101 * 0.125))
    assert not w.stop_gradient and w.is_leaf
