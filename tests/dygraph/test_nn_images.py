"""Convolution, pooling and normalisation layers against formulas in NumPy."""

import itertools

import numpy as np
import pytest

import dygraph
import dygraph.ops as F
from dygraph import nn

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def the_same_numbers_in_any_order():
    """Weights and inputs of a test do not depend on the tests before it."""
    global RNG
    RNG = np.random.default_rng(0)
    with dygraph.guard(seed=0):
        yield


def var(values, dtype="float32", grad=False):
    x = dygraph.to_variable(np.asarray(values, dtype))
    if grad:
        x.stop_gradient = False
    return x


def draw(*shape):
    return RNG.normal(size=shape).astype("float32")


def close(got, expected, tolerance=1e-4):
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance)


def check_parameter_gradient(layer, x, name):
    """One entry of the parameter's gradient of a weighted sum against a central difference."""
    weights = draw(*layer(var(x)).shape)

    def loss():
        return (layer(var(x)) * var(weights)).sum()

    layer.clear_gradients()
    loss().backward()
    parameter = getattr(layer, name)
    got = parameter.gradient()
    values, step = parameter.numpy(), 1e-2
    at = np.unravel_index(np.abs(got).argmax(), got.shape)
    ends = []
    for sign in (1, -1):
        moved = values.copy()
        moved[at] += sign * step
        parameter.set_value(moved)
        ends.append(float(loss().numpy()))
    parameter.set_value(values)
    slope = (ends[0] - ends[1]) / (2 * step)
    assert abs(got[at] - slope) < 0.02 * max(1, abs(slope))


def round_trip(make, x, *more):
    """A second layer with the first one's state gives its results."""
    first, second = make(), make()
    first(var(x), *more)
    second.set_dict(first.state_dict())
    first.eval(), second.eval()
    assert np.array_equal(first(var(x), *more).numpy(), second(var(x), *more).numpy())


