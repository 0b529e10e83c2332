"""Random numbers on a CUDA device are those of the host for equal seeds and streams."""

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")


def both(op, inputs=None, attrs=None):
    """Outputs of the host and of the device, as arrays by name, after equal seeds."""
    out = []
    for place in (_core.CPUPlace(), PLACE):
        with cuda_library.on(place):
            dygraph.seed(17)
            given = {n: _core.to_variable(a) for n, a in (inputs or {}).items()}
            _core.run_op(op, given, attrs or {})  # the second call has another stream
            results = _core.run_op(op, given, attrs or {})
            assert all(v.place == place for v in results.values() if v is not None)
            out.append({n: v.numpy() for n, v in results.items()})
    return out


@pytest.mark.parametrize("shape", [[1], [15], [64], [1000, 3], [70001]])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
class TestEqualNumbers:
    def test_uniform(self, shape, dtype):
        attrs = {"shape": shape, "dtype": dtype, "min": 0.0, "max": 1.0}
        host, device = both("uniform_random", None, attrs)
        assert host["Out"].tobytes() == device["Out"].tobytes()

    def test_own_seed(self, shape, dtype):
        host, device = both("uniform_random", None, {"shape": shape, "dtype": dtype, "seed": 5})
        np.testing.assert_allclose(device["Out"], host["Out"], rtol=1e-6, atol=1e-6)

    def test_normal(self, shape, dtype):
        host, device = both("gaussian_random", None, {"shape": shape, "dtype": dtype, "mean": 0.5})
        rtol = 2e-6 if dtype == "float32" else 1e-14
        np.testing.assert_allclose(device["Out"], host["Out"], rtol=rtol, atol=rtol)

    def test_truncated(self, shape, dtype):
        host, device = both("truncated_gaussian_random", None, {"shape": shape, "dtype": dtype})
        rtol = 2e-6 if dtype == "float32" else 1e-14
        np.testing.assert_allclose(device["Out"], host["Out"], rtol=rtol, atol=rtol)

    def test_dropout(self, shape, dtype):
        x = np.random.RandomState(0).uniform(1, 2, shape).astype(dtype)
        host, device = both("dropout", {"X": x}, {"dropout_prob": 0.3})
        assert host["Mask"].tobytes() == device["Mask"].tobytes()
        np.testing.assert_allclose(device["Out"], host["Out"], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(dtype):
    attrs = {"shape": [5000], "low": -7, "high": 1000, "dtype": dtype}
    host, device = both("randint", None, attrs)
    assert host["Out"].tobytes() == device["Out"].tobytes()


def test_slopes():
    x = np.random.RandomState(1).uniform(-1, 1, [333]).astype("float32")
    host, device = both("rrelu", {"X": x})
    np.testing.assert_allclose(device["Noise"], host["Noise"], rtol=1e-6)


def test_sampled_ids():
    x = np.random.RandomState(2).dirichlet(np.ones(9), 50)
    host, device = both("sampling_id", {"X": x})
    assert host["Out"].tolist() == device["Out"].tolist()
