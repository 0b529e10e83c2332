"""`dygraph.dataset`, by Fluid's name."""

import sys

from dygraph.dataset import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.dataset"]  # what the import gives
