"""Settings of all tests: one compute thread by default, and the same random examples each run."""

import os
import signal

# A shell starts what it runs in the background with Ctrl-C ignored, which children would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests run in several processes, which share the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "deterministic",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deterministic")
