"""`dygraph.nn`, by Fluid's name."""

import sys

from dygraph.nn import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.nn"]  # what the import gives
