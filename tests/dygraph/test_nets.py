import numpy as np
import pytest

import dygraph
from dygraph import nets

LOD = [[0, 2, 5]]


def rows():
    return np.arange(10.0).reshape(5, 2)


def test_first_and_last_steps():
    x = dygraph.to_variable(rows(), lod=LOD)
    np.testing.assert_array_equal(nets.sequence_first_step(x).numpy(), rows()[[0, 2]])
    np.testing.assert_array_equal(nets.sequence_last_step(x).numpy(), rows()[[1, 4]])


def test_lod_append():
    x = dygraph.to_variable(rows(), lod=[[0, 5]])
    assert nets.lod_append(x, [0, 1, 2, 3, 4, 5]).lod() == [[0, 5], [0, 1, 2, 3, 4, 5]]
    offsets = dygraph.to_variable(np.arange(6, dtype="int32"))
    assert nets.lod_append(x, offsets).lod() == [[0, 5], [0, 1, 2, 3, 4, 5]]
    with pytest.raises(ValueError, match="must end at"):
        nets.lod_append(x, LOD[0])
    with pytest.raises(TypeError, match="list of offsets"):
        nets.lod_append(x, 3)


def test_glu():
    x = np.random.RandomState(0).randn(2, 4, 3)
    a, b = x[:, :2], x[:, 2:]
    out = nets.glu(dygraph.to_variable(x), dim=1)
    np.testing.assert_allclose(out.numpy(), a / (1 + np.exp(-b)))
    with pytest.raises(ValueError, match="must be even"):
        nets.glu(dygraph.to_variable(x))
    with pytest.raises(IndexError, match="dim must lie"):
        nets.glu(dygraph.to_variable(x), dim=3)


def test_sequence_conv_pool():
    x, filter, bias = rows(), np.random.RandomState(1).randn(6, 3), np.array([0.5, -0.5, 0.0])
    padded = [np.pad(part, ((1, 1), (0, 0))) for part in (x[:2], x[2:])]
    want = [
        np.max([np.tanh(p[t : t + 3].ravel() @ filter + bias) for t in range(len(p) - 2)], axis=0)
        for p in padded
    ]
    given = [dygraph.to_variable(a) for a in (filter, bias)]
    out = nets.sequence_conv_pool(dygraph.to_variable(x, lod=LOD), *given, act="tanh")
    np.testing.assert_allclose(out.numpy(), want)
    with pytest.raises(ValueError, match="pool_type must be one of"):
        nets.sequence_conv_pool(dygraph.to_variable(x, lod=LOD), *given, pool_type="median")
