"""Profiles of time and memory: operator calls and user ranges, as a table and a Chrome trace.

>>> import dygraph, numpy as np
>>> x = dygraph.to_variable(np.ones((64, 64), "float32"))
>>> with dygraph.profiler.Profiler() as p:
...     with dygraph.profiler.RecordEvent("step"):
...         y = (x @ x).sum()
>>> [row.name for row in p.summary("calls")][:1]
['matmul_v2']
>>> print(p.table())  # doctest: +SKIP

Fluid's functions (`profiler`, `start_profiler`, `stop_profiler`, `reset_profiler`) are here too.
"""

import contextlib
import json
import time
from collections import namedtuple

from dygraph import _core
from dygraph.core import check
from dygraph.errors import (
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
    kind_of,
)
from dygraph.inspect.saved import human
from dygraph.inspect.shown import Shown
from dygraph.inspect.watch import Watching

__all__ = [
    "Profiler", "RecordEvent", "cuda_profiler", "profiler", "reset_profiler", "start_profiler",
    "stop_profiler",
]  # fmt: skip

Event = namedtuple(
    "Event",
    "name category start duration thread bytes shapes caller device device_start device_duration",
    defaults=("", 0, 0),
)
Event.__doc__ = """One call or range; times in nanoseconds, `bytes` what it left in use.

``device`` names the GPU that kept times of the call ("" for none): when it began its work, on the
clock of ``start``, and how long it was between that and the end of it.
"""
Row = namedtuple("Row", "name calls total max min average ratio bytes device", defaults=(0.0,))
Row.__doc__ = """Events of one name together; times in milliseconds, `bytes` what they left in use.

``total`` to ``ratio`` are times of the host, ``device`` the total of a GPU.
"""

SORTED_BY = ("calls", "total", "max", "min", "ave", "bytes")


