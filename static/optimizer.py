"""Optimizers for programs: `minimize` appends backward, clipping, decay and update.

The classes are those of `dygraph.optimizer`, with the same tables of operators and accumulators;
here they take no parameters, since the program has them.

>>> from dygraph import static
>>> main, startup = static.Program(), static.Program()
>>> with static.program_guard(main, startup):
...     x = static.data("x", [None, 3], "float32")
...     loss = static.layers.mean(static.layers.fc(x, size=1))
...     _, pairs = static.optimizer.SGD(learning_rate=0.1).minimize(loss)
>>> [op.type for op in main.global_block().ops][-2:]
['sgd', 'sgd']
"""

import dygraph
from dygraph.static.averages import (
    ExponentialMovingAverage,
    Lookahead,
    LookaheadOptimizer,
    ModelAverage,
)
from dygraph.static.dygraph.optimizers import eager_optimizer
from dygraph.static.in_programs import InPrograms
from dygraph.static.program import computes
from dygraph.static.recompute_optimizer import RecomputeOptimizer

__all__ = [
    "SGD", "Momentum", "Adagrad", "Adam", "AdamW", "Adamax", "Dpsgd", "DecayedAdagrad", "Adadelta",
    "RMSProp", "Ftrl", "Lamb", "LarsMomentum", "NAdam", "RAdam", "ExponentialMovingAverage",
    "Lookahead", "LookaheadOptimizer", "ModelAverage", "RecomputeOptimizer",
]  # fmt: skip


def _in_programs(name):
    """Fluid's class: of a program, and inside `dygraph.guard` of the eager mode."""
    eager = getattr(dygraph.optimizer, name)

    def new(cls, *args, **kwargs):
        if computes():
            return eager_optimizer(eager, args, kwargs)
        return eager.__new__(cls, *args, **kwargs)

    new.__wrapped__ = eager.__init__
    own = {"__doc__": eager.__doc__, "__module__": __name__, "__new__": new}
    return type(name.removesuffix("Optimizer"), (InPrograms, eager), own)


SGD = SGDOptimizer = _in_programs("SGD")
Momentum = MomentumOptimizer = _in_programs("Momentum")
Adagrad = AdagradOptimizer = _in_programs("Adagrad")
Adam = AdamOptimizer = _in_programs("AdamOptimizer")
AdamW = AdamWOptimizer = _in_programs("AdamW")
Adamax = AdamaxOptimizer = _in_programs("Adamax")
Dpsgd = DpsgdOptimizer = _in_programs("Dpsgd")
DecayedAdagrad = DecayedAdagradOptimizer = _in_programs("DecayedAdagrad")
Adadelta = AdadeltaOptimizer = _in_programs("AdadeltaOptimizer")
RMSProp = RMSPropOptimizer = _in_programs("RMSProp")
Ftrl = FtrlOptimizer = _in_programs("Ftrl")
Lamb = LambOptimizer = _in_programs("Lamb")
LarsMomentum = LarsMomentumOptimizer = _in_programs("LarsMomentum")
NAdam = NAdamOptimizer = _in_programs("NAdam")
RAdam = RAdamOptimizer = _in_programs("RAdam")
