"""A loaded model is exported, and what was exported is loaded again."""

import numpy as np
import onnxruntime
import pytest

import dygraph.onnx
import onnx_models

R = np.random.RandomState(1)


def floats(*shape):
    return R.randn(*shape).astype("float32")


FEEDS = {
    "mlp": {"x": floats(5, 4)},
    "lenet": {"x": floats(2, 1, 28, 28)},
    "residual": {"x": floats(2, 3, 12, 10)},
    "recurrent": {"x": floats(5, 3, 5), "lengths": np.array([5, 2, 3], "int32")},
    "encoder": {"words": R.randint(0, 20, (2, 7))},
    "loop": {"turns": np.array(4), "x": floats(2, 3)},
    "while_loop": {"x": np.array([1.0, 2.0], "float32")},
    "choice": {"x": np.array([-5.0, 1.0], "float32")},
    "scan": {"start": floats(3), "x": floats(4, 3)},
    "quantized": {"x": floats(3, 4)},
}


@pytest.mark.parametrize("name", FEEDS)
def test_a_loaded_model_is_exported_and_loaded_again(name, tmp_path):
    path, feed = str(tmp_path / "again.onnx"), FEEDS[name]
    first = dygraph.onnx.load(getattr(onnx_models, name)())
    dygraph.onnx.export(
        first.program, path, feeds=first.feed_names, fetches=first.fetch_vars, scope=first.scope
    )
    again = dygraph.onnx.load(path)
    assert again.feed_names == first.feed_names
    session = onnxruntime.InferenceSession(path)
    wanted = first.run(feed)
    for found in (again.run(feed), session.run(None, feed)):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
