"""Regions of images as grids of one size, and convolutions whose taps move.

Examples
--------
>>> import dygraph, numpy as np
>>> from dygraph import static
>>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
>>> rois = dygraph.to_variable(np.array([[0.0, 0.0, 2.0, 2.0]]), lod=[[0, 1]])
>>> static.layers.roi_align(x, rois, 2, 2).tolist()
[[[[2.5, 3.5], [6.5, 7.5]]]]
"""

import math

from dygraph import _core, initializer
from dygraph.core import check
from dygraph.errors import InvalidArgumentError, kind_of
from dygraph.static.layers.learnt import biased, known, parameter
from dygraph.static.layers.making import layer, operator, run

__all__ = [
    "deformable_conv", "deformable_roi_pooling", "prroi_pool", "psroi_pool", "roi_align",
    "roi_perspective_transform", "roi_pool",
]  # fmt: skip


@operator(input="X", rois_lod="RoisLod")
def roi_align(
    input, rois, pooled_height=1, pooled_width=1, spatial_scale=1.0, sampling_ratio=-1, name=None,
    rois_lod=None,
):  # fmt: skip
    """Regions as grids of one size, by samples between pixels (He and others, Mask R-CNN, 2017).

    Each region is cut into bins; a bin is the mean of samples at even distances, each a weighted
    mean of the four pixels around it.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    rois : Variable
        ``[regions, 4]``, corners ``(x1, y1, x2, y2)``; a level of detail says which image each
        lies in.
    pooled_height, pooled_width : int, default 1
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `input` for a unit of `rois`.
    sampling_ratio : int, default -1
        Samples along each axis of a bin; 0 or less: as many as it has pixels, rounded up.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    rois_lod : Variable, optional
        The offsets of the level of detail as integers ``[batch + 1]``.

    Returns
    -------
    Variable
        ``[regions, channels, pooled_height, pooled_width]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> rois = dygraph.to_variable(np.array([[0.0, 0.0, 3.0, 3.0]]), lod=[[0, 1]])
    >>> layers.roi_align(x, rois).tolist()
    [[[[7.5]]]]
    """


@operator(input="X", rois_lod="RoisLod")
def roi_pool(
    input, rois, pooled_height=1, pooled_width=1, spatial_scale=1.0, rois_lod=None,
):  # fmt: skip
    """Regions as grids of one size, by their greatest pixels (Girshick, Fast R-CNN, 2015).

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    rois : Variable
        ``[regions, 4]``, corners ``(x1, y1, x2, y2)`` that are rounded to pixels; a level of
        detail says which image each lies in.
    pooled_height, pooled_width : int, default 1
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `input` for a unit of `rois`.
    rois_lod : Variable, optional
        The offsets of the level of detail as integers ``[batch + 1]``.

    Returns
    -------
    Variable
        ``[regions, channels, pooled_height, pooled_width]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> rois = dygraph.to_variable(np.array([[0.0, 0.0, 3.0, 2.0]]), lod=[[0, 1]])
    >>> layers.roi_pool(x, rois, pooled_width=2).tolist()
    [[[[9.0, 11.0]]]]
    """


@operator(input="X")
def psroi_pool(
    input, rois, output_channels, spatial_scale, pooled_height, pooled_width, name=None
):  # fmt: skip
    """Regions of position-sensitive score maps (Dai and others, R-FCN, 2016).

    Bin ``(i, j)`` of channel ``c`` is the mean of the pixels under it in plane
    ``(c * pooled_height + i) * pooled_width + j`` of `input`.

    Parameters
    ----------
    input : Variable
        ``[batch, output_channels * pooled_height * pooled_width, height, width]``; float32 or
        float64.
    rois : Variable
        ``[regions, 4]``, corners ``(x1, y1, x2, y2)`` that are rounded to pixels; a level of
        detail says which image each lies in.
    output_channels : int
        The channels of the result.
    spatial_scale : float
        Pixels of `input` for a unit of `rois`.
    pooled_height, pooled_width : int
        Rows and columns of bins.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[regions, output_channels, pooled_height, pooled_width]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 4, 2, 2))
    >>> rois = dygraph.to_variable(np.array([[0.0, 0.0, 1.0, 1.0]]), lod=[[0, 1]])
    >>> layers.psroi_pool(x, rois, 1, 1.0, 2, 2).tolist()
    [[[[0.0, 5.0], [10.0, 15.0]]]]
    """


