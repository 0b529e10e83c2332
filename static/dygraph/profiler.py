"""`dygraph.profiler`, by Fluid's name."""

import sys

from dygraph.profiler import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.profiler"]  # what the import gives
