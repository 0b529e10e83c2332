"""Where the time of a run goes: `dygraph.profiler`, which sees the operators of programs too.

>>> import numpy as np
>>> from dygraph import static
>>> main = static.Program()
>>> with static.program_guard(main):
...     y = static.layers.relu(static.data("x", [None, 2], "float32"))
>>> with static.profiler.profiler("CPU", "total"):  # doctest: +ELLIPSIS
...     done = static.Executor().run(main, {"x": np.ones((1, 2), "float32")}, [y])
Event ... Calls ... Memory
...relu ... 1 ...
"""

from dygraph.profiler import (
    Profiler,
    RecordEvent,
    cuda_profiler,
    profiler,
    reset_profiler,
    start_profiler,
    stop_profiler,
)

__all__ = [
    "Profiler", "RecordEvent", "cuda_profiler", "profiler", "reset_profiler", "start_profiler",
    "stop_profiler",
]  # fmt: skip
