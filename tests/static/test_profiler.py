"""The profiler and the metrics of Python with runs of programs."""

import json

import pytest

import described
import dygraph
from dygraph import static


@pytest.fixture(scope="module")
def ready():
    main, startup, loss = described.trained()
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    return main, loss, scope, executor


def test_a_run_lists_its_operators(ready, tmp_path, capsys):
    main, loss, scope, executor = ready
    path = tmp_path / "trace.json"
    with static.profiler.profiler("CPU", "total", str(path)):
        for i in range(3):
            executor.run(main, described.batch(i), [loss], scope=scope)
    types = [op.type for op in main.global_block().ops]
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:2] == ["Event", "Calls"]
    calls = {line[0]: int(line[1]) for line in lines[1:]}
    assert calls == {"fetch": 3, **{kind: 3 * types.count(kind) for kind in types}}
    totals = [float(line[2]) for line in lines[1:]]
    assert totals == sorted(totals, reverse=True)
    trace = json.loads(path.read_text())["traceEvents"]
    assert [event["name"] for event in trace] == [*types, "fetch"] * 3
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in trace)


def test_start_reset_and_stop(ready, capsys):
    main, loss, scope, executor = ready
    static.profiler.start_profiler("All")
    executor.run(main, described.batch(), [loss], scope=scope)
    static.profiler.reset_profiler()
    executor.run(main, described.batch(), [loss], scope=scope)
    done = static.profiler.stop_profiler("calls")
    assert sum(row.calls for row in done.summary()) == len(main.global_block().ops) + 1  # fetch
    with pytest.raises(RuntimeError, match="start_profiler"):
        static.profiler.stop_profiler()


def test_shapes_and_ranges(ready):
    main, loss, scope, executor = ready
    with static.profiler.Profiler(record_shapes=True) as p:
        with static.profiler.RecordEvent("step"):
            executor.run(main, described.batch(), [loss], scope=scope)
    names = [row.name for row in p.summary()]
    assert "mul (X=[8, 3] float32, Y=[3, 1] float32)" in names
    step, fetch = sorted((e for e in p.events if e.category == "range"), key=lambda e: e.start)
    assert (step.name, fetch.name) == ("step", "fetch")
    inside = [e for e in p.events if e.category == "operator"]
    assert all(step.start <= e.start < step.start + step.duration for e in inside)


def test_metrics_are_those_of_eager_code():
    assert static.metrics.Accuracy is dygraph.metrics.Accuracy
    assert set(static.metrics.__all__) <= set(dir(static.metrics))
    counted_by_operators = {"DetectionMAP"}
    assert set(static.metrics.__all__) == {*dygraph.metrics.__all__, *counted_by_operators}
