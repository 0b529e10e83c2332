"""Layers that mean something else in Fluid, or take their arguments in another order.

``fluid.dygraph`` has these in place of those in `dygraph.nn`.
"""

from dygraph import nn

__all__ = ["Conv2DTranspose", "Conv3DTranspose", "Dropout"]


class Conv2DTranspose(nn.Conv2DTranspose):
    """`dygraph.nn.Conv2DTranspose` with Fluid's order of arguments.

    Parameters
    ----------
    num_channels : int
        The channels of the input.
    num_filters : int
        The channels of the result.
    filter_size : int or list of int
        Height and width of the window.
    output_size : int or list of int, optional
        The new height and width, where several give the size of the input; None: the smallest.
    padding : int or list of int, default 0
        Pixels cut off on each side.
    stride : int or list of int, default 1
        Steps of the window, down and across.
    dilation : int or list of int, default 1
        The distance between the pixels of a window.
    groups : int, optional
        How many convolutions share channels and filters; None is 1.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters, ``[num_channels, num_filters / groups,
        height, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; False: no bias.
    use_cudnn : bool, default True
        Accepted as in Fluid; not used.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    dtype : str or dtype, optional
        The type of the parameters; None: the default type.

    Examples
    --------
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

    Parameters
    ----------
    num_channels : int
        The channels of the input.
    num_filters : int
        The channels of the result.
    filter_size, padding, stride, dilation : int or list of int
        As of `Conv2DTranspose`, one number or one for each axis; by default 0, 1 and 1 for the last
        three.
    groups : int, optional
        How many convolutions share channels and filters; None is 1.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters, ``[num_channels, num_filters / groups,
        depth, height, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; False: no bias.
    use_cudnn : bool, default True
        Accepted as in Fluid; not used.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    dtype : str or dtype, optional
        The type of the parameters; None: the default type.

    Examples
    --------
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

    `dygraph.nn.Dropout` divides in training.

    Parameters
    ----------
    p : float, default 0.5
        The probability that an element becomes 0.
    seed : int, optional
        Drop the same elements in each call; None: others.
    dropout_implementation : str, default "downgrade_in_infer"
        ``"downgrade_in_infer"`` or ``"upscale_in_train"``, the rule of `dygraph.nn.Dropout`.
    is_test : bool, default False
        Whether to drop nothing.

    Examples
    --------
    >>> from dygraph.fluid.layers import Dropout
    >>> import dygraph
    >>> Dropout(0.25).eval()(dygraph.full([2], 4.0)).tolist()
    [3.0, 3.0]
    """

    def __init__(
        self, p=0.5, seed=None, dropout_implementation="downgrade_in_infer", is_test=False
    ):
        super().__init__(p, seed, dropout_implementation, is_test)
