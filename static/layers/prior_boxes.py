"""Boxes at the cells of feature maps, and the head of SSD that uses them."""

import math

from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.convolution import conv2d
from dygraph.static.layers.making import layer, run
from dygraph.static.layers.manipulation import concat, reshape, transpose
from dygraph.vision import ops
from dygraph.vision.boxes import listed, pair

__all__ = ["anchor_generator", "density_prior_box", "multi_box_head", "prior_box"]

VARIANCE = [0.1, 0.1, 0.2, 0.2]


@layer
def prior_box(
    input, image, min_sizes, max_sizes=None, aspect_ratios=[1.0],  # noqa: B006
    variance=[0.1, 0.1, 0.2, 0.2], flip=False, clip=False, steps=[0.0, 0.0],  # noqa: B006
    offset=0.5, name=None, min_max_aspect_ratios_order=False,
):  # fmt: skip
    """The default boxes of SSD at each cell of a feature map, as `dygraph.vision.ops.prior_box`.

    Parameters
    ----------
    input, image : Variable
        Feature map and image, ``[batch, channels, height, width]``; their sizes are read.
    min_sizes : float or list of float
        Sizes in pixels.
    max_sizes : float or list of float, optional
        One for each min size, greater than it.
    aspect_ratios : float or list of float
        Widths over heights; 1 is always among them.
    variance : list of float
        Four numbers that go with each box.
    flip : bool
        Also the inverse ratios.
    clip : bool
        Cut boxes off at the borders of the image.
    steps : list of float
        Width and height of a cell in pixels; 0: image over feature map.
    offset : float
        Of the centre in the cell.
    name : str, optional
        The name of the results in a program.
    min_max_aspect_ratios_order : bool
        True: the square of the max size is second at each cell, as in Caffe; else last.

    Returns
    -------
    boxes, variances : Variable
        ``[height, width, boxes of a cell, 4]``; sides in parts of the image.

    Raises
    ------
    InvalidArgumentError
        The sizes or `steps` do not fit, or a number is not above 0.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> map, image = dygraph.zeros([1, 8, 1, 2]), dygraph.zeros([1, 3, 4, 8])
    >>> boxes, _ = layers.prior_box(map, image, min_sizes=2.0)
    >>> boxes.tolist()
    [[[[0.125, 0.25, 0.375, 0.75]], [[0.625, 0.25, 0.875, 0.75]]]]
    """
    return ops.prior_box(
        input, image, min_sizes, max_sizes, aspect_ratios, variance, flip, clip, steps, offset,
        min_max_aspect_ratios_order,
    )  # fmt: skip


@layer
def density_prior_box(
    input, image, densities=None, fixed_sizes=None, fixed_ratios=None,
    variance=[0.1, 0.1, 0.2, 0.2], clip=False, steps=[0.0, 0.0], offset=0.5,  # noqa: B006
    flatten_to_2d=False, name=None,
):  # fmt: skip
    """The default boxes of FaceBoxes (Zhang and others, 2017): several centres in each cell.

    Parameters
    ----------
    input, image : Variable
        Feature map and image, ``[batch, channels, height, width]``; their sizes are read.
    densities : list of int
        For each size ``d``: ``d * d`` boxes, spread evenly over the cell.
    fixed_sizes : list of float
        Sizes in pixels.
    fixed_ratios : list of float
        Widths over heights.
    variance : list of float
        Four numbers that go with each box.
    clip : bool
        Accepted as in Fluid; boxes are always cut off at the borders of the image.
    steps : list of float
        Width and height of a cell in pixels; 0: image over feature map.
    offset : float
        Of the centre in the cell.
    flatten_to_2d : bool
        True: the results are ``[all boxes, 4]``.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    boxes, variances : Variable
        ``[height, width, boxes of a cell, 4]``; sides in parts of the image.

    Raises
    ------
    InvalidArgumentError
        `densities` and `fixed_sizes` or `steps` do not fit, or a number is not above 0.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> map, image = dygraph.zeros([1, 8, 1, 1]), dygraph.zeros([1, 3, 8, 8])
    >>> boxes, _ = layers.density_prior_box(map, image, [2], [2.0], [1.0], flatten_to_2d=True)
    >>> boxes[0].tolist()
    [0.125, 0.125, 0.375, 0.375]
    """
    step_w, step_h = pair(steps, "density_prior_box: steps")
    attrs = {
        "densities": listed(densities), "fixed_sizes": listed(fixed_sizes),
        "fixed_ratios": listed(fixed_ratios), "variances": listed(variance), "clip": bool(clip),
        "step_w": step_w, "step_h": step_h, "offset": offset, "flatten_to_2d": bool(flatten_to_2d),
    }  # fmt: skip
    found = run("density_prior_box", {"Input": input, "Image": image}, attrs)
    return found["Boxes"], found["Variances"]


