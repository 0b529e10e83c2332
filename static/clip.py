"""`dygraph.nn.clip`, by Fluid's name."""

import sys

from dygraph.nn.clip import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.nn.clip"]  # what the import gives
