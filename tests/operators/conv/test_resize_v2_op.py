"""The *_interp_v2 operators, bicubic_interp and linear_interp, fold, unpool3d and pad3d.

Formulas in NumPy; the values under RECORDED are those of torch 2.13 and Paddle 2.6.2.
"""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand


def places(n, out, attrs, scale):
    """The place of each output among the inputs, as a float, clipped where lines are."""
    o = np.arange(out)
    if attrs.get("align_corners", True):
        return o * ((n - 1) / (out - 1) if out > 1 else 0)
    step = 1 / scale if scale else n / out
    return (o + 0.5) * step - 0.5 if attrs.get("align_mode", 1) == 0 else o * step


def matrix(n, out, kind, attrs, scale):
    """[out, n]: what each input gives to each output."""
    m = np.zeros((out, n))
    mode = {"bicubic": 0, "nearest": 1}.get(kind, attrs.get("align_mode", 1))
    attrs = {**attrs, "align_mode": mode}
    for o, at in enumerate(places(n, out, attrs, scale)):
        if kind == "nearest":
            corners = attrs.get("align_corners", True)
            m[o, min(int(at + 0.5) if corners else int(at), n - 1)] = 1
        elif kind == "bicubic":
            low = int(np.floor(at))
            for k in range(low - 1, low + 3):
                d, a = abs(at - k), -0.75
                near = (a + 2) * d**3 - (a + 3) * d**2 + 1
                far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
                m[o, min(max(k, 0), n - 1)] += near if d <= 1 else far
        else:
            at = max(at, 0)
            low = min(int(at), n - 1)
            m[o, low] += 1 - (at - low)
            m[o, min(low + 1, n - 1)] += at - low
    return m


def resized(kind):
    def reference(inputs, attrs):
        x = inputs["X"]
        last = attrs.get("data_layout", "NCHW") in ("NWC", "NHWC", "NDHWC")
        x = np.moveaxis(x, -1, 1) if last else x
        axes = x.ndim - 2
        scale = attrs.get("scale", [])
        scale = list(scale) if isinstance(scale, (list, tuple)) else [scale] * axes
        scale = inputs["Scale"].tolist() if "Scale" in inputs else scale
        scale = scale * axes if len(scale) == 1 else scale
        sizes = [attrs.get(name, 0) for name in ("out_d", "out_h", "out_w")][-axes:]
        y = x.astype("float64")
        for i in range(axes):
            n = x.shape[2 + i]
            by = float(np.float32(scale[i])) if scale and scale[i] > 0 else 0
            out = int(n * by) if by else sizes[i]
            if "OutSize" in inputs:
                out, by = int(inputs["OutSize"][i]), 0
            m = matrix(n, out, kind, attrs, by)
            y = np.moveaxis(np.tensordot(m, y, (1, 2 + i)), 0, 2 + i)
        return {"Out": np.moveaxis(y, 1, -1) if last else y}

    return reference


MIDDLES = {"align_corners": False, "align_mode": 0}
BEGINNINGS = {"align_corners": False}
for kind, axes, op_type in [
    ("linear", 1, "linear_interp"),
    ("linear", 1, "linear_interp_v2"),
    ("bilinear", 2, "bilinear_interp_v2"),
    ("nearest", 2, "nearest_interp_v2"),
    ("trilinear", 3, "trilinear_interp_v2"),
    ("bicubic", 2, "bicubic_interp"),
    ("bicubic", 2, "bicubic_interp_v2"),
]:
    v2 = op_type.endswith("v2")
    shape = (2, 3, 3, 4, 5)[: 2 + axes] if axes < 3 else (2, 2, 2, 3, 4)
    sizes = dict(zip(("out_d", "out_h", "out_w")[-axes:], (3, 5, 7), strict=False))
    last = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[axes]
    settings = [
        ("", sizes, {}),
        ("Middles", {**sizes, **MIDDLES}, {}),
        ("Beginnings", {**sizes, **BEGINNINGS}, {}),
        ("Last", {**sizes, **MIDDLES, "data_layout": last}, {}),
        ("OutSize", {**sizes, **MIDDLES}, {"OutSize": np.array([4, 2, 6][:axes], "int32")}),
    ]
    if v2:
        settings += [
            ("Scale", {**MIDDLES, "scale": [1.75, 1.4, 2.6][:axes]}, {}),
            ("ScaleBeginnings", {**BEGINNINGS, "scale": [1.75, 1.4, 2.6][:axes]}, {}),
            ("OneScale", {**MIDDLES, "scale": [2.0]}, {}),
            ("ScaleTensor", MIDDLES, {"Scale": np.array([1.75, 1.4, 2.6][:axes], "float32")}),
        ]
    for suffix, attrs, more in settings:

        def inputs(shape=shape, more=more):
            return {"X": rand(*shape), **more}

        name = class_name(op_type, suffix)
        globals()[name] = op_case(
            name, op_type, inputs, attrs, resized(kind), grad=["X"], grad_inputs=["X"]
        )