@operator(input="X", batch_roi_nums="BatchRoINums")
def prroi_pool(
    input, rois, spatial_scale=1.0, pooled_height=1, pooled_width=1, batch_roi_nums=None,
    name=None,
):  # fmt: skip
    """Regions as grids of one size, by integrals (Jiang and others, 2018).

    A bin is the integral over it of the image between its pixels, divided by its area. The corners
    of regions have gradients too.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    rois : Variable
        ``[regions, 4]``, corners ``(x1, y1, x2, y2)``; a level of detail says which image each
        lies in.
    spatial_scale : float, default 1.0
        Pixels of `input` for a unit of `rois`.
    pooled_height, pooled_width : int, default 1
        Rows and columns of bins.
    batch_roi_nums : Variable, optional
        How many regions each image has, ``[batch]`` integers, in place of the level of detail.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[regions, channels, pooled_height, pooled_width]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> rois = dygraph.to_variable(np.array([[0.0, 0.0, 2.0, 2.0]]), lod=[[0, 1]])
    >>> layers.prroi_pool(x, rois, pooled_width=2).tolist()
    [[[[4.5, 5.5]]]]
    """


@operator(input="X")
def roi_perspective_transform(
    input, rois, transformed_height, transformed_width, spatial_scale=1.0, name=None
):
    """Quadrilaterals of images as rectangles.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    rois : Variable
        ``[regions, 8]``: x and y of the upper left corner, then clockwise; a level of detail says
        which image each lies in.
    transformed_height, transformed_width : int
        Rows and columns of the rectangles.
    spatial_scale : float, default 1.0
        Pixels of `input` for a unit of `rois`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    out : Variable
        ``[regions, channels, transformed_height, transformed_width]``
    mask : Variable
        ``[regions, 1, transformed_height, transformed_width]``, 1 inside the region.
    transform_matrix : Variable
        ``[regions, 9]``, from the rectangle to the image.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> rois = dygraph.to_variable(np.array([[0.0, 0, 2, 0, 2, 2, 0, 2]]), lod=[[0, 1]])
    >>> out, mask, matrix = layers.roi_perspective_transform(x, rois, 2, 2)
    >>> out.tolist()
    [[[[0.0, 2.0], [8.0, 10.0]]]]
    """


@layer
def deformable_roi_pooling(
    input, rois, trans, no_trans=False, spatial_scale=1.0,
    group_size=[1, 1], pooled_height=1, pooled_width=1,  # noqa: B006
    part_size=None, sample_per_part=1, trans_std=0.1, position_sensitive=False, name=None,
):  # fmt: skip
    """Regions as grids whose bins move (Dai and others, Deformable convolutional networks, 2017).

    A bin is the mean of samples, each a weighted mean of four pixels; `trans` says how far bins
    move.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    rois : Variable
        ``[regions, 4]``, corners ``(x1, y1, x2, y2)`` that are rounded to pixels; a level of
        detail says which image each lies in.
    trans : Variable
        ``[regions, 2 * classes, part height, part width]``, how far bins move across and down, in
        parts of the region.
    no_trans : bool, default False
        `trans` is not read.
    spatial_scale : float, default 1.0
        Pixels of `input` for a unit of `rois`.
    group_size : list of int, default [1, 1]
        Rows and columns of groups of bins, each with planes of its own.
    pooled_height, pooled_width : int, default 1
        Rows and columns of bins.
    part_size : list of int, optional
        Rows and columns of `trans`; None: one for each bin.
    sample_per_part : int, default 1
        Samples along each axis of a bin.
    trans_std : float, default 0.1
        What `trans` is multiplied by.
    position_sensitive : bool, default False
        The result has ``channels / pooled_height / pooled_width`` channels, not all.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[regions, channels of the result, pooled_height, pooled_width]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> rois = dygraph.to_variable(np.array([[0.0, 0.0, 2.0, 2.0]]), lod=[[0, 1]])
    >>> trans = dygraph.zeros([1, 2, 1, 1], "float64")
    >>> layers.deformable_roi_pooling(x, rois, trans, sample_per_part=2).tolist()
    [[[[2.5]]]]
    """
    owner = "deformable_roi_pooling"
    check.variable(input, f"{owner}: input")
    channels = known(input.shape[1], owner, "the channels", input)
    if position_sensitive:
        bins = pooled_height * pooled_width
        if channels % bins:
            raise InvalidArgumentError(
                f"{owner}: with position_sensitive the channels of input must be a multiple of the "
                f"{bins} bins, got {channels}"
            )
        channels //= bins
    attrs = {
        "no_trans": no_trans,
        "spatial_scale": spatial_scale,
        "output_dim": channels,
        "group_size": check.integers(group_size, 2, f"{owner}: group_size", 1),
        "pooled_height": pooled_height,
        "pooled_width": pooled_width,
        "part_size": [pooled_height, pooled_width]
        if part_size is None
        else check.integers(part_size, 2, f"{owner}: part_size", 1),
        "sample_per_part": sample_per_part,
        "trans_std": trans_std,
    }
    slots = {"Input": input, "ROIs": rois, "Trans": trans}
    return run("deformable_psroi_pooling", slots, attrs)["Output"]


