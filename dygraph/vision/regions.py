"""Regions of images and convolutions whose taps move, for `dygraph.vision.ops`.

Examples
--------
>>> import dygraph, numpy as np
>>> from dygraph.vision import regions
>>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
>>> boxes = dygraph.to_variable([[0.0, 0.0, 2.0, 2.0]]).astype("float64")
>>> regions.roi_align(x, [boxes], output_size=2, aligned=False).tolist()
[[[[2.5, 3.5], [6.5, 7.5]]]]
"""

import math

import dygraph
from dygraph import _core, initializer
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.nn.layer import Layer

__all__ = [
    "DeformConv2D", "PSRoIPool", "RoIAlign", "RoIPool", "deform_conv2d", "psroi_pool", "roi_align",
    "roi_pool", "run",
]  # fmt: skip


def run(type, slots, attrs, counts=None):
    """The results of an operator by slot; inputs that are None are left out."""
    given = {slot: value for slot, value in slots.items() if value is not None}
    return _core.run_op(type, given, attrs, counts or {})


def _regions(x, boxes, boxes_num, owner):
    """{slot: value} of regions in Paddle's form, in torchvision's, or with a level of detail."""
    check.variable(x, f"{owner}: x")
    if boxes_num is not None and not isinstance(boxes_num, _core.Variable):
        raise ArgumentTypeError(
            f"{owner}: boxes_num must be a Variable with the number of boxes of each image, got "
            f"{kind_of(boxes_num)}. Write output_size=... by name"
        )
    if isinstance(boxes, (list, tuple)):  # one Variable for each image
        if boxes_num is not None:
            raise InvalidArgumentError(
                f"{owner}: boxes_num must be left out for a list of boxes, one Variable for each "
                f"image, got {kind_of(boxes_num)}"
            )
        for b in boxes:
            check.variable(b, f"{owner}: boxes")
        counts = [len(b) for b in boxes]
        boxes = dygraph.concat(list(boxes), axis=0)
        boxes_num = dygraph.to_variable(counts, dtype="int32")
    check.variable(boxes, f"{owner}: boxes")
    if len(boxes.shape) == 2 and boxes.shape[1] == 5 and boxes_num is None:
        raise InvalidArgumentError(
            f"{owner}: boxes must be [boxes, 4], got 5 columns. Give a list with the boxes of each "
            f"image in place of a column with its number"
        )
    return {"X": x, "ROIs": boxes, "RoisNum": boxes_num}


def _pooled(output_size, owner):
    high, wide = check.integers(output_size, 2, f"{owner}: output_size", 1)
    return {"pooled_height": high, "pooled_width": wide}


def roi_align(
    x, boxes, boxes_num=None, output_size=None, spatial_scale=1.0, sampling_ratio=-1, aligned=None,
    name=None,
):  # fmt: skip
    """Regions as grids of one size, by samples between pixels (He and others, Mask R-CNN, 2017).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    boxes : Variable or list of Variable
        ``[boxes, 4]``, corners ``(x1, y1, x2, y2)``; or a list with those of each image.
    boxes_num : Variable, optional
        How many boxes each image has, ``[batch]`` int32; not for a list, nor for boxes with a
        level of detail.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `x` for a unit of `boxes`.
    sampling_ratio : int, default -1
        Samples along each axis of a bin; 0 or less: as many as it has pixels, rounded up.
    aligned : bool
        True: pixels have their middles at halves. To be said, since Paddle's default is True and
        torchvision's False.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[boxes, channels, *output_size]``

    Raises
    ------
    InvalidArgumentError
        `aligned` or `output_size` is not given, or the boxes do not fit `x`.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> boxes = dygraph.to_variable(np.array([[0.0, 0.0, 3.0, 3.0]]))
    >>> one = dygraph.to_variable(np.array([1], "int32"))
    >>> dygraph.vision.ops.roi_align(x, boxes, one, 1, aligned=False).tolist()
    [[[[7.5]]]]
    """
    if aligned is None:
        raise InvalidArgumentError(
            "roi_align: aligned must be given, for Paddle's default is True and torchvision's "
            "False. Write aligned=True or aligned=False"
        )
    slots = _regions(x, boxes, boxes_num, "roi_align")
    attrs = {
        **_pooled(output_size, "roi_align"), "spatial_scale": spatial_scale,
        "sampling_ratio": sampling_ratio, "aligned": bool(aligned),
    }  # fmt: skip
    return run("roi_align", slots, attrs)["Out"]