class Profiler(Shown):
    """Records every operator call of all threads, programs included, between enter and exit.

    Calls on a GPU also get the times of the device, which nothing waits for before `stop`. They
    begin when the device has done what was queued before, so idle time up to the launch counts.

    Parameters
    ----------
    record_shapes : bool
        Record the shapes of inputs; the table has a row for each.
    with_callers : bool
        Record the Python line (and layer) of each call, which takes a few microseconds.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.ones([2, 3])
    >>> with dygraph.profiler.Profiler(record_shapes=True) as p:
    ...     y = dygraph.ops.relu(dygraph.ops.relu(x))
    >>> [(row.name, row.calls) for row in p.summary()]
    [('relu (X=[2, 3] float32)', 2)]
    """

    def __init__(self, record_shapes=False, with_callers=False):
        what = _core.watch.EVENTS
        what |= _core.watch.SHAPES if record_shapes else 0
        what |= _core.watch.CALLERS if with_callers else 0
        self._watching = Watching(what)
        self._events = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        return False

    def start(self):
        """Clear earlier events of the process and start recording."""
        _core.watch.clear()
        self._events = []
        self._watching.__enter__()

    def stop(self):
        """Stop recording. This object keeps the events."""
        self._watching.__exit__()
        self._events = [Event(*e) for e in _core.watch.events()]
        self.dropped = _core.watch.dropped()
        _core.watch.clear()

    @property
    def events(self):
        """A list of `Event`, in order of their ends."""
        return list(self._events)

    def summary(self, sorted_by="total", by="name"):
        """A list of `Row`.

        Parameters
        ----------
        sorted_by : {'calls', 'total', 'max', 'min', 'ave', 'bytes'}
            Largest first.
        by : {'name', 'caller'}
            'caller': by Python line; needs ``with_callers=True``.
        """
        check.choice(sorted_by, SORTED_BY, "summary: sorted_by")
        check.choice(by, ("name", "caller"), "summary: by")
        groups = {}
        for e in self._events:
            if by == "caller":
                if e.category == "range":
                    continue
                key = e.caller or "(unknown line)"
            else:
                key = f"{e.name} ({e.shapes})" if e.shapes else e.name
            groups.setdefault(key, []).append(e)
        whole = sum(e.duration for e in self._events if e.category != "range") or 1
        rows = []
        for name, events in groups.items():
            times = [e.duration / 1e6 for e in events]
            total = sum(times)
            rows.append(Row(name, len(times), total, max(times), min(times), total / len(times),
                            total * 1e6 / whole, sum(e.bytes for e in events),
                            sum(e.device_duration for e in events) / 1e6))  # fmt: skip
        column = {"ave": "average"}.get(sorted_by, sorted_by)
        return sorted(rows, key=lambda r: -getattr(r, column))

    def table(self, sorted_by="total", by="name", rows=40):
        """The summary as text, at most `rows` lines of it."""
        found = self.summary(sorted_by, by)
        head = ("Event" if by == "name" else "Line", "Calls", "Total ms", "Max ms", "Min ms",
                "Ave ms", "Ratio", "Memory")  # fmt: skip
        on_device = any(e.device for e in self._events)
        if on_device:
            head += ("Device ms",)
        lines = [head]
        for r in found[:rows]:
            memory = ("-" if r.bytes < 0 else "") + human(abs(r.bytes))
            lines.append((r.name, str(r.calls), f"{r.total:.3f}", f"{r.max:.4f}", f"{r.min:.4f}",
                          f"{r.average:.4f}", f"{r.ratio:.1%}", memory,
                          *([f"{r.device:.4f}"] if on_device else [])))  # fmt: skip
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        text = [
            "  ".join([line[0].ljust(widths[0]),
                       *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
            for line in lines
        ]  # fmt: skip
        if len(found) > rows:
            text.append(f"... and {len(found) - rows} more")
        return "\n".join(text)

    def memory(self, by="name"):
        """[(name or line, bytes left in use)], largest first, for memory that was not freed."""
        return [(r.name, r.bytes) for r in self.summary("bytes", by) if r.bytes]

    def chrome_trace(self):
        """The events as a dict in the format of chrome://tracing and Perfetto."""
        start = min((e.start for e in self._events), default=0)
        trace = []
        for e in self._events:
            args = {"bytes": e.bytes}
            if e.shapes:
                args["inputs"] = e.shapes
            if e.caller:
                args["caller"] = e.caller
            trace.append({"name": e.name, "cat": e.category, "ph": "X", "pid": 0, "tid": e.thread,
                          "ts": (e.start - start) / 1e3, "dur": e.duration / 1e3,
                          "args": args})  # fmt: skip
        for number, device in enumerate(sorted({e.device for e in self._events} - {""}), 1):
            trace.append({"name": "process_name", "ph": "M", "pid": number, "tid": 0,
                          "args": {"name": device}})  # fmt: skip
            for e in self._events:
                if e.device == device:
                    trace.append({"name": e.name, "cat": e.category, "ph": "X", "pid": number,
                                  "tid": 0, "ts": (e.device_start - start) / 1e3,
                                  "dur": e.device_duration / 1e3, "args": {}})  # fmt: skip
        return {"traceEvents": trace, "displayTimeUnit": "ns"}

    def export_chrome_trace(self, path):
        """Write the trace as JSON to `path`."""
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.chrome_trace(), f)


class RecordEvent(Shown, contextlib.ContextDecorator):
    """A user range in the profile, as a context manager or a decorator.

    Parameters
    ----------
    name : str
        The name of the range.

    Examples
    --------
    >>> import dygraph
    >>> with dygraph.profiler.Profiler() as p:
    ...     with dygraph.profiler.RecordEvent("step"):
    ...         pass
    >>> [(event.name, event.category) for event in p.events]
    [('step', 'range')]
    """

    def __init__(self, name):
        self.name = str(name)
        self._starts = []

    def __enter__(self):
        self._starts.append(time.perf_counter_ns())
        return self

    def __exit__(self, *_):
        start = self._starts.pop()
        if _core.watch.switches() & _core.watch.EVENTS:
            _core.watch.add_event(self.name, start, time.perf_counter_ns() - start)
        return False


# Fluid's functions --------------------------------------------------------------------------------

_running = None
_KEYS = {"default": "total"}


def start_profiler(state="CPU", tracer_option="Default"):
    """Start recording.

    Parameters
    ----------
    state : str, default "CPU"
        ``"CPU"``, ``"GPU"`` or ``"All"``: which operators; all are recorded.
    tracer_option : str, default "Default"
        ``"Default"``, ``"OpDetail"`` or ``"AllOpDetail"``, which records shapes as well.

    Raises
    ------
    InvalidArgumentError
        An argument has another value.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.ones([2])
    >>> dygraph.profiler.start_profiler("CPU")
    >>> y = dygraph.ops.relu(x)
    >>> done = dygraph.profiler.stop_profiler("calls")  # doctest: +ELLIPSIS
    Event ... Calls ... Memory
    relu ... 1 ...
    >>> [(row.name, row.calls) for row in done.summary()]
    [('relu', 1)]
    """
    global _running
    check.choice(state, ("CPU", "GPU", "All"), "start_profiler: state")
    check.choice(tracer_option, ("Default", "OpDetail", "AllOpDetail"),
                 "start_profiler: tracer_option")  # fmt: skip
    if _running is None:
        _running = Profiler(record_shapes=tracer_option == "AllOpDetail")
        _running.start()


def stop_profiler(sorted_key=None, profile_path=None):
    """Stop recording, print the table and write a Chrome trace to `profile_path` if given.

    Parameters
    ----------
    sorted_key : str, optional
        ``"calls"``, ``"total"``, ``"max"``, ``"min"``, ``"ave"`` or ``"bytes"``, the largest first;
        None is ``"total"``.
    profile_path : str or os.PathLike, optional
        The file of the trace; None: none.

    Returns
    -------
    Profiler
        With the events.

    Raises
    ------
    PreconditionNotMetError
        No profile has been started.

    Examples
    --------
    >>> import dygraph
    >>> import dygraph, json, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
    >>> x = dygraph.ones([2])
    >>> dygraph.profiler.start_profiler("CPU")
    >>> y = dygraph.ops.relu(x)
    >>> done = dygraph.profiler.stop_profiler("total", path)  # doctest: +ELLIPSIS
    Event ... Calls ... Memory
    relu ... 1 ...
    >>> with open(path) as file:
    ...     [event["name"] for event in json.load(file)["traceEvents"]]
    ['relu']
    """
    global _running
    if _running is None:
        raise PreconditionNotMetError(
            "stop_profiler: a profiler must be running, got none. Call start_profiler() first"
        )
    key = sorted_key or "default"
    if not isinstance(key, str) or key not in (*SORTED_BY, *_KEYS):
        raise InvalidArgumentError(
            f"stop_profiler: sorted_key must be one of {', '.join(SORTED_BY)}, "
            f"got {kind_of(sorted_key)}"
        )
    done, _running = _running, None
    done.stop()
    print(done.table(_KEYS.get(key, key)))
    if profile_path is not None:
        done.export_chrome_trace(profile_path)
    return done


def reset_profiler():
    """Clear the recorded events.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.ones([2])
    >>> with dygraph.profiler.profiler():  # doctest: +ELLIPSIS
    ...     y = dygraph.ops.relu(x)
    ...     dygraph.profiler.reset_profiler()
    ...     y = dygraph.tanh(x)
    Event ... Calls ... Memory
    tanh ... 1 ...
    """
    _core.watch.clear()


@contextlib.contextmanager
def profiler(state="CPU", sorted_key=None, profile_path=None, tracer_option="Default"):
    """``with profiler("CPU", "total", path):`` prints the event table and writes a Chrome trace.

    Parameters
    ----------
    state : str, default "CPU"
        As of `start_profiler`.
    sorted_key : str, optional
        As of `stop_profiler`.
    profile_path : str or os.PathLike, optional
        The file of the trace; None: none.
    tracer_option : str, default "Default"
        As of `start_profiler`.

    Raises
    ------
    InvalidArgumentError
        An argument has another value.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.ones([2])
    >>> with dygraph.profiler.profiler("CPU", "calls"):  # doctest: +ELLIPSIS
    ...     y = dygraph.ops.relu(dygraph.ops.relu(x))
    Event ... Calls ... Memory
    relu ... 2 ...
    """
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


def cuda_profiler(output_file, output_mode=None, config=None):
    """Fluid's switch for nvprof, which is not there: use `Profiler`.

    Parameters
    ----------
    output_file, output_mode, config : object
        Accepted as in Fluid; not used.

    Raises
    ------
    UnimplementedError
        Always.

    Examples
    --------
    >>> import dygraph
    >>> try:
    ...     dygraph.profiler.cuda_profiler("trace")
    ... except dygraph.errors.UnimplementedError as error:
    ...     print(str(error)[:14])
    cuda_profiler:
    """
    raise UnimplementedError(
        "cuda_profiler: needs a build with CUDA, got one without. Use dygraph.profiler.Profiler"
    )
