"""detect_anomaly, FLAGS_log_calls, FLAGS_check_nan_inf, the profiler."""

import json
import threading

import numpy as np
import pytest

import dygraph
from dygraph import profiler


def leaf(array):
    v = dygraph.to_variable(np.asarray(array, "float32"))
    v.stop_gradient = False
    return v


@pytest.fixture(autouse=True)
def nothing_watches_afterwards():
    yield
    assert dygraph._core.watch.switches() == 0


class Root(dygraph.Layer):
    def forward(self, x):
        return dygraph.sqrt(x)  # the line that errors name


class Model(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.body = dygraph.nn.Sequential(dygraph.nn.ReLU(), Root())

    def forward(self, x):
        return self.body(x)


def test_forward_nan_raises_at_once():
    x = leaf([[1.0, -1.0], [2.0, 3.0]])
    with dygraph.detect_anomaly(), pytest.raises(FloatingPointError) as info:
        dygraph.log(x)
    text = str(info.value)
    assert text.startswith("log: Output(Out) of shape [2, 2] must hold finite numbers, got 1 NaN")
    assert "first at [0, 1]" in text and "it arose here" in text


def test_nan_that_came_in_is_told_apart():
    x = leaf([np.inf, 1.0])
    with dygraph.detect_anomaly(), pytest.raises(dygraph.errors.NonFiniteError) as info:
        x * 2.0
    assert "1 infinite" in str(info.value) and "Input(X) held such values" in str(info.value)


def test_backward_nan_names_the_forward_line_and_layer():
    x = leaf([0.0, 4.0])
    with dygraph.detect_anomaly():
        y = Model()(x)
        with pytest.raises(FloatingPointError) as info:
            y.sum().backward()
    text = str(info.value)
    assert "sqrt_grad: Output(X@GRAD)" in text
    assert "in the backward of sqrt, called at " in text
    line = Root.forward.__code__.co_firstlineno + 1
    assert f"test_watch.py:{line} in forward (layer Model.body.1)" in text


def test_other_errors_of_backward_name_it_too():
    x = leaf([1.0, 2.0])
    y = x * x
    z = y.sum()
    z.backward()
    with pytest.raises(RuntimeError, match="freed by an earlier backward"):
        z.backward()

    class Bad(dygraph.PyLayer):
        @staticmethod
        def forward(ctx, v):
            return v * 1.0

        @staticmethod
        def backward(ctx, g):
            return g.reshape([2, 1])

    with pytest.raises(ValueError, match="gradient of its shape"):
        Bad.apply(x).sum().backward()


def test_nothing_is_left_switched_on_after_an_error():
    x = leaf([1.0])
    with pytest.raises(ZeroDivisionError), dygraph.detect_anomaly():
        raise ZeroDivisionError
    assert np.isinf((x / 0.0).numpy())


def test_flag_check_nan_inf():
    x = leaf([1.0])
    dygraph.set_flags({"FLAGS_check_nan_inf": True})
    try:
        with pytest.raises(FloatingPointError, match="elementwise_div|scale"):
            x / leaf([0.0])
    finally:
        dygraph.set_flags({"FLAGS_check_nan_inf": False})
    assert np.isinf((x / leaf([0.0])).numpy())


def test_flag_log_calls(capfd):
    x = leaf([[1.0, 2.0]])
    dygraph.set_flags({"FLAGS_log_calls": True})
    try:
        dygraph.ops.relu(x)
    finally:
        dygraph.set_flags({"FLAGS_log_calls": False})
    dygraph.exp(x)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("relu(X=[1, 2] float32) -> Out=[1, 2] float32  CPUPlace")
    assert lines[0].endswith(" us")


def test_profiler_counts_calls_and_times_them():
    x = leaf(np.ones((32, 32)))
    with profiler.Profiler(record_shapes=True, with_callers=True) as p:
        with profiler.RecordEvent("step"):
            for _ in range(3):
                y = dygraph.ops.relu(x @ x)
        y.sum().backward()
    rows = {r.name: r for r in p.summary()}
    key = "relu (X=[32, 32] float32)"
    assert rows[key].calls == 3
    assert rows[key].min <= rows[key].average <= rows[key].max
    assert rows[key].total == pytest.approx(3 * rows[key].average)
    assert any(name.startswith("relu_grad") for name in rows)
    assert rows["step"].total >= rows[key].total
    assert {e.category for e in p.events} == {"operator", "backward", "range"}
    ratio = sum(r.ratio for r in rows.values() if r.name != "step")
    assert ratio == pytest.approx(1.0)
    by_line = p.summary(by="caller")
    assert any("test_watch.py" in r.name for r in by_line)
    table = p.table("calls")
    assert table.splitlines()[0].split() == [
        "Event", "Calls", "Total", "ms", "Max", "ms", "Min", "ms", "Ave", "ms", "Ratio", "Memory",
    ]  # fmt: skip
    dygraph.ops.relu(x)
    assert len(p.events) == sum(r.calls for r in rows.values())


def test_profiler_memory_by_operator():
    x = dygraph.to_variable(np.ones((256, 256), "float32"))
    with profiler.Profiler() as p:
        kept = dygraph.exp(x)
        dygraph.ops.relu(x)
    memory = dict(p.memory())
    assert memory["exp"] >= 256 * 256 * 4
    assert kept.shape == (256, 256)


def test_chrome_trace(tmp_path):
    x = leaf([1.0])
    with profiler.Profiler() as p:
        dygraph.exp(x)
        thread = threading.Thread(target=lambda: dygraph.ops.relu(leaf([1.0])))
        thread.start()
        thread.join()
    path = tmp_path / "trace.json"
    p.export_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert [e["name"] for e in events] == ["exp", "relu"]
    assert all(e["ph"] == "X" and e["dur"] > 0 for e in events)
    assert events[0]["tid"] != events[1]["tid"] and events[0]["ts"] == 0


def test_fluid_functions(tmp_path, capsys):
    x = leaf([1.0])
    with profiler.profiler("CPU", "total", str(tmp_path / "profile")):
        dygraph.exp(x)
        profiler.reset_profiler()
        dygraph.ops.relu(x)
    out = capsys.readouterr().out
    assert "relu" in out and "exp" not in out
    assert json.loads((tmp_path / "profile").read_text())["traceEvents"][0]["name"] == "relu"
    with pytest.raises(RuntimeError, match="must be running, got none"):
        profiler.stop_profiler()
    with pytest.raises(ValueError, match="state must be one of"):
        profiler.start_profiler("TPU")


def test_programs_are_profiled_as_well():
    net = dygraph.nn.Linear(2, 2)
    x = dygraph.to_variable(np.ones((1, 2), "float32"))
    _, traced = dygraph.jit.trace(net, [x])
    with profiler.Profiler() as p:
        traced([x])
    assert {"matmul_v2", "elementwise_add"} & {r.name for r in p.summary()}
