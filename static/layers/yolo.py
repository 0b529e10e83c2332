"""The heads of YOLO and RetinaNet.

Examples
--------
>>> import dygraph, numpy as np
>>> from dygraph import static
>>> x, size = dygraph.zeros([1, 6, 1, 1]), dygraph.to_variable(np.array([[32, 64]], "int32"))
>>> boxes, scores = static.layers.yolo_box(x, size, [16, 8], 1, 0.01, 32)
>>> boxes.tolist()
[[[16.0, 12.0, 48.0, 20.0]]]
"""

from dygraph.static.layers.making import operator

__all__ = ["sigmoid_focal_loss", "yolo_box", "yolov3_loss"]


@operator(img_size="ImgSize")
def yolo_box(
    x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox=True, name=None,
    scale_x_y=1.0,
):  # fmt: skip
    """The boxes and scores that a YOLO head predicts (Redmon and Farhadi, YOLOv3, 2018).

    The middle of the box of cell ``(i, j)`` is ``(j + sigmoid(tx), i + sigmoid(ty))`` cells, its
    size the anchor's times ``exp(tw), exp(th)``; scores are ``sigmoid(to) * sigmoid(classes)``.

    Parameters
    ----------
    x : Variable
        ``[batch, anchors * (5 + class_num), height, width]``: tx, ty, tw, th, to and the classes
        for each anchor; float32 or float64.
    img_size : Variable
        ``[batch, 2]`` int32, height and width of each image.
    anchors : list of int
        Width and height of each anchor, in pixels.
    class_num : int
        The number of classes.
    conf_thresh : float
        Boxes whose ``sigmoid(to)`` is less are zeros with scores of zeros.
    downsample_ratio : int
        Pixels of the network's input for a cell.
    clip_bbox : bool, default True
        Boxes are cut at the borders of the image.
    name : str, optional
        The name of the results in a program; an eager call does not use it.
    scale_x_y : float, default 1.0
        A middle is ``scale_x_y * sigmoid(t) - (scale_x_y - 1) / 2`` into its cell.

    Returns
    -------
    boxes : Variable
        ``[batch, anchors * height * width, 4]``, corners in pixels of the images.
    scores : Variable
        ``[batch, anchors * height * width, class_num]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> x, size = dygraph.zeros([1, 6, 1, 1]), dygraph.to_variable(np.array([[32, 64]], "int32"))
    >>> boxes, scores = layers.yolo_box(x, size, [16, 8], 1, 0.01, 32)
    >>> scores.tolist()
    [[[0.25]]]
    """


@operator(gt_box="GTBox", gt_label="GTLabel", gt_score="GTScore")
def yolov3_loss(
    x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio,
    gt_score=None, use_label_smooth=True, name=None, scale_x_y=1.0,
):  # fmt: skip
    """The loss of a YOLO head (Redmon and Farhadi, YOLOv3, 2018), for each image.

    A true box belongs to the cell of its middle and to the anchor of the most similar size. There
    count the cross entropies of middle and classes and the absolute difference of the logarithm of
    the size; everywhere that of the objectness.

    Parameters
    ----------
    x : Variable
        ``[batch, masks * (5 + class_num), size, size]``: tx, ty, tw, th, to and the classes for
        each anchor of `anchor_mask`; float32 or float64.
    gt_box : Variable
        ``[batch, boxes, 4]``: middle, width and height in parts of the image; boxes of zeros fill
        up.
    gt_label : Variable
        ``[batch, boxes]`` int32 classes.
    anchors : list of int
        Width and height of each anchor, in pixels.
    anchor_mask : list of int
        The anchors of this head, by number.
    class_num : int
        The number of classes.
    ignore_thresh : float
        A predicted box that overlaps a true one by more is no mistake.
    downsample_ratio : int
        Pixels of the network's input for a cell.
    gt_score : Variable, optional
        ``[batch, boxes]`` weights of the true boxes; None: ones.
    use_label_smooth : bool, default True
        Targets of classes are ``d`` and ``1 - d`` with ``d = min(1 / class_num, 1 / 40)``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    scale_x_y : float, default 1.0
        A middle is ``scale_x_y * sigmoid(t) - (scale_x_y - 1) / 2`` into its cell.

    Returns
    -------
    Variable
        ``[batch]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> box = dygraph.to_variable(np.array([[[0.5, 0.5, 0.5, 0.25]]], "float32"))
    >>> label = dygraph.to_variable(np.zeros((1, 1), "int32"))
    >>> loss = layers.yolov3_loss(dygraph.zeros([1, 6, 1, 1]), box, label, [16, 8], [0], 1, 0.7, 32)
    >>> round(loss.item(), 4)
    3.9856
    """


@operator(fg_num="FgNum")
def sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25):
    """The focal loss of every class by itself (Lin and others, 2017), divided by `fg_num`.

    With ``p = sigmoid(x)`` it is ``-alpha * (1 - p)**gamma * log(p)`` in column ``label - 1`` and
    ``-(1 - alpha) * p**gamma * log(1 - p)`` in the others.

    Parameters
    ----------
    x : Variable
        Scores ``[rows, classes]``; float32 or float64.
    label : Variable
        ``[rows, 1]`` int32: 0 background, -1 ignored.
    fg_num : Variable
        ``[1]`` int32, the number of rows with an object.
    gamma : float, default 2.0
        How much the sure ones are turned down.
    alpha : float, default 0.25
        The weight of the true class.

    Returns
    -------
    Variable
        The shape of `x`.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> one = dygraph.to_variable(np.array([1], "int32"))
    >>> loss = layers.sigmoid_focal_loss(dygraph.zeros([1, 2]), one.reshape([1, 1]), one)
    >>> loss.numpy().round(4).tolist() == np.float32([[0.0433, 0.13]]).tolist()
    True
    """
