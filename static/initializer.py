"""`dygraph.initializer`, by Fluid's name."""

import sys

from dygraph.initializer import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.initializer"]  # what the import gives
