"""`dygraph.clip`, by Fluid's name."""

import sys

from dygraph.clip import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.clip"]  # what the import gives