def roi_pool(x, boxes, boxes_num=None, output_size=None, spatial_scale=1.0, name=None):
    """Regions as grids of one size, by their greatest pixels (Girshick, Fast R-CNN, 2015).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    boxes : Variable or list of Variable
        ``[boxes, 4]``, corners ``(x1, y1, x2, y2)``; or a list with those of each image.
    boxes_num : Variable, optional
        How many boxes each image has, ``[batch]`` int32; not for a list, nor for boxes with a
        level of detail.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `x` for a unit of `boxes`.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[boxes, channels, *output_size]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> boxes = [dygraph.to_variable(np.array([[0.0, 0.0, 3.0, 2.0]]))]
    >>> dygraph.vision.ops.roi_pool(x, boxes, output_size=(1, 2)).tolist()
    [[[[9.0, 11.0]]]]
    """
    slots = _regions(x, boxes, boxes_num, "roi_pool")
    attrs = {**_pooled(output_size, "roi_pool"), "spatial_scale": spatial_scale}
    return run("roi_pool", slots, attrs)["Out"]


def psroi_pool(x, boxes, boxes_num=None, output_size=None, spatial_scale=1.0, name=None):
    """Regions of position-sensitive score maps (Dai and others, R-FCN, 2016).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, the channels a multiple of the bins; float32 or
        float64.
    boxes : Variable or list of Variable
        ``[boxes, 4]``, corners ``(x1, y1, x2, y2)``; or a list with those of each image.
    boxes_num : Variable, optional
        How many boxes each image has, ``[batch]`` int32; not for a list, nor for boxes with a
        level of detail.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `x` for a unit of `boxes`.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[boxes, channels / bins, *output_size]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 4, 2, 2))
    >>> boxes = [dygraph.to_variable(np.array([[0.0, 0.0, 1.0, 1.0]]))]
    >>> dygraph.vision.ops.psroi_pool(x, boxes, output_size=2).tolist()
    [[[[0.0, 5.0], [10.0, 15.0]]]]
    """
    slots, attrs = _regions(x, boxes, boxes_num, "psroi_pool"), _pooled(output_size, "psroi_pool")
    bins = attrs["pooled_height"] * attrs["pooled_width"]
    if len(x.shape) == 4 and x.shape[1] % bins:
        raise InvalidArgumentError(
            f"psroi_pool: the channels of x must be a multiple of the {bins} bins, got shape "
            f"{list(x.shape)}"
        )
    attrs.update(spatial_scale=spatial_scale, output_channels=x.shape[1] // bins)
    return run("psroi_pool", slots, attrs)["Out"]


def deform_conv2d(
    x, offset, weight, bias=None, stride=1, padding=0, dilation=1, deformable_groups=None, groups=1,
    mask=None, name=None,
):  # fmt: skip
    """A convolution whose taps move (Dai and others, 2017; Zhu and others, 2019).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    offset : Variable
        ``[batch, 2 * deformable_groups * taps, new height, new width]``: how far each tap moves
        down, and across, in pixels.
    weight : Variable
        ``[out channels, channels / groups, height, width]``
    bias : Variable, optional
        ``[out channels]``
    stride, padding, dilation : int or (int, int)
        For height and width.
    deformable_groups : int, optional
        Groups of channels with offsets of their own; None: what `offset` has.
    groups : int, default 1
        Groups of channels with filters of their own.
    mask : Variable, optional
        ``[batch, deformable_groups * taps, new height, new width]``, what each tap is multiplied
        by.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[batch, out channels, new height, new width]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(9.0).reshape(1, 1, 3, 3))
    >>> offset = dygraph.full([1, 2, 3, 3], 0.5, "float64")
    >>> weight = dygraph.ones([1, 1, 1, 1], "float64")
    >>> dygraph.vision.ops.deform_conv2d(x, offset, weight).tolist()
    [[[[2.0, 3.0, 1.75], [5.0, 6.0, 3.25], [3.25, 3.75, 2.0]]]]
    """
    owner = "deform_conv2d"
    for value, what in ((x, "x"), (offset, "offset"), (weight, "weight")):
        check.variable(value, f"{owner}: {what}")
    for value, what in ((bias, "bias"), (mask, "mask")):
        if value is not None:
            check.variable(value, f"{owner}: {what}")
    if deformable_groups is None:
        taps = weight.shape[2] * weight.shape[3] if len(weight.shape) == 4 else 1
        deformable_groups = max(offset.shape[1] // (2 * taps), 1) if len(offset.shape) == 4 else 1
    attrs = {
        "strides": check.integers(stride, 2, f"{owner}: stride", 1),
        "paddings": check.integers(padding, 2, f"{owner}: padding", 0),
        "dilations": check.integers(dilation, 2, f"{owner}: dilation", 1),
        "deformable_groups": deformable_groups, "groups": groups,
    }  # fmt: skip
    slots = {"Input": x, "Offset": offset, "Filter": weight, "Mask": mask}
    out = run("deformable_conv", slots, attrs)["Output"]
    return out if bias is None else out + bias.reshape([1, -1, 1, 1])


class DeformConv2D(Layer):
    """`deform_conv2d` with its weights.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels before and after.
    kernel_size, stride, padding, dilation : int or (int, int)
        For height and width.
    deformable_groups, groups : int, default 1
        Groups of channels with offsets of their own, and with filters of their own.
    weight_attr, bias_attr : ParamAttr, str, Initializer, None or False
        Weights are initialised from the normal distribution with deviation
        ``sqrt(2 / (height * width * in_channels))``. False: no bias.

    Attributes
    ----------
    weight : Parameter
        ``[out_channels, in_channels / groups, height, width]``.
    bias : Parameter or None
        ``[out_channels]``.

    Examples
    --------
    >>> import dygraph
    >>> conv = dygraph.vision.ops.DeformConv2D(1, 4, 3, padding=1)
    >>> conv(dygraph.ones([2, 1, 5, 5]), dygraph.zeros([2, 18, 5, 5])).shape
    (2, 4, 5, 5)
    """

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
        deformable_groups=1, groups=1, weight_attr=None, bias_attr=None,
    ):  # fmt: skip
        super().__init__()
        owner = "DeformConv2D"
        channels = check.integer(in_channels, f"{owner}: in_channels", 1)
        count = check.integer(out_channels, f"{owner}: out_channels", 1)
        groups = check.integer(groups, f"{owner}: groups", 1)
        if channels % groups or count % groups:
            raise InvalidArgumentError(
                f"{owner}: groups must divide in_channels {channels} and out_channels {count}, got "
                f"{groups}"
            )
        window = check.integers(kernel_size, 2, f"{owner}: kernel_size", 1)
        deviation = math.sqrt(2.0 / (window[0] * window[1] * channels))
        self.weight = self.create_parameter(
            [count, channels // groups, *window], attr=weight_attr,
            default_initializer=initializer.Normal(0.0, deviation),
        )  # fmt: skip
        self.bias = self.create_parameter([count], attr=bias_attr, is_bias=True)
        self._options = {
            "stride": stride, "padding": padding, "dilation": dilation,
            "deformable_groups": deformable_groups, "groups": groups,
        }  # fmt: skip

    def forward(self, x, offset, mask=None):
        return deform_conv2d(x, offset, self.weight, self.bias, mask=mask, **self._options)


class _Pool(Layer):
    def __init__(self, output_size, spatial_scale=1.0):
        super().__init__()
        self.output_size = check.integers(output_size, 2, f"{type(self).__name__}: output_size", 1)
        self.spatial_scale = spatial_scale


class RoIPool(_Pool):
    """`roi_pool` as a layer.

    Parameters
    ----------
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of the images for a unit of boxes.

    Examples
    --------
    >>> import dygraph
    >>> boxes = [dygraph.to_variable([[0.0, 0.0, 3.0, 2.0]])]
    >>> dygraph.vision.ops.RoIPool(2)(dygraph.ones([1, 3, 4, 4]), boxes).shape
    (1, 3, 2, 2)
    """

    def forward(self, x, boxes, boxes_num=None):
        return roi_pool(x, boxes, boxes_num, self.output_size, self.spatial_scale)


class PSRoIPool(_Pool):
    """`psroi_pool` as a layer.

    Parameters
    ----------
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of the images for a unit of boxes.

    Examples
    --------
    >>> import dygraph
    >>> boxes = [dygraph.to_variable([[0.0, 0.0, 3.0, 2.0]])]
    >>> dygraph.vision.ops.PSRoIPool(2)(dygraph.ones([1, 8, 4, 4]), boxes).shape
    (1, 2, 2, 2)
    """

    def forward(self, x, boxes, boxes_num=None):
        return psroi_pool(x, boxes, boxes_num, self.output_size, self.spatial_scale)


class RoIAlign(_Pool):
    """`roi_align` as a layer.

    Parameters
    ----------
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of the images for a unit of boxes.
    sampling_ratio : int, default -1
        Samples along each axis of a bin; 0 or less: as many as it has pixels, rounded up.
    aligned : bool, optional
        As of `roi_align`; it may be given in the call instead.

    Examples
    --------
    >>> import dygraph
    >>> boxes = [dygraph.to_variable([[0.0, 0.0, 3.0, 2.0]])]
    >>> dygraph.vision.ops.RoIAlign(2, aligned=True)(dygraph.ones([1, 3, 4, 4]), boxes).shape
    (1, 3, 2, 2)
    """

    def __init__(self, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=None):
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, x, boxes, boxes_num=None, aligned=None):
        return roi_align(
            x, boxes, boxes_num, self.output_size, self.spatial_scale, self.sampling_ratio,
            self.aligned if aligned is None else aligned,
        )  # fmt: skip
