"""Layers that mean something else in Fluid, or take their arguments in another order.

``fluid.dygraph`` has these in place of those in `dygraph.nn`.
"""

from dygraph import nn

__all__ = ["Conv2DTranspose", "Conv3DTranspose", "Dropout"]


class Conv2DTranspose(nn.Conv2DTranspose):
    """`dygraph.nn.Conv2DTranspose` with Fluid's order of arguments.

    >>> from dygraph.fluid.layers import Conv2DTranspose
    >>> import dygraph
    >>> Conv2DTranspose(8, 4, 4, None, 1, 2)(dygraph.ones([1, 8, 7, 7])).shape
    (1, 4, 14, 14)
    """

    def __init__(
        self, num_channels, num_filters, filter_size, output_size=None, padding=0, stride=1,
        dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None,
        dtype=None,
    ):  # fmt: skip
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, output_size=output_size,
            dilation=dilation, groups=groups, param_attr=param_attr, bias_attr=bias_attr, act=act,
            dtype=dtype,
        )  # fmt: skip


class Conv3DTranspose(nn.Conv3DTranspose):
    """`dygraph.nn.Conv3DTranspose` with Fluid's order of arguments.

    >>> from dygraph.fluid.layers import Conv3DTranspose
    >>> import dygraph
    >>> Conv3DTranspose(8, 4, 4, 1, 2)(dygraph.ones([1, 8, 3, 3, 3])).shape
    (1, 4, 6, 6, 6)
    """

    def __init__(
        self, num_channels, num_filters, filter_size, padding=0, stride=1, dilation=1, groups=None,
        param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, dilation=dilation,
            groups=groups, param_attr=param_attr, bias_attr=bias_attr, act=act, dtype=dtype,
        )  # fmt: skip


class Dropout(nn.Dropout):
    """Fluid's `Dropout`: in eval mode it multiplies by ``1 - p``, in training it does not divide.

    Arguments as those of `dygraph.nn.Dropout`, whose default is the other implementation.

    >>> from dygraph.fluid.layers import Dropout
    >>> import dygraph
    >>> Dropout(0.25).eval()(dygraph.full([2], 4.0)).tolist()
    [3.0, 3.0]
    """

    def __init__(
        self, p=0.5, seed=None, dropout_implementation="downgrade_in_infer", is_test=False
    ):
        super().__init__(p, seed, dropout_implementation, is_test)
