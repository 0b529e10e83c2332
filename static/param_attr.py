"""`dygraph.param_attr`, by Fluid's name."""

import sys

from dygraph.param_attr import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.param_attr"]  # what the import gives
