"""`dygraph.training.parallel`, by Fluid's name."""

import sys

from dygraph.training.parallel import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.training.parallel"]  # what the import gives
