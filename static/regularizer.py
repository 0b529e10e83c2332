"""`dygraph.regularizer`, by Fluid's name."""

import sys

from dygraph.regularizer import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.regularizer"]  # what the import gives
