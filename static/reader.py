"""`dygraph.reader`, by Fluid's name."""

import sys

from dygraph.reader import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.reader"]  # what the import gives