def run(op_type, *values, **attrs):
    given = [_core.to_variable(np.asarray(v)) for v in values]
    return getattr(_core.ops, op_type)(*given, **attrs).numpy()


X = np.array(
    [[[[0.5, -1.0, 2.0, 3.0, -0.25], [1.0, 0.0, -2.0, 4.0, 1.5], [3.0, 2.0, 1.0, 0.0, -1.0]]]]
)
RECORDED = {
    "torch bicubic scale": (
        "bicubic_interp_v2",
        {"scale": [1.7, 0.8], "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.2537323, -0.0448416, 3.3126471, -0.0679149],
                    [0.4001223, -0.7373725, 2.8539982, 0.9194564],
                    [0.8609713, -1.2602825, 2.0410171, 1.8403523],
                    [2.0915927, 0.2834532, 0.9893316, 0.418757],
                    [3.0654188, 1.8221223, 0.2778054, -1.1246976],
                ]
            ]
        ],
    ),
    "torch bicubic sizes": (
        "bicubic_interp_v2",
        {"out_h": 2, "out_w": 6, "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.6157956, -0.7227936, -0.1148049, 2.3881649, 2.9083099, 0.069848],
                    [2.6160473, 1.9525146, 0.594177, 0.4400003, 0.7241592, -0.4410506],
                ]
            ]
        ],
    ),
    "torch bilinear scale": (
        "bilinear_interp_v2",
        {"scale": [1.7, 0.8], "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.3125, 0.125, 2.625, 0.15625],
                    [0.5275735, -0.2095588, 2.2904412, 0.7895221],
                    [0.8584559, -0.7242647, 1.7757353, 1.7637868],
                    [1.9926471, 0.5772059, 0.9816176, 0.3106618],
                    [2.875, 1.625, 0.375, -0.875],
                ]
            ]
        ],
    ),
    "torch bilinear sizes": (
        "bilinear_interp_v2",
        {"out_h": 2, "out_w": 6, "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.625, -0.40625, 0.2708333, 1.9375, 2.484375, 0.1875],
                    [2.5, 1.75, 0.7708333, 0.5625, 0.65625, -0.375],
                ]
            ]
        ],
    ),
    "torch nearest scale": (
        "nearest_interp_v2",
        {"scale": [1.7, 0.8], "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.5, -1.0, 2.0, 3.0],
                    [0.5, -1.0, 2.0, 3.0],
                    [1.0, 0.0, -2.0, 4.0],
                    [1.0, 0.0, -2.0, 4.0],
                    [3.0, 2.0, 1.0, 0.0],
                ]
            ]
        ],
    ),
    "torch nearest sizes": (
        "nearest_interp_v2",
        {"out_h": 2, "out_w": 6, "align_corners": False, "align_mode": 0},
        [[[[0.5, 0.5, -1.0, 2.0, 3.0, -0.25], [1.0, 1.0, 0.0, -2.0, 4.0, 1.5]]]],
    ),
    "torch linear scale": (
        "linear_interp_v2",
        {"scale": [1.7], "align_corners": False, "align_mode": 0},
        [
            [
                [
                    0.5,
                    -0.0735294,
                    -0.9558824,
                    0.6764706,
                    2.1470588,
                    2.7352941,
                    1.9485294,
                    0.0367647,
                ],
                [
                    1.0,
                    0.6176471,
                    0.0294118,
                    -1.1176471,
                    -1.1176471,
                    2.4117647,
                    3.1911765,
                    1.7205882,
                ],
                [
                    3.0,
                    2.6176471,
                    2.0294118,
                    1.4411765,
                    0.8529412,
                    0.2647059,
                    -0.3235294,
                    -0.9117647,
                ],
            ]
        ],
    ),
    "torch linear sizes": (
        "linear_interp_v2",
        {"out_w": 7, "align_corners": False, "align_mode": 0},
        [
            [
                [0.5, -0.3571429, -0.1428571, 2.0, 2.7142857, 1.6071429, -0.25],
                [1.0, 0.4285714, -0.5714286, -2.0, 2.2857143, 2.9285714, 1.5],
                [3.0, 2.4285714, 1.7142857, 1.0, 0.2857143, -0.4285714, -1.0],
            ]
        ],
    ),
    "paddle bicubic scale": (
        "bicubic_interp_v2",
        {"scale": [1.7, 0.8], "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.2537323, -0.0448416, 3.3126472, -0.0679149],
                    [0.4001223, -0.7373724, 2.8539983, 0.9194562],
                    [0.8609712, -1.2602826, 2.0410173, 1.8403524],
                    [2.0915925, 0.2834528, 0.9893318, 0.4187574],
                    [3.0654187, 1.8221222, 0.2778055, -1.1246975],
                ]
            ]
        ],
    ),
    "paddle bicubic corners": (
        "bicubic_interp_v2",
        {"out_h": 2, "out_w": 6},
        [
            [
                [
                    [0.5, -1.024, 0.6200001, 2.9460002, 2.5239999, -0.25],
                    [3.0, 2.272, 1.424, 0.5759999, -0.2720001, -1.0],
                ]
            ]
        ],
    ),
    "paddle bilinear scale": (
        "bilinear_interp_v2",
        {"scale": [1.7, 0.8], "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.3125, 0.125, 2.625, 0.15625],
                    [0.5275735, -0.2095588, 2.2904412, 0.789522],
                    [0.8584559, -0.7242647, 1.7757353, 1.7637867],
                    [1.9926467, 0.5772054, 0.9816179, 0.3106623],
                    [2.875, 1.625, 0.375, -0.875],
                ]
            ]
        ],
    ),
    "paddle bilinear corners": (
        "bilinear_interp_v2",
        {"out_h": 2, "out_w": 6},
        [
            [
                [
                    [0.5, -0.7, 0.8000001, 2.4000001, 2.3499998, -0.25],
                    [3.0, 2.2, 1.4, 0.5999999, -0.2, -1.0],
                ]
            ]
        ],
    ),
    "paddle nearest scale": (
        "nearest_interp_v2",
        {"scale": [1.7, 0.8], "align_corners": False, "align_mode": 0},
        [
            [
                [
                    [0.5, -1.0, 2.0, 3.0],
                    [0.5, -1.0, 2.0, 3.0],
                    [1.0, 0.0, -2.0, 4.0],
                    [1.0, 0.0, -2.0, 4.0],
                    [3.0, 2.0, 1.0, 0.0],
                ]
            ]
        ],
    ),
    "paddle linear scale": (
        "linear_interp_v2",
        {"scale": [1.7], "align_corners": False, "align_mode": 0},
        [
            [
                [0.5, -0.0735293, -0.9558823, 0.67647, 2.1470587, 2.7352939, 1.94853, 0.036765],
                [
                    1.0,
                    0.6176471,
                    0.0294118,
                    -1.1176467,
                    -1.1176476,
                    2.4117632,
                    3.1911769,
                    1.7205884,
                ],
                [
                    3.0,
                    2.6176471,
                    2.0294118,
                    1.4411767,
                    0.8529413,
                    0.2647061,
                    -0.3235292,
                    -0.9117646,
                ],
            ]
        ],
    ),
    "paddle linear corners": (
        "linear_interp_v2",
        {"out_w": 7},
        [
            [
                [0.5, -0.5, 1e-07, 2.0, 2.6666667, 1.9166662, -0.25],
                [1.0, 0.3333333, -0.6666667, -2.0, 2.0000005, 3.1666663, 1.5],
                [3.0, 2.3333333, 1.6666666, 1.0, 0.3333333, -0.3333335, -1.0],
            ]
        ],
    ),
}


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_values(name):
    op_type, attrs, expected = RECORDED[name]
    x = X[0] if op_type.startswith("linear") else X[None] if op_type.startswith("tri") else X
    np.testing.assert_allclose(run(op_type, x, **attrs), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"scale": [2.0, 0.0]}, "scale must be positive"),
        ({"scale": [2.0, 2.0, 2.0]}, "scale must hold 2 numbers"),
        ({"scale": [float("nan")]}, "must be positive"),
        ({}, "sizes of Out must be positive"),
    ],
)
def test_sizes_that_do_not_fit(attrs, message):
    with pytest.raises(ValueError, match=message):
        run("bilinear_interp_v2", X, **attrs)


