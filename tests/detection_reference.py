"""Boxes, matching and suppression in NumPy, one box at a time, as the papers write them."""

import numpy as np


def boxes(*shape, scale=1.0, dtype="float64"):
    """Random boxes with corners in order."""
    low = np.random.uniform(0, 0.7, (*shape, 2))
    size = np.random.uniform(0.05, 0.5, (*shape, 2))
    return (np.concatenate([low, low + size], -1) * scale).astype(dtype)


def area(box, unit):
    w, h = box[2] - box[0] + unit, box[3] - box[1] + unit
    return 0.0 if box[2] < box[0] or box[3] < box[1] else w * h


def overlap(a, b, unit=0):
    """Intersection over union; 0 where boxes do not touch."""
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    if (high < low).any():
        return 0.0
    both = np.prod(high - low + unit)
    return both / (area(a, unit) + area(b, unit) - both)


def best(scores, threshold=-np.inf, most=-1):
    order = [i for i in np.argsort(-scores, kind="stable") if scores[i] > threshold]
    return order if most < 0 else order[:most]


def suppress(order, boxes, threshold, eta=1.0, unit=0):
    kept = []
    for i in order:
        if all(overlap(boxes[i], boxes[k], unit) <= threshold for k in kept):
            kept.append(i)
            if eta < 1 and threshold > 0.5:
                threshold *= eta
    return kept


def rows(found):
    """[(class, score, box)] of each image as rows and lengths."""
    flat = [[c, s, *b] for image in found for c, s, b, *_ in image]
    return np.array(flat).reshape(len(flat), -1) if flat else np.zeros((0, 6)), [
        [len(image) for image in found]
    ]


def multiclass(boxes, scores, a):
    """[(class, score, box, number)] of each image."""
    unit = 0 if a.get("normalized", True) else 1
    images = []
    for n, (box, score) in enumerate(zip(boxes, scores, strict=True)):
        found = []
        for c in range(len(score)):
            if c == a.get("background_label", 0):
                continue
            order = best(score[c], a.get("score_threshold", 0), a.get("nms_top_k", -1))
            kept = suppress(order, box, a.get("nms_threshold", 0.3), a.get("nms_eta", 1.0), unit)
            found += [(c, score[c][i], box[i], n * len(box) + i) for i in kept]
        most = a.get("keep_top_k", -1)
        if most >= 0:
            found = sorted(sorted(found, key=lambda f: -f[1])[:most], key=lambda f: f[0])
        images.append(found)
    return images


def center(box, unit=0):
    w, h = box[..., 2] - box[..., 0] + unit, box[..., 3] - box[..., 1] + unit
    return box[..., 0] + w / 2, box[..., 1] + h / 2, w, h


def encode(prior, var, target):
    px, py, pw, ph = center(prior[None])
    tx, ty, tw, th = center(target[:, None])
    code = [(tx - px) / pw, (ty - py) / ph, np.log(tw / pw), np.log(th / ph)]
    return np.stack(code, -1) / var


def decode(prior, code, unit=0, most=np.inf):
    """Corners of what `code` makes of the boxes `prior`, both [..., 4]."""
    px, py, pw, ph = center(prior, unit)
    x, y = code[..., 0] * pw + px, code[..., 1] * ph + py
    w, h = np.exp(np.minimum(code[..., 2:], most)).transpose(-1, *range(code.ndim - 1)) * [pw, ph]
    return np.stack([x - w / 2, y - h / 2, x + w / 2 - unit, y + h / 2 - unit], -1)