@layer
def anchor_generator(
    input, anchor_sizes=None, aspect_ratios=None, variance=[0.1, 0.1, 0.2, 0.2],  # noqa: B006
    stride=None, offset=0.5, name=None,
):  # fmt: skip
    """The anchors of Faster R-CNN (Ren and others, 2015) at each cell of a feature map.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; its size is read.
    anchor_sizes : float or list of float
        In pixels.
    aspect_ratios : float or list of float
        Heights over widths.
    variance : list of float
        Four numbers that go with each anchor.
    stride : list of float
        Width and height of a cell in pixels.
    offset : float
        Of the centre in the cell.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    anchors, variances : Variable
        ``[height, width, ratios * sizes, 4]``; sides in pixels.

    Raises
    ------
    InvalidArgumentError
        There is no size, ratio or stride, or one is not above 0.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> map = dygraph.zeros([1, 8, 1, 1])
    >>> layers.anchor_generator(map, [32.0], [1.0], stride=[16.0, 16.0])[0].tolist()
    [[[[-8.0, -8.0, 23.0, 23.0]]]]
    """
    attrs = {
        "anchor_sizes": listed(anchor_sizes), "aspect_ratios": listed(aspect_ratios),
        "variances": listed(variance), "stride": pair(stride, "anchor_generator: stride"),
        "offset": offset,
    }  # fmt: skip
    found = run("anchor_generator", {"Input": input}, attrs)
    return found["Anchors"], found["Variances"]


def _sizes(inputs, base_size, min_ratio, max_ratio, min_sizes, max_sizes):
    """The min and the max size of each map: given, or spread evenly between two ratios."""
    if min_sizes is None and max_sizes is None and len(inputs) > 2:
        low = check.integer(min_ratio, "multi_box_head: min_ratio")
        high = check.integer(max_ratio, "multi_box_head: max_ratio")
        step = (high - low) // (len(inputs) - 2)
        if step < 1:
            raise InvalidArgumentError(
                f"multi_box_head: max_ratio must be above min_ratio by {len(inputs) - 2} at least, "
                f"got {low} and {high}"
            )
        ratios = [(10, 20), *((r, r + step) for r in range(low, high + 1, step))]
        return [[base_size * r[i] / 100.0 for r in ratios] for i in (0, 1)]
    for sizes, word in ((min_sizes, "min_sizes"), (max_sizes, "max_sizes")):
        if sizes is None or len(sizes) != len(inputs):
            raise InvalidArgumentError(
                f"multi_box_head: {word} must hold sizes for each of the {len(inputs)} inputs, "
                f"got {sizes}. Only for more than two inputs may min_ratio and max_ratio give them"
            )
    return min_sizes, max_sizes