# Windows ------------------------------------------------------------------------------------------


def folded(inputs, attrs):
    x, (height, width) = inputs["X"], attrs["output_sizes"]
    (kh, kw), (sh, sw) = attrs["kernel_sizes"], attrs.get("strides", [1, 1])
    top, left, bottom, right = attrs.get("paddings", [0] * 4)
    dh, dw = attrs.get("dilations", [1, 1])
    n, c = x.shape[0], x.shape[1] // (kh * kw)
    y = np.zeros((n, c, height + top + bottom, width + left + right))
    rows = (y.shape[2] - dh * (kh - 1) - 1) // sh + 1
    columns = (y.shape[3] - dw * (kw - 1) - 1) // sw + 1
    x = x.reshape(n, c, kh, kw, rows, columns)
    for u, v, i, j in np.ndindex(kh, kw, rows, columns):
        y[:, :, i * sh + u * dh, j * sw + v * dw] += x[:, :, u, v, i, j]
    return {"Y": y[:, :, top : top + height, left : left + width]}


for suffix, shape, attrs in [
    ("", (2, 12, 6), {"output_sizes": [3, 4], "kernel_sizes": [2, 2]}),
    (
        "Strides",
        (1, 6, 6),
        {
            "output_sizes": [5, 6],
            "kernel_sizes": [3, 2],
            "strides": [2, 2],
            "paddings": [1, 0, 0, 1],
            "dilations": [1, 2],
        },
    ),
]:
    name = class_name("fold", suffix)
    globals()[name] = op_case(
        name, "fold", lambda shape=shape: {"X": rand(*shape)}, attrs, folded, grad=["X"], out="Y"
    )


