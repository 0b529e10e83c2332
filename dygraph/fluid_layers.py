"""Layers that mean something else in Fluid than the layer of that name in `dygraph.nn`.

``fluid.dygraph`` has these in place of those.
"""

from dygraph import nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """Fluid's `Dropout`: in eval mode it multiplies by ``1 - p``, in training it does not divide.

    Arguments as those of `dygraph.nn.Dropout`, whose default is the other implementation.

    >>> from dygraph.fluid_layers import Dropout
    >>> import dygraph
    >>> Dropout(0.25).eval()(dygraph.full([2], 4.0)).tolist()
    [3.0, 3.0]
    """

    def __init__(
        self, p=0.5, seed=None, dropout_implementation="downgrade_in_infer", is_test=False
    ):
        super().__init__(p, seed, dropout_implementation, is_test)