@layer(parameters=True)
def multi_box_head(
    inputs, image, base_size, num_classes, aspect_ratios, min_ratio=None, max_ratio=None,
    min_sizes=None, max_sizes=None, steps=None, step_w=None, step_h=None, offset=0.5,
    variance=[0.1, 0.1, 0.2, 0.2], flip=True, clip=False, kernel_size=1, pad=0,  # noqa: B006
    stride=1, name=None, min_max_aspect_ratios_order=False,
):  # fmt: skip
    """The head of SSD: from each feature map, boxes and scores relative to its `prior_box`.

    Parameters
    ----------
    inputs : list of Variable
        Feature maps ``[batch, channels, height, width]``.
    image : Variable
        The images they are of.
    base_size : int
        The size of the images that the ratios refer to.
    num_classes : int
        With the background.
    aspect_ratios : list of float or of lists
        For each map.
    min_ratio, max_ratio : int, optional
        The sizes of the maps but the first go evenly from `min_ratio` to `max_ratio` percent of
        `base_size`; the first has 10 and 20 percent. For more than two maps.
    min_sizes, max_sizes : list, optional
        Sizes in pixels for each map, in place of the ratios.
    steps, step_w, step_h : list of float, optional
        The size of a cell for each map, or its width and height.
    offset : float
        Of the centre of a box in its cell.
    variance : list of float
        Four numbers that go with each box.
    flip : bool
        Also the inverse ratios.
    clip : bool
        Cut boxes off at the borders of the image.
    kernel_size, pad, stride : int
        Of the convolutions.
    name : str, optional
        The name of the results.
    min_max_aspect_ratios_order : bool
        True: the square of the max size is second at each cell, as in Caffe; else last.

    Returns
    -------
    locations : Variable
        ``[batch, boxes, 4]``.
    confidences : Variable
        ``[batch, boxes, num_classes]``.
    boxes, variances : Variable
        ``[boxes, 4]``, of all maps.

    Raises
    ------
    InvalidArgumentError
        Sizes, ratios or steps are not as many as maps.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     image = static.data("image", [None, 3, 32, 32])
    ...     maps = [static.data("a", [None, 8, 4, 4]), static.data("b", [None, 8, 2, 2])]
    ...     found = layers.multi_box_head(
    ...         maps, image, 32, 3, [[2.0], [2.0]], min_sizes=[6.0, 12.0], max_sizes=[12.0, 24.0])
    ...     [v.shape for v in found]
    [(-1, 80, 4), (-1, 80, 3), (80, 4), (80, 4)]
    """
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    min_sizes, max_sizes = _sizes(inputs, base_size, min_ratio, max_ratio, min_sizes, max_sizes)
    step_w, step_h = (steps, steps) if steps else (step_w, step_h)
    for given, word in ((aspect_ratios, "aspect_ratios"), (step_w, "step_w"), (step_h, "step_h")):
        if given is not None and len(given) != len(inputs):
            raise InvalidArgumentError(
                f"multi_box_head: {word} must hold one for each of the {len(inputs)} inputs, "
                f"got {given}"
            )
    found = {"locations": [], "confidences": [], "boxes": [], "variances": []}
    for i, given in enumerate(inputs):
        cell = [step_w[i] if step_w else 0.0, step_h[i] if step_h else 0.0]
        ratios = [] if aspect_ratios is None else listed(aspect_ratios[i])
        boxes, variances = prior_box(
            given, image, min_sizes[i], max_sizes[i], ratios, variance, flip, clip, cell, offset,
            None, min_max_aspect_ratios_order,
        )  # fmt: skip
        found["boxes"].append(reshape(boxes, [-1, 4]))
        found["variances"].append(reshape(variances, [-1, 4]))
        for word, width in (("locations", 4), ("confidences", num_classes)):
            out = conv2d(given, boxes.shape[2] * width, kernel_size, stride, pad)
            out = transpose(out, [0, 2, 3, 1])
            count = -1 if -1 in out.shape[1:] else math.prod(out.shape[1:]) // width
            found[word].append(reshape(out, [0, count, width]))
    results = []
    for word, parts in found.items():
        axis = 1 if word in ("locations", "confidences") else 0
        results.append(parts[0] if len(parts) == 1 else concat(parts, axis=axis))
    for fixed in results[2:]:
        fixed.stop_gradient = True
    return tuple(results)
