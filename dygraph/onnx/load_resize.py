"""Rules for resized images.

Along each axis an output is a weighted sum of inputs, so one matrix for each axis resizes a tensor
of any rank. The formulas are written once: with NumPy they make the matrix while the model is
loaded, with Variables a program makes it from scales and sizes that only a run knows.
"""

import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError
from dygraph.onnx import load_sizes
from dygraph.onnx.load_rules import dims_of, rule
from dygraph.onnx.load_shape import is_open

ops = _core.ops


class Axis:
    """One axis to be resized. `xp` is NumPy or dygraph; numbers are floats or float64 [1]."""

    def __init__(self, call, xp, n, out, scale, roi, length):
        self.call, self.xp, self.n, self.out, self.scale, self.roi = call, xp, n, out, scale, roi
        self.at = self.range(0, out)
        self.length = length  # of the output before it was rounded down

    def range(self, start, stop):
        if self.xp is np:
            self.call.table(int(stop - start) + 1)
            return np.arange(start, stop, dtype="float64")
        one = self.call.constant(np.array([1.0]))
        return ops.range(self.number(start), self.number(stop), one)

    def number(self, value):
        return value if self.xp is np or isinstance(value, _core.Variable) else (
            self.call.constant(np.array([value], "float64"))
        )  # fmt: skip

    def origin(self):
        """Where in the input each output lies (ONNX's coordinate_transformation_mode)."""
        mode, at, n, out, scale = self.mode(), self.at, self.n, self.out, self.scale
        if mode == "half_pixel":
            return (at + 0.5) / scale - 0.5
        if mode == "half_pixel_symmetric":
            return n / 2 * (1 - out / (scale * n)) + (at + 0.5) / scale - 0.5
        if mode == "pytorch_half_pixel":
            return self.unless_one(at * 0.0, (at + 0.5) / scale - 0.5)
        if mode == "align_corners":
            return self.unless_one(at * 0.0, at * (n - 1) / self.above_zero(self.length - 1))
        if mode == "asymmetric":
            return at / scale
        if mode == "tf_half_pixel_for_nn":
            return (at + 0.5) / scale
        if mode == "tf_crop_and_resize":
            start, end = self.roi
            step = (end - start) * (n - 1) / self.above_zero(self.length - 1)
            return self.unless_one(at * 0.0 + (start + end) * (n - 1) * 0.5,
                                   start * (n - 1) + at * step)  # fmt: skip
        raise InvalidArgumentError(
            f"coordinate_transformation_mode must be one of ONNX's, got {mode}"
        )

    def mode(self):
        return self.call.attr("coordinate_transformation_mode", "half_pixel")

    def unless_one(self, one, other):
        return self.xp.where(self.at * 0.0 + self.out <= 1.5, one, other)

    def above_zero(self, value):
        return self.xp.maximum(self.number(value), self.number(1e-9))

    def outside(self):
        """Which outputs lie outside; None if they count as the border."""
        if self.mode() != "tf_crop_and_resize":
            return None
        at = self.origin()
        return (at < 0) | (at > self.n - 1) if self.xp is np else dygraph.logical_or(
            at < 0.0, at > self.n - 1
        )  # fmt: skip

    def bounded(self, place):
        """A place inside the input."""
        xp = self.xp
        return xp.minimum(xp.maximum(place, self.number(0.0)), self.number(self.n - 1))

    def nearest(self):
        """The index of the input for each output."""
        mode, at, xp = self.call.attr("nearest_mode", "round_prefer_floor"), self.origin(), self.xp
        if mode == "round_prefer_floor":
            at = xp.ceil(at - 0.5)
        elif mode == "round_prefer_ceil":
            at = xp.floor(at + 0.5)
        elif mode in ("floor", "ceil"):
            at = xp.floor(at) if mode == "floor" else xp.ceil(at)
        else:
            raise InvalidArgumentError(f"nearest_mode must be one of ONNX's, got {mode}")
        return self.bounded(at).astype("int64")

    def matrix(self, cubic):
        """[out, n]: how much each input counts."""
        xp, call = self.xp, self.call
        stretch = self.number(1.0)
        if call.attr("antialias", 0):
            stretch = xp.minimum(self.number(self.scale), stretch)
        more = xp.ceil((2.0 if cubic else 1.0) / stretch) + 1.0
        place = self.range(0 - more, self.n + more)
        away = xp.abs(_columns(place) - _rows(self.at * 0.0 + self.origin())) * stretch
        if cubic:
            a = call.attr("cubic_coeff_a", -0.75)
            near = ((away * (a + 2) - (a + 3)) * away) * away + 1
            far = ((away * a - 5 * a) * away + 8 * a) * away - 4 * a
            each = xp.where(away <= 1.0, near, xp.where(away < 2.0, far, away * 0.0))
        else:
            each = xp.maximum(1.0 - away, away * 0.0)
        if call.attr("exclude_outside", 0):
            inside = (place > -0.5) & (place < self.n - 0.5) if xp is np else dygraph.logical_and(
                place > -0.5, place < self.n - 0.5
            )  # fmt: skip
            each = each * _columns(inside.astype("float64"))
        total = each.sum(axis=1).reshape([-1, 1])
        each = each / xp.where(xp.abs(total) < 1e-9, total * 0.0 + 1.0, total)
        inputs = self.range(0, self.n)
        folded = xp.equal(_rows(self.bounded(place)), _columns(inputs)).astype("float64")
        return xp.matmul(each, folded)