def test_fold_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="multiple of the kernel's 4 elements"):
        run("fold", rand(1, 5, 6), output_sizes=[3, 4], kernel_sizes=[2, 2])
    with pytest.raises(ValueError, match="hold the 6 windows"):
        run("fold", rand(1, 4, 5), output_sizes=[3, 4], kernel_sizes=[2, 2])


def unpooled(inputs, attrs):
    x, indices = inputs["X"], inputs["Indices"]
    sizes = attrs["output_size"]
    y = np.zeros((*x.shape[:2], int(np.prod(sizes))))
    for n, c in np.ndindex(x.shape[:2]):
        y[n, c][indices[n, c].ravel()] = x[n, c].ravel()
    return {"Out": y.reshape(*x.shape[:2], *sizes)}


def places_of_maxima():
    indices = np.stack([np.random.permutation(24)[:4] for _ in range(6)]).reshape(2, 3, 1, 2, 2)
    return {"X": rand(2, 3, 1, 2, 2), "Indices": indices.astype("int32")}


TestUnpool3d = op_case(
    "TestUnpool3d", "unpool3d", places_of_maxima,
    {"ksize": [2, 2, 2], "strides": [2, 2, 2], "output_size": [2, 3, 4]}, unpooled, grad=["X"],
)  # fmt: skip