def convolve(x, w, stride, padding, dilation):
    """x [N, C, ...], w [M, C, ...]; the same number for every axis."""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * n])
    sizes = [
        (s - dilation * (k - 1) - 1) // stride + 1
        for s, k in zip(x.shape[2:], w.shape[2:], strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    for tap in itertools.product(*map(range, w.shape[2:])):
        where = [
            slice(t * dilation, t * dilation + (o - 1) * stride + 1, stride)
            for t, o in zip(tap, sizes, strict=True)
        ]
        out += np.einsum("nc...,oc->no...", x[(..., *where)], w[(..., *tap)])
    return out


CONVS = {1: nn.Conv1D, 2: nn.Conv2D, 3: nn.Conv3D}
TRANSPOSED = {1: nn.Conv1DTranspose, 2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}
SIZES = {1: (9,), 2: (7, 6), 3: (5, 6, 5)}


class TestConvolutions:
    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_formula(self, axes):
        layer = CONVS[axes](2, 3, 3, stride=2, padding=1, dilation=1, act="relu")
        x = draw(2, 2, *SIZES[axes])
        layer.bias.set_value(np.array([0.5, -0.5, 1], "float32"))
        expected = convolve(x, layer.weight.numpy(), 2, 1, 1)
        expected += layer.bias.numpy().reshape(-1, *[1] * axes)
        close(layer(var(x)), np.maximum(expected, 0))
        check_parameter_gradient(layer, x, "weight")
        check_parameter_gradient(layer, x, "bias")
        round_trip(lambda: CONVS[axes](2, 3, 3), x)

    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_transposed_is_the_adjoint(self, axes):
        """<conv(x), y> = <x, transposed(y)> for the same weights, which defines it."""
        x = draw(1, 2, *SIZES[axes])
        y = draw(*convolve(x, np.zeros((3, 2, *[3] * axes)), 2, 1, 1).shape)
        layer = TRANSPOSED[axes](3, 2, 3, stride=2, padding=1, bias_attr=False)
        w = layer.weight.numpy()
        smaller = [(o - 1) * 2 - 2 + 3 for o in y.shape[2:]]
        out = layer(var(y))
        assert out.shape == (1, 2, *smaller)
        inside = x[(..., *[slice(0, s) for s in smaller])]
        left = (convolve(inside, w, 2, 1, 1) * y).sum()
        assert abs(left - (inside * out.numpy()).sum()) < 1e-3
        check_parameter_gradient(layer, y, "weight")

    def test_output_size(self):
        x = var(draw(1, 3, 4, 4))
        assert nn.Conv2DTranspose(3, 2, 3, stride=2)(x).shape == (1, 2, 9, 9)
        assert nn.Conv2DTranspose(3, 2, 3, output_size=10, stride=2)(x).shape == (1, 2, 10, 10)
        line = var(draw(1, 3, 4))
        assert nn.Conv1DTranspose(3, 2, 3, output_size=10, stride=2)(line).shape == (1, 2, 10)
        with pytest.raises(ValueError, match="output_size must lie in"):
            nn.Conv2DTranspose(3, 2, 3, output_size=11, stride=2)(x)

    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_output_padding(self, axes):
        x, make = draw(1, 3, *[4] * axes), TRANSPOSED[axes]
        longer = make(3, 2, 3, stride=3, padding=1, output_padding=2)
        sized = make(3, 2, 3, stride=3, padding=1, output_size=12)
        sized.set_dict(longer.state_dict())
        out = longer(var(x))
        assert out.shape == (1, 2, *[12] * axes)
        assert np.array_equal(out.numpy(), sized(var(x)).numpy())
        # The last pixel along each axis is one that no window reaches.
        assert (out.numpy() == 0)[..., -1].all() and "output_padding" in repr(longer)
        with pytest.raises(ValueError, match="output_padding must be less than the stride"):
            make(3, 2, 3, stride=2, output_padding=2)(var(x))
        with pytest.raises(ValueError, match="one of output_size and output_padding may be given"):
            make(3, 2, 3, stride=2, output_padding=1, output_size=10)
        with pytest.raises(ValueError, match="output_padding"):
            make(3, 2, 3, output_padding=-1)

    def test_groups(self):
        assert nn.Conv1D(4, 6, 3, groups=2).weight.shape == (6, 2, 3)
        assert nn.Conv3D(4, 6, (1, 2, 3), groups=2).weight.shape == (6, 2, 1, 2, 3)
        assert nn.Conv2DTranspose(4, 6, 3, groups=2).weight.shape == (4, 3, 3, 3)
        out = nn.Conv2DTranspose(4, 6, 3, groups=2)(var(draw(1, 4, 5, 5)))
        assert out.shape == (1, 6, 7, 7)

    @pytest.mark.parametrize("kind", [*CONVS.values(), *TRANSPOSED.values()])
    def test_bad(self, kind):
        for args in ((None, 1, 3), (1, 1, "a"), (1, 1.5, 3)):
            with pytest.raises(TypeError, match=kind.__name__):
                kind(*args)
        for args in ((0, 1, 3), (1, 1, 0), (1, 1, (3, 3, 3, 3))):
            with pytest.raises(ValueError, match=kind.__name__):
                kind(*args)
        with pytest.raises(ValueError, match="must be multiples of groups"):
            kind(3, 4, 3, groups=2)
        layer = kind(3, 4, 3)
        for shape in ((2, 3), (2, 3, 4, 4, 4, 4), (), (2, 2, *[4] * (layer.weight.ndim - 2))):
            with pytest.raises(ValueError):
                layer(var(np.ones(shape)))
        with pytest.raises(TypeError):
            layer(None)

    def test_repr(self):
        assert repr(nn.Conv3D(2, 3, 3, groups=1, act="relu")) == (
            "Conv3D(2, 3, filter_size=[3, 3, 3], act='relu')"
        )


def pooled(x, size, stride, reduce):
    """No padding."""
    n = x.ndim - 2
    sizes = [(s - size) // stride + 1 for s in x.shape[2:]]
    out = np.zeros((*x.shape[:2], *sizes))
    for at in itertools.product(*map(range, sizes)):
        window = x[(..., *[slice(a * stride, a * stride + size) for a in at])]
        out[(..., *at)] = reduce(window.reshape(*x.shape[:2], -1), -1)
    assert n == len(sizes)
    return out


class TestPooling:
    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_windows(self, axes):
        x = draw(2, 3, *SIZES[axes])
        maximum, average = (getattr(nn, f"{kind}Pool{axes}D") for kind in ("Max", "Avg"))
        close(maximum(2)(var(x)), pooled(x, 2, 2, np.max))
        close(maximum(3, 1)(var(x)), pooled(x, 3, 1, np.max))
        close(average(2)(var(x)), pooled(x, 2, 2, np.mean))
        assert maximum(2, 2, ceil_mode=True)(var(x)).shape[2:] == tuple(
            -(-s // 2) for s in SIZES[axes]
        )
        out, mask = maximum(2, return_mask=True)(var(x))
        flat = x.reshape(2, 3, -1)
        found = np.take_along_axis(flat, mask.numpy().reshape(2, 3, -1), -1)
        assert mask.dtype == dygraph.int32
        np.testing.assert_array_equal(found.reshape(out.shape), out.numpy())

    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_padding_is_not_counted_unless_asked(self, axes):
        x = np.ones((1, 1, *[2] * axes), "float32")
        average = getattr(nn, f"AvgPool{axes}D")
        assert (average(2, 1, 1)(var(x)).numpy() == 1).all()
        corner = average(2, 1, 1, exclusive=False)(var(x)).numpy().ravel()[0]
        assert corner == 0.5**axes

    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_adaptive(self, axes):
        x = draw(2, 3, *SIZES[axes])
        for kind, reduce in (("Avg", np.mean), ("Max", np.max)):
            layer = getattr(nn, f"Adaptive{kind}Pool{axes}D")
            whole = reduce(x.reshape(2, 3, -1), -1).reshape(2, 3, *[1] * axes)
            close(layer(1)(var(x)), whole)
            got = layer([None] * (axes - 1) + [2])(var(x))
            last = x.shape[-1]
            halves = [x[..., : -(-last // 2)], x[..., last // 2 :]]
            close(got, np.stack([reduce(h, -1) for h in halves], -1))

    def test_unpool(self):
        x = draw(1, 2, 4, 6)
        out, mask = nn.MaxPool2D(2, return_mask=True)(var(x))
        back = nn.MaxUnPool2D(2)(out, mask).numpy()
        assert back.shape == x.shape
        kept = back != 0
        assert kept.sum() == out.size and np.array_equal(back[kept], x[kept])
        odd = draw(1, 1, 5, 5)
        out, mask = F.max_pool2d(var(odd), 2, return_mask=True)
        assert nn.MaxUnPool2D(2, output_size=(5, 5))(out, mask).shape == (1, 1, 5, 5)

    def test_gradient_passes(self):
        x = var(draw(1, 1, 4, 4), grad=True)
        F.avg_pool2d(x, 2).sum().backward()
        assert (x.gradient() == 0.25).all()
        x = var(np.arange(8.0).reshape(1, 1, 8), grad=True)
        F.adaptive_max_pool1d(x, 2).sum().backward()
        assert x.gradient().ravel().tolist() == [0, 0, 0, 1, 0, 0, 0, 1]

    def test_bad(self):
        for axes in (1, 2, 3):
            layer = getattr(nn, f"MaxPool{axes}D")
            with pytest.raises(ValueError, match=f"must have {axes + 2} axes"):
                layer(2)(var(np.ones((2, 3))))
            with pytest.raises(TypeError, match="must be a Variable"):
                layer(2)(None)
            for bad in (0, -1, (1, 2, 3, 4)):
                with pytest.raises(ValueError, match="pool_size"):
                    layer(bad)
            with pytest.raises(TypeError, match="pool_size"):
                layer("a")
            with pytest.raises(ValueError, match="output_size"):
                getattr(nn, f"AdaptiveAvgPool{axes}D")(0)
            with pytest.raises(TypeError, match="output_size"):
                getattr(nn, f"AdaptiveAvgPool{axes}D")(1.5)
        with pytest.raises(ValueError, match="return_mask"):
            F.max_pool2d(var(draw(1, 1, 4, 4)), 2, ceil_mode=True, return_mask=True)
        back = F.max_unpool2d(var(draw(1, 1, 1, 1)), var(np.full((1, 1, 1, 1), 19), "int32"), 2,
                              output_size=(4, 5))  # fmt: skip
        assert back.shape == (1, 1, 4, 5) and back.numpy()[0, 0, 3, 4] != 0
        with pytest.raises(ValueError, match="output_size"):
            F.max_unpool2d(var(draw(1, 1, 4, 4)), var(np.zeros((1, 1, 4, 4)), "int32"), 2,
                           output_size=(2, 2))  # fmt: skip


class TestNorms:
    def test_layer_norm(self):
        x = draw(4, 3, 5)
        layer = nn.LayerNorm([3, 5], act="relu")
        weight, bias = draw(15), draw(15)
        layer.weight.set_value(weight), layer.bias.set_value(bias)
        flat = x.reshape(4, 15)
        normal = (flat - flat.mean(1, keepdims=True)) / np.sqrt(flat.var(1) + 1e-5)[:, None]
        close(layer(var(x)), np.maximum(normal * weight + bias, 0).reshape(x.shape))
        check_parameter_gradient(layer, x, "weight")
        plain = nn.LayerNorm(5, scale=False, shift=False)
        assert plain.weight is None and plain.bias is None and not plain.parameters()
        last = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1) + 1e-5)[..., None]
        close(plain(var(x)), last)
        assert np.array_equal(plain.eval()(var(x)).numpy(), plain.train()(var(x)).numpy())
        round_trip(lambda: nn.LayerNorm(5), x)

    def test_rms_norm(self):
        x = draw(4, 6)
        layer = nn.RMSNorm(6)
        assert layer.bias is None
        close(layer(var(x)), x / np.sqrt((x**2).mean(1, keepdims=True) + 2.0**-23))
        check_parameter_gradient(layer, x, "weight")
        shifted = nn.RMSNorm(6, bias_attr=None)
        check_parameter_gradient(shifted, x, "bias")
        round_trip(lambda: nn.RMSNorm(6), x)

    def test_group_norm(self):
        x = draw(2, 6, 3, 4)
        layer = nn.GroupNorm(6, 3)
        groups = x.reshape(2, 3, -1)
        normal = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2) + 1e-5)[..., None]
        close(layer(var(x)), normal.reshape(x.shape))
        check_parameter_gradient(layer, x, "weight")
        moved = nn.GroupNorm(6, 3, data_layout="NHWC")(var(np.moveaxis(x, 1, -1)))
        close(moved, np.moveaxis(normal.reshape(x.shape), 1, -1))
        round_trip(lambda: nn.GroupNorm(6, 2), x)

    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_instance_norm(self, axes):
        kind = getattr(nn, f"InstanceNorm{axes}D")
        x = draw(2, 3, *SIZES[axes])
        others = tuple(range(2, x.ndim))
        mean, deviation = x.mean(others, keepdims=True), x.var(others, keepdims=True)
        close(kind(3)(var(x)), (x - mean) / np.sqrt(deviation + 1e-5))
        check_parameter_gradient(kind(3), x, "bias")
        round_trip(lambda: kind(3), x)
        with pytest.raises(ValueError, match=f"InstanceNorm{axes}D: input must have"):
            kind(3)(var(np.ones((2, 3))))

    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_batch_norm(self, axes):
        kind = getattr(nn, f"BatchNorm{axes}D")
        x = draw(4, 3, *SIZES[axes]) * 2 + 1
        others = (0, *range(2, x.ndim))
        layer = kind(3, momentum=0.5)
        mean, variance = x.mean(others, keepdims=True), x.var(others, keepdims=True)
        close(layer(var(x)), (x - mean) / np.sqrt(variance + 1e-5), 1e-3)
        running = 0.5 * mean, 0.5 + 0.5 * variance
        close(layer.eval()(var(x)), (x - running[0]) / np.sqrt(running[1] + 1e-5), 1e-3)
        round_trip(lambda: kind(3), x)
        with pytest.raises(ValueError, match=f"BatchNorm{axes}D: input must have"):
            layer(var(np.ones((2, 3, 4, 4, 4, 4))))
        with pytest.raises(TypeError):
            layer(None)

    def test_batch_norm_1d_takes_rows(self):
        assert nn.BatchNorm1D(3)(var(draw(4, 3))).shape == (4, 3)

    @pytest.mark.parametrize("act", ["relu", "sigmoid", None])
    @pytest.mark.parametrize("training", [True, False])
    def test_batch_norm_of_a_residual_block(self, act, training):
        """The values and gradients of normalising, adding and activating one after the other."""
        x, residual, top = draw(4, 3, 5, 5) * 2 + 1, draw(4, 3, 5, 5), draw(4, 3, 5, 5)
        results = []
        for layer in nn.BatchNorm2D(3, act=act), nn.BatchNorm2D(3):
            layer.train() if training else layer.eval()
            for parameter in layer.parameters():
                parameter.stop_gradient = False
            first, second = var(x, grad=True), var(residual, grad=True)
            alone, with_sum = layer(first), layer(first, second)
            if layer._act is None and act is not None:
                function = getattr(dygraph.ops, act)
                alone, with_sum = function(alone), function(layer(first) + second)
            (alone * var(top) + with_sum * with_sum).sum().backward()
            results.append(
                [alone.numpy(), with_sum.numpy(), first.gradient(), second.gradient()]
                + [p.gradient() for p in layer.parameters()]
            )
        for together, apart in zip(*results, strict=True):
            assert together.any()
            np.testing.assert_allclose(together, apart, rtol=1e-5, atol=1e-5)

    def test_spectral_norm(self):
        w = draw(3, 4, 2)
        layer = nn.SpectralNorm([3, 4, 2], dim=1, power_iters=2)
        largest = np.linalg.svd(np.moveaxis(w, 1, 0).reshape(4, 6))[1][0]
        for _ in range(40):
            out = layer(var(w))
        close(out, w / largest)
        kept = layer.weight_u.numpy()
        close(layer.eval()(var(w)), w / largest)
        assert np.array_equal(layer.weight_u.numpy(), kept)
        assert sorted(layer.state_dict()) == ["weight_u", "weight_v"] and not layer.parameters()
        round_trip(lambda: nn.SpectralNorm([3, 4, 2]), w)
        weight = var(w, grad=True)
        layer(weight).sum().backward()
        assert weight.gradient().shape == w.shape

    def test_local_response_norm(self):
        x = draw(2, 5, 2, 2)
        squares = np.pad(x**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
        total = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
        close(nn.LocalResponseNorm(3, alpha=0.5)(var(x)), x / (1 + 0.5 * total / 3) ** 0.75)

    def test_bad(self):
        with pytest.raises(ValueError, match=r"the last axes of input must be \[5\]"):
            nn.LayerNorm(5)(var(draw(2, 4)))
        with pytest.raises(ValueError, match="RMSNorm: the last axes of input"):
            nn.RMSNorm([2, 5])(var(draw(5)))
        with pytest.raises(ValueError, match="normalized_shape"):
            nn.LayerNorm([])
        with pytest.raises(TypeError, match="LayerNorm"):
            nn.LayerNorm("5")
        with pytest.raises(ValueError, match="must be a multiple of groups"):
            nn.GroupNorm(5, 2)
        for layer in (nn.GroupNorm(4, 2), nn.InstanceNorm(4, param_attr=False, bias_attr=False)):
            with pytest.raises(ValueError, match="must have 4 channels"):
                layer(var(draw(2, 3, 4, 4)))
            with pytest.raises(TypeError):
                layer(None)
        with pytest.raises(ValueError, match="must be odd, got 4"):
            nn.LocalResponseNorm(4)
        with pytest.raises(ValueError, match=r"SpectralNorm: weight must have shape \[2, 3\]"):
            nn.SpectralNorm([2, 3])(var(draw(3, 2)))
        with pytest.raises(IndexError, match="SpectralNorm: dim"):
            nn.SpectralNorm([2, 3], dim=2)


class TestFunctions:
    def test_conv1d(self):
        x, w, b = draw(2, 3, 8), draw(4, 3, 3), draw(4)
        expected = convolve(x, w, 2, 1, 1) + b.reshape(-1, 1)
        close(F.conv1d(var(x), var(w), var(b), stride=2, padding=1), expected)
        with pytest.raises(ValueError, match="conv1d: input must have 3 axes"):
            F.conv1d(var(draw(2, 3)), var(w))
        with pytest.raises(ValueError, match="conv1d: weight must have 3 axes"):
            F.conv1d(var(x), var(draw(4, 3)))
        with pytest.raises(TypeError, match="conv1d: stride"):
            F.conv1d(var(x), var(w), stride=1.5)

    def test_they_are_among_the_functions(self):
        for name in ("conv1d", "max_pool2d", "adaptive_avg_pool3d", "local_response_norm"):
            assert name in F.__all__ and getattr(F, name).__doc__


class TestImages:
    def test_upsample(self):
        x = draw(2, 3, 4, 5)
        close(nn.UpsamplingNearest2D(scale_factor=2)(var(x)), x.repeat(2, 2).repeat(2, 3))
        up = nn.UpsamplingBilinear2D(size=[7, 9])(var(x)).numpy()
        np.testing.assert_allclose(up[:, :, ::2, ::2], x, atol=1e-6)
        between = (x[:, :, :-1] + x[:, :, 1:]) / 2
        np.testing.assert_allclose(up[:, :, 1::2, ::2], between, atol=1e-6)
        cells = nn.Upsample(scale_factor=0.5, mode="bilinear")(var(x[..., :4]))
        close(cells, x[..., :4].reshape(2, 3, 2, 2, 2, 2).mean((3, 5)))
        volume = nn.Upsample(size=[2, 3, 4], mode="trilinear", align_corners=True)
        assert volume(var(draw(1, 1, 3, 3, 3))).shape == (1, 1, 2, 3, 4)
        for arguments in ({}, {"size": [2, 2], "scale_factor": 2}):
            with pytest.raises(ValueError, match="one of size and scale_factor"):
                nn.Upsample(**arguments)
            with pytest.raises(ValueError, match="one of size and scale_factor"):
                F.interpolate(var(x), **arguments)
        with pytest.raises(ValueError, match="mode must be one of"):
            nn.Upsample(size=[2, 2], mode="cubic")
        with pytest.raises(ValueError, match="interpolate: input must have 3 to 5 axes"):
            nn.Upsample(size=[2, 2])(var(draw(2, 3)))

    def test_maxima_back_in_lines_and_volumes(self):
        x = draw(2, 3, 6)
        most, where = nn.MaxPool1D(2, return_mask=True)(var(x))
        back = nn.MaxUnPool1D(2)(most, where).numpy()
        assert np.array_equal(back, np.where(x == x.reshape(2, 3, 3, 2).max(3).repeat(2, 2), x, 0))
        assert nn.MaxUnPool1D(2, output_size=7)(most, where).shape == (2, 3, 7)
        volume = draw(1, 2, 2, 4, 3)
        most, where = nn.MaxPool3D((2, 2, 1), return_mask=True)(var(volume))
        back = nn.MaxUnPool3D((2, 2, 1))(most, where).numpy()
        blocks = volume.reshape(1, 2, 1, 2, 2, 2, 3).max((3, 5)).repeat(2, 2).repeat(2, 3)
        assert np.array_equal(back, np.where(volume == blocks, volume, 0))
        with pytest.raises(ValueError, match="max_unpool3d: input must have 5 axes"):
            nn.MaxUnPool3D(2)(var(x), where)

    def test_pixel_shuffle(self):
        x = draw(1, 4, 2, 3)
        got = nn.PixelShuffle(2)(var(x)).numpy()
        assert np.array_equal(got[0, 0, ::2, ::2], x[0, 0])
        assert np.array_equal(got[0, 0, 1::2, ::2], x[0, 2])
        last = nn.PixelShuffle(2, data_format="NHWC")(var(x.transpose(0, 2, 3, 1))).numpy()
        assert np.array_equal(last.transpose(0, 3, 1, 2), got)
        with pytest.raises(TypeError, match="upscale_factor"):
            nn.PixelShuffle(1.5)
        with pytest.raises(ValueError, match="PixelShuffle: data_format must be one of 'NCHW'"):
            nn.PixelShuffle(2, data_format="NCDHW")

    def test_slopes_of_channels_that_stand_last(self):
        x = draw(2, 3, 2, 4)
        slopes = np.array([0.5, -1.0, 2.0, 0.0], "float32")
        prelu = nn.PReLU(4, data_format="NHWC")
        prelu.weight.set_value(slopes)
        close(prelu(var(x)), np.where(x > 0, x, slopes * x))
        with pytest.raises(ValueError, match="PReLU: data_format must be one of"):
            nn.PReLU(4, data_format="NLC")

    def test_resizing_with_channels_last_and_a_factor_for_each_axis(self):
        x = draw(2, 3, 4, 5)
        turned = var(x.transpose(0, 2, 3, 1))
        wide = x.repeat(3, 2).repeat(2, 3)
        close(F.interpolate(var(x), scale_factor=[3, 2]), wide)
        close(F.interpolate(turned, scale_factor=[3, 2], data_format="NHWC"),
              wide.transpose(0, 2, 3, 1))  # fmt: skip
        close(nn.Upsample(scale_factor=[3, 2], data_format="NHWC")(turned),
              wide.transpose(0, 2, 3, 1))  # fmt: skip
        assert F.interpolate(var(x), scale_factor=[0.5, 1.9]).shape == (2, 3, 2, 9)
        volume = var(draw(1, 2, 3, 2, 4))
        assert F.interpolate(volume, [4, 3, 5], mode="trilinear", data_format="NDHWC").shape == (
            1, 4, 3, 5, 4
        )  # fmt: skip
        bytes_ = dygraph.to_variable(np.array([[[[0, 255]]]], "uint8"))
        assert F.interpolate(bytes_, [1, 3], mode="bilinear", align_corners=True).tolist() == [
            [[[0, 127, 255]]]
        ]
        with pytest.raises(ValueError, match="one for each of the 2 spatial axes"):
            F.interpolate(var(x), scale_factor=[1, 2, 3])
        with pytest.raises(
            ValueError, match="scale must give sizes of at least 1, got 0.1 times 4"
        ):
            F.interpolate(var(x), scale_factor=[0.1, 1])
        with pytest.raises(ValueError, match="data_format for nearest must be one of"):
            F.interpolate(var(x), [2, 2], data_format="NDHWC")

    def test_unfold(self):
        x = draw(2, 3, 4, 4)
        got = nn.Unfold(2, stride=2)(var(x)).numpy()
        assert got.shape == (2, 12, 4)
        assert np.array_equal(got[1, :, 3], x[1, :, 2:, 2:].ravel())
        assert nn.Unfold(2, padding=1)(var(x)).shape == (2, 12, 25)
        assert nn.Unfold(2, padding=[1, 0, 0, 0])(var(x)).shape == (2, 12, 12)
        with pytest.raises(ValueError, match="Unfold: padding"):
            nn.Unfold(2, padding=[1, 2, 3])

    def test_flatten_and_pad(self):
        x = draw(2, 3, 4, 5)
        assert np.array_equal(nn.Flatten()(var(x)).numpy(), x.reshape(2, 60))
        assert nn.Flatten(0, 1)(var(x)).shape == (6, 4, 5)
        for mode, numpys in (("constant",) * 2, ("reflect",) * 2, ("replicate", "edge")):
            expected = np.pad(x, ((0, 0), (0, 0), (1, 0), (2, 1)), numpys)
            assert np.array_equal(nn.Pad2D([2, 1, 1, 0], mode)(var(x)).numpy(), expected)
        assert (nn.Pad2D(1, value=3.0)(var(x)).numpy()[:, :, 0] == 3).all()
        with pytest.raises(ValueError, match="Pad2D: mode"):
            nn.Pad2D(1, "wrap")
