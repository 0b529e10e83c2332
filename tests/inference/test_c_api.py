"""The C interface: every null pointer, closed handle and wrong number gives a status and words."""

import ctypes
import threading
import time
from ctypes import byref

import numpy as np
import pytest

from inference import c_library as c
from inference import models


@pytest.fixture
def predictor(tmp_path):
    folder = models.save(tmp_path, models.mlp).encode()
    handle = c.made("dygraph_load", folder, None)
    yield handle
    c.lib.dygraph_predictor_close(handle)


@pytest.fixture
def context(predictor):
    handle = c.made("dygraph_context_create", predictor)
    yield handle
    c.lib.dygraph_context_close(handle)


def empty():
    return c.Tensor(struct_size=ctypes.sizeof(c.Tensor))


def test_every_function_refuses_null_pointers():
    for name, types in c.FUNCTIONS.items():
        arguments = [None if t is c.POINTER else 0 for t in types]
        assert getattr(c.lib, name)(*arguments) == c.INVALID_ARGUMENT, name
        assert c.error().startswith(f"{name}: `") and "must not be a null pointer" in c.error()


def test_null_pointers_beside_good_handles(predictor, context):
    lib, options = c.lib, c.made("dygraph_options_create")
    calls = [
        lib.dygraph_options_set(options, None, b"1"),
        lib.dygraph_options_set(options, b"threads", None),
        lib.dygraph_load(None, options, byref(c.POINTER())),
        lib.dygraph_load(b"model", options, None),
        lib.dygraph_load_memory(None, 0, None, 0, options, byref(c.POINTER())),
        lib.dygraph_save(predictor, None),
        lib.dygraph_predictor_inputs(predictor, None),
        lib.dygraph_predictor_input(predictor, 0, None),
        lib.dygraph_predictor_find_input(predictor, None, byref(c.SIZE())),
        lib.dygraph_predictor_find_input(predictor, b"x", None),
        lib.dygraph_context_create(predictor, None),
        lib.dygraph_context_clone(context, None),
        lib.dygraph_context_set_input(context, 0, None),
        lib.dygraph_context_output(context, 0, None),
        lib.dygraph_context_profile(context, 0, None),
    ]
    assert calls == [c.INVALID_ARGUMENT] * len(calls)
    assert lib.dygraph_options_close(options) == c.OK


def test_handles_that_are_closed_or_none(predictor):
    context = c.made("dygraph_context_create", predictor)
    assert c.lib.dygraph_context_close(context) == c.OK
    again = c.made("dygraph_context_create", predictor)  # it may take the closed one's place
    bad = [context, predictor, c.POINTER(1), c.POINTER(2**64 - 1), c.POINTER(id(context))]
    of_contexts = [n for n in c.FUNCTIONS if n.startswith("dygraph_context") and "create" not in n]
    for name in of_contexts:
        for handle in bad:
            rest = [byref(empty()) if t is c.POINTER else 0 for t in c.FUNCTIONS[name][1:]]
            assert getattr(c.lib, name)(handle, *rest) == c.CLOSED, name
            assert "closed or of another kind" in c.error()
    assert c.lib.dygraph_predictor_close(again) == c.CLOSED
    assert c.lib.dygraph_context_run(again) == c.WRONG_STATE
    assert c.lib.dygraph_context_close(again) == c.OK


def test_a_run_and_its_outputs(predictor, context):
    x = models.numbers(5, 4)
    assert c.lib.dygraph_context_output(context, 0, byref(empty())) == c.WRONG_STATE
    assert c.lib.dygraph_context_run(context) == c.WRONG_STATE
    assert "the input 'x' (number 0) must be set" in c.error()
    t, out = c.tensor(x), empty()
    assert c.lib.dygraph_context_set_input(context, 0, byref(t)) == c.OK
    assert c.lib.dygraph_context_run(context) == c.OK
    assert c.lib.dygraph_context_output(context, 1, byref(out)) == c.OK
    dims = ctypes.cast(out.dims, ctypes.POINTER(ctypes.c_int64))
    assert (out.type, out.rank, dims[0], dims[1], out.bytes) == (c.FLOAT32, 2, 5, 8, 160)
    first = ctypes.string_at(out.data, out.bytes)
    assert np.frombuffer(first, "float32").min() == 0  # a relu's
    x[:] = -x  # read by every run until it is set again
    assert c.lib.dygraph_context_run(context) == c.OK
    assert c.lib.dygraph_context_output(context, 1, byref(out)) == c.OK
    assert ctypes.string_at(out.data, out.bytes) != first
    assert c.lib.dygraph_context_output(context, 2, byref(out)) == c.OUT_OF_RANGE
    number = c.SIZE()
    assert c.lib.dygraph_predictor_find_input(predictor, b"x", byref(number)) == c.OK
    assert c.lib.dygraph_predictor_find_input(predictor, b"y", byref(number)) == c.NOT_FOUND
    assert c.error().endswith("one of 'x', got 'y'")
    clone = c.made("dygraph_context_clone", context)
    assert c.lib.dygraph_context_run(clone) == c.WRONG_STATE  # it has no inputs
    assert c.lib.dygraph_context_close(clone) == c.OK


