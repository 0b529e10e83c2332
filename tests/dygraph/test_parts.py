"""Dropout of channels, the dicts, Identity, summary."""

import numpy as np
import pytest

import dygraph
from dygraph import nn


def ones(*shape):
    return dygraph.to_variable(np.ones(shape, "float32"))


@pytest.mark.parametrize(
    "layer, shape", [(nn.Dropout1D, (40, 50, 3)), (nn.Dropout2D, (40, 50, 2, 3)),
                     (nn.Dropout3D, (40, 50, 2, 1, 2))]
)  # fmt: skip
def test_channels_drop_together(layer, shape):
    with dygraph.guard(seed=5):
        drop = layer(0.25)
        y = drop(ones(*shape)).numpy().reshape(shape[0], shape[1], -1)
    assert (y == y[:, :, :1]).all()
    assert set(np.unique(y)) == {np.float32(0), np.float32(4 / 3)}
    share = (y[:, :, 0] == 0).mean()
    assert abs(share - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 2000)
    np.testing.assert_array_equal(drop.eval()(ones(*shape)).numpy(), np.ones(shape))
    with pytest.raises(ValueError, match=f"must have {len(shape)} axes.*got shape \\[2, 2\\]"):
        drop(ones(2, 2))


def test_channel_dropout_gradient_is_its_mask():
    x = ones(3, 4, 2, 2)
    x.stop_gradient = False
    with dygraph.guard(seed=1):
        y = nn.Dropout2D(0.5)(x)
    y.backward()
    np.testing.assert_array_equal(x.gradient(), y.numpy())


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_alpha_dropout_keeps_mean_and_variance(p):
    x = np.random.default_rng(0).normal(size=(400, 500)).astype("float32")
    with dygraph.guard(seed=2):
        drop = nn.AlphaDropout(p)
        y = drop(dygraph.to_variable(x)).numpy()
    assert abs(y.mean()) < 0.02 and abs(y.std() - 1) < 0.02
    low = -1.7580993408473766
    scale = ((1 - p) * (1 + p * low**2)) ** -0.5
    dropped = np.float32(scale * (low - p * low))
    share = np.isclose(y, dropped, rtol=1e-5).mean()
    assert abs(share - p) < 0.005
    kept = ~np.isclose(y, dropped, rtol=1e-5)
    np.testing.assert_allclose(y[kept], scale * x[kept] - scale * p * low, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(drop.eval()(dygraph.to_variable(x)).numpy(), x)


def test_feature_alpha_dropout_and_extremes():
    with dygraph.guard(seed=2):
        y = nn.FeatureAlphaDropout(0.5)(ones(20, 30, 2, 2)).numpy()
    assert (y == y[:, :, :1, :1]).all() and len(np.unique(y)) == 2
    assert not nn.AlphaDropout(1.0)(ones(3)).numpy().any()
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.AlphaDropout(1.5)


def test_layer_dict():
    heads = nn.LayerDict([("head_a", nn.Linear(2, 3)), ("b", nn.ReLU())])
    heads["c"] = nn.Linear(3, 1)
    assert list(heads) == ["head_a", "b", "c"] and len(heads) == 3 and "b" in heads
    assert [n for n, _ in heads.named_parameters()] == [
        "head_a.weight",
        "head_a.bias",
        "c.weight",
        "c.bias",
    ]
    assert heads.pop("b").__class__ is nn.ReLU and "b" not in heads
    with pytest.raises(KeyError, match="Did you mean 'head_a'"):
        heads["head_aa"]
    del heads["head_a"]
    assert list(heads.keys()) == ["c"] and list(heads.items())[0][1] is heads["c"]
    heads.clear()
    assert len(heads) == 0 and heads.parameters() == []
    with pytest.raises(TypeError, match="must be a Layer"):
        heads["x"] = 3
    with pytest.raises(TypeError, match="must be a dict or pairs"):
        heads.update(7)


def test_parameter_dict():
    group = nn.ParameterDict({"w": nn.Linear(2, 2).weight})
    assert list(group.state_dict()) == ["w"] and group["w"].shape == (2, 2)
    with pytest.raises(TypeError, match="a value must be a Parameter"):
        group["v"] = ones(2)


def test_identity():
    x = ones(2)
    assert nn.Identity(3, a=4)(x) is x


class Net(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm(4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        return self.out(dygraph.mean(self.norm(self.conv(x))) * ones(1, 4))


def test_summary():
    net = Net()
    mean = net.norm._mean.numpy() if hasattr(net.norm, "_mean") else net.norm.buffers()[0].numpy()
    s = dygraph.summary(net, ones(2, 3, 8, 8))
    assert [r.name.strip() for r in s.rows] == ["Net", "conv", "norm", "out"]
    conv, linear = 2 * 2 * 4 * 8 * 8 * 27, 2 * 4 * 2
    assert [r.flops for r in s.rows] == [conv + linear, conv, 0, linear]
    assert s.parameters == (4 * 3 * 9 + 4) + 8 + (8 + 2) == s.trainable
    assert s.rows[1].output == "[2, 4, 8, 8]" and s.rows[1].parameters == 112
    assert s.bytes == 4 * (s.parameters + 8)
    assert repr(s).splitlines()[-1].startswith("130 parameters (130 trained)")
    assert s._repr_html_().count("<tr>") == 5
    np.testing.assert_array_equal(net.norm.buffers()[0].numpy(), mean)  # not a training step
    assert all(not sub._pre_hooks for _, sub in net.named_sublayers(include_self=True))
    with pytest.raises(TypeError, match="must be a Layer"):
        dygraph.summary(3)


def test_summary_leaves_no_hook_when_the_call_fails():
    net = Net()
    with pytest.raises(ValueError):
        dygraph.summary(net, ones(2, 5, 8, 8))
    assert not net._pre_hooks and not net.conv._post_hooks
    assert dygraph.ops.relu(ones(1)).numpy() == [1.0]
