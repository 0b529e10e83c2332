"""`dygraph.static.debugger`, as early versions of Fluid spell it."""

import sys

from dygraph.static.debugger import *  # noqa: F403

sys.modules[__name__] = sys.modules["dygraph.static.debugger"]  # what the import gives