@pytest.mark.parametrize(
    "member, value, status",
    [
        ("struct_size", 0, c.INVALID_ARGUMENT), ("struct_size", 63, c.INVALID_ARGUMENT),
        ("type", 99, c.TYPE), ("type", -1, c.TYPE), ("type", 7, c.TYPE), ("rank", -1,
        c.INVALID_ARGUMENT), ("rank", 17, c.INVALID_ARGUMENT), ("dims", None, c.INVALID_ARGUMENT),
        ("data", None, c.INVALID_ARGUMENT), ("bytes", 79, c.INVALID_ARGUMENT),
        ("level_count", 1, c.INVALID_ARGUMENT), ("level_count", 2**60, c.INVALID_ARGUMENT),
    ],
)  # fmt: skip
def test_members_of_a_tensor_that_do_not_fit(context, member, value, status):
    t = c.tensor(models.numbers(5, 4))
    setattr(t, member, value)
    assert c.lib.dygraph_context_set_input(context, 0, byref(t)) == status
    assert c.error().startswith("dygraph_context_set_input: ")


def test_sizes_levels_and_bools_that_do_not_fit(context):
    t = c.tensor(models.numbers(5, 4))
    for sizes in ((-1, 4), (2**62, 2**62), (2**40, 4)):
        dims = (ctypes.c_int64 * 2)(*sizes)
        t.dims = ctypes.cast(dims, c.POINTER)
        assert c.lib.dygraph_context_set_input(context, 0, byref(t)) in (
            c.INVALID_ARGUMENT, c.OUT_OF_RANGE,
        )  # fmt: skip
    bad_bool = c.tensor(np.array([[2]], "uint8"), c.BOOL)
    assert c.lib.dygraph_context_set_input(context, 0, byref(bad_bool)) == c.INVALID_ARGUMENT
    t = c.tensor(models.numbers(5, 4))
    offsets = (ctypes.c_int64 * 3)(0, 3, 6)  # there are 5 rows
    level = c.Level(ctypes.cast(offsets, c.POINTER), 3)
    t.levels, t.level_count = ctypes.cast(ctypes.pointer(level), c.POINTER), 1
    assert c.lib.dygraph_context_set_input(context, 0, byref(t)) == c.INVALID_ARGUMENT


def test_options(tmp_path):
    options = c.made("dygraph_options_create")
    for name, value, status in [
        (b"threads", b"2", c.OK), (b"threads", b"-1", c.INVALID_ARGUMENT),
        (b"threads", b"2x", c.INVALID_ARGUMENT), (b"threads", b"", c.INVALID_ARGUMENT),
        (b"memory_limit", b"99999999999999999999", c.INVALID_ARGUMENT),
        (b"passes", b"prune,", c.OK), (b"passes", b"prune,nothing", c.NOT_FOUND),
        (b"thread", b"2", c.NOT_FOUND), (b"share_weights", b"2", c.INVALID_ARGUMENT),
    ]:  # fmt: skip
        assert c.lib.dygraph_options_set(options, name, value) == status, (name, value)
    assert c.lib.dygraph_options_set(options, b"thread", b"2") == c.NOT_FOUND
    assert c.error().endswith("Did you mean 'threads'?")
    predictor = c.made("dygraph_load", models.save(tmp_path, models.mlp).encode(), options)
    assert c.lib.dygraph_options_close(options) == c.OK
    assert c.lib.dygraph_predictor_close(predictor) == c.OK


def test_two_threads_on_one_context_cancel_and_close(tmp_path):
    predictor = c.made("dygraph_load", models.save(tmp_path, models.endless).encode(), None)
    context = c.made("dygraph_context_create", predictor)
    turns, statuses = c.tensor(np.array([10**12]), c.INT64), []
    assert c.lib.dygraph_context_set_input(context, 0, byref(turns)) == c.OK

    def begin():
        thread = threading.Thread(
            target=lambda: statuses.append((c.lib.dygraph_context_run(context), c.error()))
        )
        thread.start()
        while c.lib.dygraph_context_set_input(context, 0, byref(turns)) != c.BUSY:
            time.sleep(0.001)
        return thread

    thread = begin()
    assert "Give each thread a clone" in c.error()
    assert c.lib.dygraph_context_run(context) == c.BUSY
    assert c.lib.dygraph_context_output(context, 0, byref(empty())) == c.BUSY
    assert c.lib.dygraph_context_clone(context, byref(c.POINTER())) == c.BUSY
    assert c.lib.dygraph_context_cancel(context) == c.OK
    thread.join()
    assert statuses[0][0] == c.CANCELLED and "was cancelled" in statuses[0][1]
    assert c.lib.dygraph_context_set_time_limit(context, 0.05) == c.OK
    assert c.lib.dygraph_context_set_time_limit(context, float("nan")) == c.INVALID_ARGUMENT
    assert c.lib.dygraph_context_run(context) == c.TIMED_OUT
    assert c.lib.dygraph_context_output(context, 0, byref(empty())) == c.WRONG_STATE
    assert c.lib.dygraph_context_set_time_limit(context, 0.5) == c.OK
    thread = begin()
    assert c.lib.dygraph_predictor_close(predictor) == c.OK
    assert c.lib.dygraph_context_close(context) == c.OK  # the run goes on to its end
    assert c.lib.dygraph_context_cancel(context) == c.CLOSED
    thread.join()
    assert statuses[1][0] == c.TIMED_OUT


def test_errors_belong_to_a_thread():
    assert c.lib.dygraph_context_run(None) == c.INVALID_ARGUMENT
    here, there = c.error(), []
    thread = threading.Thread(target=lambda: there.append(c.error()))
    thread.start()
    thread.join()
    assert here and there == [""]
    assert c.lib.dygraph_status_name(c.BUSY) == b"DYGRAPH_BUSY"
    assert c.lib.dygraph_status_name(99) == b"unknown status"
