"""`dygraph.nn.param_attr`, by Fluid's name."""

import sys

from dygraph.nn.param_attr import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.nn.param_attr"]  # what the import gives
