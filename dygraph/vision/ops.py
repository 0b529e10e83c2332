"""Functions of detection with the names and arguments of torchvision's and Paddle's ``vision.ops``.

Examples
--------
>>> import dygraph
>>> x, y = dygraph.zeros([2]), dygraph.to_variable([1.0, 0.0])
>>> round(dygraph.vision.ops.sigmoid_focal_loss(x, y, reduction="sum").item(), 4)
0.1733
"""

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
    "DeformConv2D", "PSRoIPool", "RoIAlign", "RoIPool", "deform_conv2d",
    "distribute_fpn_proposals", "generate_proposals", "psroi_pool", "roi_align", "roi_pool",
    "sigmoid_focal_loss", "yolo_box", "yolo_loss",
]  # fmt: skip
