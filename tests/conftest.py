"""Settings shared by all tests: one compute thread unless a test asks for more, and examples drawn the same way each run."""

import os

# Before libgomp loads. Several test processes on two cores would otherwise fight with spinning threads.
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
