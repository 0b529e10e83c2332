"""dygraph.vision.ops: regions, heads and proposals under the names of today."""

import doctest

import numpy as np
import pytest

import dygraph
from dygraph import to_variable
from dygraph.vision import heads, ops, regions

X = np.arange(2 * 4 * 6 * 6, dtype="float64").reshape(2, 4, 6, 6)
BOXES = np.array([[0.0, 0, 3, 3], [1, 1, 4, 5], [0, 2, 5, 4]])


def forms():
    """The same regions, one of the first image and two of the second."""
    yield to_variable(BOXES, lod=[[0, 1, 3]]), None
    yield to_variable(BOXES), to_variable(np.array([1, 2], "int32"))
    yield [to_variable(BOXES[:1]), to_variable(BOXES[1:])], None


@pytest.mark.parametrize("name", ["roi_align", "roi_pool", "psroi_pool"])
def test_forms_of_regions_agree(name):
    options = {"aligned": True} if name == "roi_align" else {}
    results = [
        getattr(ops, name)(to_variable(X), boxes, counts, 2, **options).numpy()
        for boxes, counts in forms()
    ]
    assert results[0].shape == (3, 1 if name == "psroi_pool" else 4, 2, 2)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_align_of_a_ramp_is_its_middle():
    """X grows by 1 across and 6 down, so a bin is the value at its middle."""
    out = ops.roi_align(to_variable(X), *list(forms())[1], 1, aligned=True).numpy()
    middles = (BOXES[:, :2] + BOXES[:, 2:]) / 2 - 0.5
    first = X[[0, 1, 1], :, 0, 0]
    expected = first + (middles[:, 0] + 6 * middles[:, 1])[:, None]
    np.testing.assert_allclose(out[..., 0, 0], expected)


def test_what_means_two_things_is_refused():
    boxes = to_variable(BOXES, lod=[[0, 1, 3]])
    with pytest.raises(ValueError, match="aligned"):
        ops.roi_align(to_variable(X), boxes, output_size=2)
    with pytest.raises(TypeError, match="output_size=..."):
        ops.roi_pool(to_variable(X), boxes, 2)
    with pytest.raises(ValueError, match="5 columns"):
        ops.roi_pool(to_variable(X), to_variable(np.ones((3, 5))), output_size=2)
    with pytest.raises(TypeError):
        ops.roi_pool(to_variable(X), boxes)
    with pytest.raises(ValueError, match="shape of inputs"):
        ops.sigmoid_focal_loss(dygraph.zeros([3, 2]), dygraph.zeros([3]))


@pytest.mark.parametrize("layer", ["RoIAlign", "RoIPool", "PSRoIPool"])
def test_layers_are_the_functions(layer):
    function = getattr(ops, {"RoIAlign": "roi_align"}.get(layer, layer.lower().replace("p", "_p", 1)
                             if layer == "RoIPool" else "psroi_pool"))  # fmt: skip
    options = {"aligned": False} if layer == "RoIAlign" else {}
    boxes, counts = list(forms())[1]
    made = getattr(ops, layer)(2, 0.5, **options)(to_variable(X), boxes, counts)
    expected = function(to_variable(X), boxes, counts, 2, 0.5, **options)
    np.testing.assert_array_equal(made.numpy(), expected.numpy())


def test_deformable_layer_learns():
    conv = ops.DeformConv2D(4, 3, 3, padding=1, groups=1)
    x, offset = dygraph.ones([2, 4, 6, 6]), dygraph.zeros([2, 18, 6, 6])
    mask = dygraph.full([2, 9, 6, 6], 0.5)
    out = conv(x, offset, mask)
    taps = conv.weight.numpy().sum((1, 2, 3))
    np.testing.assert_allclose(
        out.numpy()[0, :, 3, 3], 0.5 * taps + conv.bias.numpy(), rtol=1e-5, atol=1e-6
    )
    out.sum().backward()
    # Ones everywhere: the tap in the middle sees 2 * 36 pixels, each with a mask of 0.5.
    np.testing.assert_allclose(conv.weight.grad.numpy()[:, :, 1, 1], 36)
    np.testing.assert_allclose(conv.bias.grad.numpy(), 72)


def test_focal_loss_values():
    """torchvision.ops.sigmoid_focal_loss([0.3, -1.2], [1, 0]) by its formula."""
    x, y = np.array([0.3, -1.2]), np.array([1.0, 0.0])
    p = 1 / (1 + np.exp(-x))
    right = np.where(y == 1, p, 1 - p)
    plain = -((1 - right) ** 2) * np.log(right)
    for alpha, weight in ((0.25, np.array([0.25, 0.75])), (-1, 1)):
        got = ops.sigmoid_focal_loss(to_variable(x), to_variable(y), alpha)
        np.testing.assert_allclose(got.numpy(), weight * plain)
    for reduction in ("mean", "sum"):
        got = ops.sigmoid_focal_loss(to_variable(x), to_variable(y), -1, reduction=reduction)
        np.testing.assert_allclose(got.numpy(), getattr(plain, reduction)())


def test_examples():
    for module in (heads, ops, regions):
        assert doctest.testmod(module).failed == 0
    assert doctest.testmod(heads).attempted + doctest.testmod(regions).attempted > 20