@layer(parameters=True)
def deformable_conv(
    input, offset, mask, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
    deformable_groups=None, im2col_step=None, param_attr=None, bias_attr=None, modulated=True,
    name=None,
):  # fmt: skip
    """A convolution whose taps move, plus a bias (Dai and others, 2017; Zhu and others, 2019).

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    offset : Variable
        ``[batch, 2 * deformable_groups * taps, new height, new width]``: how far each tap moves
        down, and across, in pixels.
    mask : Variable or None
        ``[batch, deformable_groups * taps, new height, new width]``, what each tap is multiplied
        by; only with `modulated`.
    num_filters : int
        The channels of the result.
    filter_size, stride, padding, dilation : int or list of int
        One number, or one for height and one for width.
    groups, deformable_groups : int, optional
        Groups of channels with filters of their own, and with offsets of their own; None is 1.
    im2col_step : int, optional
        Accepted as in Fluid; has no effect.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters, ``[num_filters, channels / groups,
        height, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; False: no bias.
    modulated : bool, default True
        Whether there is a mask.
    name : str, optional
        The name of the result.

    Returns
    -------
    Variable
        ``[batch, num_filters, new height, new width]``

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("image", [None, 1, 3, 3], "float32")
    ...     offset = static.data("offset", [None, 2, 3, 3], "float32")
    ...     y = static.layers.deformable_conv(x, offset, None, num_filters=1, filter_size=1,
    ...                                       modulated=False)
    ...     y.shape
    (-1, 1, 3, 3)
    """
    owner = "deformable_conv"
    check.variable(input, f"{owner}: input")
    check.variable(offset, f"{owner}: offset")
    if modulated and not isinstance(mask, _core.Variable):
        raise InvalidArgumentError(
            f"{owner}: mask must be a Variable with modulated=True, got {mask!r}. Write "
            "modulated=False"
        )
    if not modulated and mask is not None:
        raise InvalidArgumentError(
            f"{owner}: mask must be None with modulated=False, got {kind_of(mask)}"
        )
    if len(input.shape) != 4:
        raise InvalidArgumentError(
            f"{owner}: input must have 4 axes, NCHW, got shape {list(input.shape)}"
        )
    channels = known(input.shape[1], owner, "the channels", input)
    count = check.integer(num_filters, f"{owner}: num_filters", 1)
    groups = 1 if groups is None else check.integer(groups, f"{owner}: groups", 1)
    if channels % groups:
        raise InvalidArgumentError(
            f"{owner}: groups must divide the channels {channels}, got {groups}"
        )
    window = check.integers(filter_size, 2, f"{owner}: filter_size", 1)
    deviation = math.sqrt(2.0 / (window[0] * window[1] * channels))
    weight = parameter(
        [count, channels // groups, *window], input.dtype, param_attr,
        start=initializer.Normal(0.0, deviation),
    )  # fmt: skip
    attrs = {
        "strides": check.integers(stride, 2, f"{owner}: stride", 1),
        "paddings": check.integers(padding, 2, f"{owner}: padding", 0),
        "dilations": check.integers(dilation, 2, f"{owner}: dilation", 1),
        "groups": groups,
        "deformable_groups": 1 if deformable_groups is None else deformable_groups,
        "im2col_step": 64 if im2col_step is None else im2col_step,
    }
    slots = {"Input": input, "Offset": offset, "Filter": weight, "Mask": mask}
    made = run("deformable_conv" if modulated else "deformable_conv_v1", slots, attrs)["Output"]
    return biased(made, count, bias_attr, 1)
