"""`dygraph.jit`, by Fluid's name."""

import sys

from dygraph.jit import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.jit"]  # what the import gives