def _rows(x):
    return x.reshape([-1, 1])


def _columns(x):
    return x.reshape([1, -1])


def _along(call, x, axis, matrix):
    """The products of a matrix with `x` along an axis."""
    rank = call.rank(x)
    if axis == rank - 1:
        return dygraph.matmul(x, dygraph.permute_dims(matrix, [1, 0]))
    if axis == rank - 2:
        return dygraph.matmul(matrix, x)
    perm = [i for i in range(rank) if i != axis] + [axis]
    x = dygraph.matmul(dygraph.permute_dims(x, perm), dygraph.permute_dims(matrix, [1, 0]))
    return dygraph.permute_dims(x, np.argsort(perm).tolist())


def _given(call, inputs):
    """roi, scales and sizes of this version; each a value or None."""
    inputs = [*inputs, None, None, None]
    if call.node.op_type == "Upsample" or call.opset < 11:
        # As today's "asymmetric" with "floor".
        call.attributes = {
            **call.attributes, "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        }  # fmt: skip
        if call.node.op_type == "Upsample" and call.opset < 9:
            return None, call.constant(np.array(call.needs("scales"), "float32")), None
        return None, inputs[0], None
    given = []
    for value in inputs[:3]:
        empty = value is not None and not load_sizes.is_sizes(value) and call.shape(value) == [0]
        given.append(None if empty else value)
    return given


def _element(call, vector, i):
    """One number of a Variable, float64 [1]."""
    return ops.slice(call.variable(vector).astype("float64"), axes=[0], starts=[i], ends=[i + 1])


@rule("Resize", "Upsample", known=(1, 2, 3))
def resize(call, x, *inputs):
    roi, scales, sizes = _given(call, inputs)
    if (scales is None) == (sizes is None):
        raise InvalidArgumentError("Resize must have either scales or sizes, got both or neither")
    mode, rank, dtype = call.attr("mode", "nearest"), call.rank(x), str(x.dtype)
    if mode not in ("nearest", "linear", "cubic"):
        raise InvalidArgumentError(f"mode must be nearest, linear or cubic, got {mode}")
    axes = [call.axis(a, rank) for a in call.attr("axes", list(range(rank)))]
    found = _by_operator(call, x, axes, scales, sizes) if roi is None else None
    if found is not None:
        return found
    jobs = _axes(call, x, axes, roi, scales, sizes)
    if mode != "nearest" and dtype not in ("float32", "float64"):
        x = x.astype("float32")
    masks = []
    for axis, job in jobs:
        known = job.xp is np
        if known:
            call.table(int(job.out) * (1 if mode == "nearest" else int(job.n)))
        outside = job.outside()
        if outside is not None and (not known or outside.any()):
            shape = [-1 if j == axis else 1 for j in range(rank)]
            outside = call.constant(outside) if known else outside
            masks.append(ops.reshape2(outside, shape=shape))
        made = job.nearest() if mode == "nearest" else job.matrix(mode == "cubic")
        if known and np.array_equal(
            made, np.arange(job.n) if made.ndim == 1 else np.eye(int(job.n))
        ):
            continue
        made = call.constant(made) if known else made
        if mode == "nearest":
            x = ops.gather(x, made, axis=axis)
        else:
            x = _along(call, x, axis, made.astype(x.dtype))
    for mask in masks:
        beyond = dygraph.zeros_like(x) + call.attr("extrapolation_value", 0.0)
        x = dygraph.where(mask, beyond, x)
    return x if str(x.dtype) == dtype else x.astype(dtype)


def _by_operator(call, x, axes, scales, sizes):
    """Images of open size, by the library's operators, for the ways that they have; else None."""
    own, space = call.shape(x), [2, 3]
    how, mode = (
        call.attr("coordinate_transformation_mode", "half_pixel"),
        call.attr("mode", "nearest"),
    )
    fits = len(own) == 4 and is_open(own[2:]) and str(x.dtype) in ("float32", "float64")
    if not fits or mode == "cubic" or call.attr("antialias", 0) or scales is None:
        return None
    factors = call.numbers(scales)
    if factors is None or len(factors) != len(axes):
        return None
    factors = dict(zip(axes, factors.tolist(), strict=True))
    if any(factors.get(a, 1.0) != 1.0 for a in (0, 1)):
        return None
    whole = all(float(factors.get(a, 1.0)).is_integer() for a in space)
    if mode == "nearest":
        near = call.attr("nearest_mode", "round_prefer_floor")
        if not whole or (how, near) not in (
            ("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")
        ):  # fmt: skip
            return None
    elif not whole or how not in ("asymmetric", "half_pixel"):
        return None
    return _core.run_op(
        "nearest_interp_v2" if mode == "nearest" else "bilinear_interp_v2", {"X": x},
        {
            "scale": [factors.get(a, 1.0) for a in space], "align_corners": False,
            "align_mode": int(how == "asymmetric"),
            "interp_method": "nearest" if mode == "nearest" else "bilinear",
        },
    )["Out"]  # fmt: skip


def _axes(call, x, axes, roi, scales, sizes):
    """(axis, `Axis`) for each axis that changes."""
    own = call.shape(x)
    k = len(axes)
    whole = call.integers(sizes) if sizes is not None else None
    factors = call.numbers(scales) if scales is not None else None
    corners = call.numbers(roi) if roi is not None else np.array([0.0] * k + [1.0] * k)
    for values in (whole, factors):
        if values is not None and len(values) != k:
            raise InvalidArgumentError(f"Resize must have a number for each of {k} axes")
    if corners is not None and len(corners) != 2 * k:
        raise InvalidArgumentError(f"roi must have {2 * k} numbers, got {len(corners)}")
    policy = call.attr("keep_aspect_ratio_policy", "stretch")
    known = (whole is not None or factors is not None) and corners is not None
    jobs = []
    for i, axis in enumerate(axes):
        n = own[axis]
        to = whole[i] if whole is not None else None
        if roi is None and (factors is not None and factors[i] == 1.0 or _same(to, n)):
            continue
        open_ = isinstance(n, Size) or isinstance(to, Size) or not known
        if open_:
            n = _length(call, n)
            if sizes is not None:
                to = _length(call, to) if to is not None else _element(call, sizes, i)
                scale = to / n
            else:
                scale = (
                    _element(call, scales, i)
                    if factors is None
                    else call.constant(factors[i : i + 1].astype("float64"))
                )
        else:
            n = int(n)
            scale = to / max(n, 1) if to is not None else float(factors[i])
        jobs.append([axis, open_, n, to, scale, i])
    if sizes is not None and policy != "stretch":
        jobs = _kept_aspect(jobs, policy == "not_larger")
    return [_job(call, job, corners, roi, k) for job in jobs]


def _same(a, b):
    return a is not None and load_sizes.equal(a, b)


def _length(call, n):
    """A size as float64 [1]."""
    if isinstance(n, Size):
        return load_sizes.tensor_of(n).astype("float64")
    return call.constant(np.array([n], "float64"))


def _kept_aspect(jobs, least):
    """One scale for all axes: the least or the greatest of those that the sizes give."""
    anywhere = any(job[1] for job in jobs)
    best = None
    for job in jobs:
        scale = job[4]
        if best is None:
            best = scale
        elif anywhere:
            best = (dygraph.minimum if least else dygraph.maximum)(best, scale)
        else:
            best = min(best, scale) if least else max(best, scale)
    floor = dygraph.floor if anywhere else math.floor
    return [[a, o, n, floor(n * best + 0.5), best, i] for a, o, n, _, _, i in jobs]


def _job(call, job, corners, roi, k):
    axis, open_, n, out, scale, i = job
    length = n * scale
    if out is None:
        out = dygraph.floor(length) if open_ else math.floor(length)
    if not open_ and (out < 1 or n < 1):
        raise InvalidArgumentError(f"Resize must keep an element of each axis, got {out} of {n}")
    if corners is not None:
        part = float(corners[i]), float(corners[k + i])
    else:
        part = _element(call, roi, i), _element(call, roi, k + i)
    if open_ and dims_of(out) != (1,):
        raise InvalidArgumentError("Resize must have one number for each axis")
    return axis, Axis(call, dygraph if open_ else np, n, out, scale, part, length)
