"""`dygraph.data_feeder`, by Fluid's name."""

import sys

from dygraph.data_feeder import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.data_feeder"]  # what the import gives
