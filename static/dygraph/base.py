"""`dygraph.base`, by Fluid's name."""

import sys

from dygraph.base import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.base"]  # what the import gives
