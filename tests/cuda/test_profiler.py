"""The profiler on a device: its times without a wait for each operator, its memory, its holders."""

import contextlib
import json

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core, cuda
from dygraph.profiler import Profiler

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library, not even the pretended one")
pretended = pytest.mark.skipif(
    not cuda_library.is_pretended(), reason="settings of the pretended CUDA"
)
LATE = [0, pytest.param(1, marks=pretended)]


@pytest.fixture(autouse=True)
def on_device():
    with cuda_library.on(PLACE):
        yield


def device(*shape):
    return dygraph.to_variable(np.ones(shape, "float32"))


@pytest.mark.parametrize("late", LATE)
def test_times_of_the_device_stand_in_the_table(late):
    x = device(64, 64)
    with cuda_library.pretending(LATE=1) if late else contextlib.nullcontext():
        with Profiler() as p:
            for _ in range(3):
                y = dygraph.ops.relu(dygraph.matmul(x, x))
        assert y.numpy()[0, 0] == 64
    events = [e for e in p.events if e.name == "matmul_v2"]
    assert len(events) == 3
    for e in events:
        assert e.device == "CUDAPlace(0)" and e.device_duration > 0
    starts = [e.device_start for e in events]
    assert starts == sorted(starts)
    row = next(r for r in p.summary() if r.name == "matmul_v2")
    assert row.device == pytest.approx(sum(e.device_duration for e in events) / 1e6)
    assert "Device ms" in p.table()


def test_the_host_has_no_column_of_a_device():
    with dygraph.guard(dygraph.CPUPlace()):
        x = dygraph.ones([2, 2])
        with Profiler() as p:
            dygraph.ops.relu(x)
    assert "Device" not in p.table()
    assert [e.device for e in p.events] == [""] and p.summary()[0].device == 0
    assert len(p.chrome_trace()["traceEvents"]) == 1


def test_nothing_waits_while_operators_run():
    x = device(8, 8)
    with Profiler():
        before = cuda.syncs()
        for _ in range(50):
            dygraph.ops.relu(x)
        assert cuda.syncs() == before


def test_a_trace_has_a_row_for_the_device(tmp_path):
    x = device(8, 8)
    with Profiler() as p:
        dygraph.ops.relu(x)
    p.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [(e["ph"], e["pid"], e["name"]) for e in events] == [
        ("X", 0, "relu"), ("M", 1, "process_name"), ("X", 1, "relu"),
    ]  # fmt: skip
    assert events[1]["args"]["name"] == "CUDAPlace(0)"
    # The device begins about when the host calls.
    assert abs(events[2]["ts"] - events[0]["ts"]) < 1e6


def test_memory_is_that_of_the_device():
    x = device(256, 256)
    with Profiler() as p:
        kept = dygraph.ops.relu(x)
    assert p.memory() == [("relu", 256 * 256 * 4)]
    del kept


def test_programs_show_their_operators():
    x = device(4, 4)
    traced = dygraph.jit.trace(lambda v: dygraph.ops.relu(v * v), [x])[1]
    for _ in range(5):
        traced(x)
    with Profiler() as p:
        traced(x)
    assert [(r.name, r.calls) for r in p.summary("calls")][:2] == [
        ("elementwise_mul", 1), ("relu", 1),
    ]  # fmt: skip
    before = cuda.counts()["graph_launches"]
    traced(x)
    assert cuda.counts()["graph_launches"] == before + 1


def test_a_recording_under_the_profiler_is_not_timed():
    fast = cuda.graph(lambda v: dygraph.ops.relu(v + v))
    with Profiler() as p:
        for _ in range(4):
            fast(device(4, 4))
    assert fast.replays == 2
    assert [bool(e.device) for e in p.events if e.name == "relu"] == [True, False]


@pretended
def test_a_device_that_fails_gives_no_times():
    x = device(4, 4)
    with cuda_library.pretending(FAIL=0) as settings:
        with Profiler() as p:
            dygraph.ops.relu(x)
            settings.pretend_cuda_set(b"FAIL", 1001)
        assert [e.name for e in p.events] == ["relu"]
        settings.pretend_cuda_set(b"FAIL", 0)
    assert dygraph.ops.relu(x).numpy()[0, 0] == 1


# Holders ----------------------------------------------------------------------------------------


def no_memory():
    x = device(2, 2)
    _core.memory.fail_allocation(1)
    try:
        with pytest.raises(MemoryError) as info:
            dygraph.ops.relu(x)
    finally:
        _core.memory.fail_allocation(0)
    return str(info.value)


def test_no_memory_names_the_largest_blocks():
    kept = [device(1024, 1024), device(1024, 512), device(1024, 256), device(1024, 128)]
    text = no_memory()
    assert "the largest blocks are 4.0 MB, 2.0 MB, 1.0 MB" in text, text
    del kept


def test_no_memory_names_operators_and_lines_that_were_watched():
    x = device(2048, 1024)
    with Profiler(with_callers=True):
        y = dygraph.ops.relu(x)
    text = no_memory()
    assert "8.0 MB (relu, " in text and "test_profiler.py:" in text, text
    del y
    assert "relu" not in no_memory().replace("relu: ", "")


def test_no_memory_of_the_host_says_what_it_said():
    with dygraph.guard(dygraph.CPUPlace()):
        kept = dygraph.ones([1024, 1024])
        assert "largest blocks" not in no_memory()
        del kept
