"""Functions of detection with the names and arguments of torchvision's and Paddle's ``vision.ops``.

Boxes are ``[n, 4]``: left, upper, right and lower sides, ``x0, y0, x1, y1``; float32 or float64.

Examples
--------
>>> import dygraph
>>> from dygraph.vision import ops
>>> boxes = dygraph.to_variable([[0.0, 0, 4, 4], [0, 0, 4, 3], [6, 6, 8, 8]])
>>> ops.nms(boxes, dygraph.to_variable([0.75, 0.5, 0.25]), 0.5).tolist()
[0, 2]
"""

from dygraph.vision.boxes import (
    batched_nms,
    box_area,
    box_coder,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    generalized_box_iou,
    matrix_nms,
    nms,
    prior_box,
    remove_small_boxes,
)
from dygraph.vision.heads import (
    distribute_fpn_proposals,
    generate_proposals,
    sigmoid_focal_loss,
    yolo_box,
    yolo_loss,
)
from dygraph.vision.regions import (
    DeformConv2D,
    PSRoIPool,
    RoIAlign,
    RoIPool,
    deform_conv2d,
    psroi_pool,
    roi_align,
    roi_pool,
)

__all__ = [
    "DeformConv2D",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "batched_nms",
    "box_area",
    "box_coder",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "deform_conv2d",
    "distribute_fpn_proposals",
    "generalized_box_iou",
    "generate_proposals",
    "matrix_nms",
    "nms",
    "prior_box",
    "psroi_pool",
    "remove_small_boxes",
    "roi_align",
    "roi_pool",
    "sigmoid_focal_loss",
    "yolo_box",
    "yolo_loss",
]
