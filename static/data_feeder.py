"""`dygraph.io.data_feeder`, by Fluid's name."""

import sys

from dygraph.io.data_feeder import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.io.data_feeder"]  # what the import gives
