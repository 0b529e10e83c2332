"""copy, deepcopy and pickle of variables, layers and optimizers."""

import copy
import io
import pickle

import numpy as np
import pytest

import dygraph
from dygraph import nn

DATA = np.random.default_rng(0).standard_normal((8, 3)).astype("float32")
WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


def leaf(values):
    x = dygraph.to_variable(np.asarray(values, "float32"))
    x.stop_gradient = False
    return x


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4), nn.Linear(4, 1))


OPTIMIZERS = {
    "sgd": lambda p: dygraph.optimizer.SGD(0.1, parameter_list=p),
    "momentum": lambda p: dygraph.optimizer.Momentum(0.1, 0.9, parameter_list=p),
    "adam": lambda p: dygraph.optimizer.Adam(0.01, parameter_list=p),
    "clipped": lambda p: dygraph.optimizer.Adam(
        0.01,
        parameter_list=p,
        regularization=dygraph.regularizer.L2Decay(0.1),
        grad_clip=dygraph.nn.ClipGradByGlobalNorm(0.1),
    ),
}


def train(layer, optimizer, steps):
    losses = []
    for _ in range(steps):
        out = layer(dygraph.to_variable(DATA))
        loss = (out * out).mean()
        loss.backward()
        optimizer.step()
        layer.clear_gradients()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_layer_and_optimizer_together_go_on_as_the_originals(way, kind):
    dygraph.seed(1)  # with some weights, momentum makes the loss rise at first
    layer = net()
    optimizer = OPTIMIZERS[kind](layer.parameters())
    train(layer, optimizer, 3)
    twin, twin_optimizer = WAYS[way]((layer, optimizer))
    before = {name: v.numpy() for name, v in layer.state_dict().items()}
    theirs = train(twin, twin_optimizer, 4)
    for name, v in layer.state_dict().items():
        assert np.array_equal(v.numpy(), before[name])
    assert train(layer, optimizer, 4) == theirs
    assert theirs[-1] < theirs[0]
    for name, v in twin.state_dict().items():
        assert np.array_equal(v.numpy(), layer.state_dict()[name].numpy())


@pytest.mark.parametrize("way", WAYS)
def test_what_was_computed_becomes_a_leaf_without_history(way):
    w = leaf([1.0, 2.0])
    twin = WAYS[way](w * 3.0)
    assert twin.is_leaf and not twin.stop_gradient and twin.numpy().tolist() == [3.0, 6.0]
    (twin * twin).sum().backward()
    assert twin.gradient().tolist() == [6.0, 12.0] and w.grad is None


@pytest.mark.parametrize("way", WAYS)
def test_no_gradient_and_no_hook_goes_along(way):
    w = leaf([1.0, 2.0])
    w.register_hook(lambda g: g * 100)
    (w * w).sum().backward()
    twin = WAYS[way](w)
    assert twin.grad is None
    (twin * twin).sum().backward()
    assert twin.gradient().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("way", WAYS)
def test_one_variable_in_two_places_stays_one(way):
    w = leaf([1.0])
    a, b = WAYS[way]([w, w]) if way == "deepcopy" else WAYS[way]([w, w])
    assert a is b and a is not w


def test_a_shallow_copy_of_a_layer_shares_its_parameters():
    layer = net()
    twin = copy.copy(layer)
    assert type(twin) is type(layer)
    for a, b in zip(twin.parameters(), layer.parameters(), strict=True):
        assert a is b


def test_types_and_places_go_along():
    for thing in (dygraph.float32, dygraph.bfloat16):
        assert pickle.loads(pickle.dumps(thing)) == thing == copy.deepcopy(thing)


def test_a_pickle_names_this_package_and_numpy_only():
    seen = set()

    class Watching(pickle.Unpickler):
        def find_class(self, module, name):
            seen.add(module.split(".")[0] if module != "builtins" else name)
            return super().find_class(module, name)

    layer = net()
    optimizer = OPTIMIZERS["clipped"](layer.parameters())
    train(layer, optimizer, 1)
    Watching(io.BytesIO(pickle.dumps((layer, optimizer)))).load()
    assert {"dygraph", "numpy"} <= seen <= {"dygraph", "numpy", "copyreg", "set"}
