"""`dygraph.unique_name`, by Fluid's name."""

import sys

from dygraph.unique_name import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.unique_name"]  # what the import gives
