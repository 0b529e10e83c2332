"""`dygraph.core.base`, by Fluid's name."""

import sys

from dygraph.core.base import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.core.base"]  # what the import gives