def test_unpool3d_checks_its_places():
    x, far = rand(1, 1, 1, 1, 1), np.full((1, 1, 1, 1, 1), 8, "int32")
    assert run("unpool3d", x, far - 1, ksize=[2, 2, 2]).shape == (1, 1, 2, 2, 2)
    for bad in (far, -far):
        with pytest.raises(IndexError, match=r"Indices must lie in \[0, 8\)"):
            run("unpool3d", x, bad, ksize=[2, 2, 2])


# Borders and the order of pixels ------------------------------------------------------------------

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def padded(inputs, attrs):
    p, mode = attrs["paddings"], attrs.get("mode", "constant")
    widths = [(p[4], p[5]), (p[2], p[3]), (p[0], p[1])]
    last = attrs.get("data_format", "NCDHW") == "NDHWC"
    widths = [(0, 0), *widths, (0, 0)] if last else [(0, 0), (0, 0), *widths]
    more = {"constant_values": attrs.get("value", 0.0)} if mode == "constant" else {}
    return {"Out": np.pad(inputs["X"], widths, MODES[mode], **more)}


for mode in MODES:
    for suffix, more in [("", {}), ("Last", {"data_format": "NDHWC"})]:
        name = class_name("pad3d", mode.title() + suffix)
        attrs = {"paddings": [1, 2, 0, 1, 2, 1], "mode": mode, "value": 0.75, **more}
        globals()[name] = op_case(
            name, "pad3d", lambda: {"X": rand(1, 3, 3, 4, 3)}, attrs, padded, grad=["X"]
        )


@pytest.mark.parametrize("mode, most", [("reflect", 1), ("circular", 2)])
def test_paddings_that_are_too_wide(mode, most):
    x = rand(1, 1, 2, 3, 4)
    run("pad3d", x, paddings=[0, 0, 0, 0, most, most], mode=mode)
    with pytest.raises(ValueError, match=f"at most {most} for an axis of 2"):
        run("pad3d", x, paddings=[0, 0, 0, 0, 0, most + 1], mode=mode)
    with pytest.raises(ValueError, match="six numbers"):
        run("pad3d", x, paddings=[1, 1], mode=mode)


def unshuffled(inputs, attrs):
    x, r = inputs["X"], attrs["downscale_factor"]
    last = attrs.get("data_format") == "NHWC"
    x = np.moveaxis(x, -1, 1) if last else x
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    y = y.reshape(n, c * r * r, h // r, w // r)
    return {"Out": np.moveaxis(y, 1, -1) if last else y}


def dealt(inputs, attrs):
    x, g = inputs["X"], attrs["groups"]
    axis = 3 if attrs.get("data_format") == "NHWC" else 1
    c = x.shape[axis]
    order = [i * (c // g) + j for j in range(c // g) for i in range(g)]
    return {"Out": np.take(x, order, axis)}


for suffix, more in [("", {}), ("Last", {"data_format": "NHWC"})]:
    name = class_name("pixel_unshuffle", suffix)
    globals()[name] = op_case(
        name, "pixel_unshuffle", lambda: {"X": rand(2, 4, 6, 2)},
        {"downscale_factor": 2, **more}, unshuffled, grad=["X"],
    )  # fmt: skip
    name = class_name("channel_shuffle", suffix)
    globals()[name] = op_case(
        name, "channel_shuffle", lambda: {"X": rand(2, 6, 2, 6)}, {"groups": 3, **more}, dealt,
        grad=["X"],
    )  # fmt: skip
