"""Weights of models that are compared with recorded runs of the same models in torch."""

import numpy as np

import dygraph
from dygraph import nn


def draw(rng, shape):
    """What a weight of this shape, in torch's order of axes, starts from."""
    return rng.randn(*shape).astype("float32") / np.sqrt(shape[-1] if len(shape) > 1 else 10)


def fill(model, seed=0):
    """The weights of `model`; those of Linear are drawn as torch holds them, [out, in]."""
    rng = np.random.RandomState(seed)
    layers = [model, *model.sublayers()]
    turned = {id(layer.weight) for layer in layers if isinstance(layer, nn.Linear)}
    for _, p in model.named_parameters():
        shape = p.shape[::-1] if id(p) in turned else p.shape
        p.set_value(draw(rng, shape).astype("float32").T if id(p) in turned else draw(rng, shape))
    return model


def close(got, expected):
    np.testing.assert_allclose(np.array(got, "float64"), expected, rtol=0, atol=1e-4)


def var(array):
    return dygraph.to_variable(np.asarray(array, "float32"))
