"""`dygraph.parallel`, by Fluid's name."""

import sys

from dygraph.parallel import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.parallel"]  # what the import gives
