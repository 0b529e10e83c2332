"""`dygraph.lr` where Paddle 2 has it: ``from dygraph.optimizer.lr import StepDecay``."""

import sys

import dygraph.lr
from dygraph.lr import *  # noqa: F403

sys.modules[__name__] = dygraph.lr
