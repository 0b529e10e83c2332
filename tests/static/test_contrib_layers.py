"""``fluid.contrib.layers``: parameters, gradients, refusals; values stand in the docstrings."""

import importlib

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import InvalidArgumentError
from dygraph.static.contrib import layers

ONE = static.initializer.Constant(1.0)


@pytest.fixture(autouse=True)
def program():
    with (
        static.program_guard(static.Program(), static.Program()),
        static.scope_guard(static.Scope()),
    ):
        yield static.default_main_program()


def results(feed, fetch):
    exe = static.Executor()
    exe.run(static.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch)


def test_fluid_names_the_module():
    assert static.contrib.layers is importlib.import_module("dygraph.static.contrib.layers")


def test_a_table_learns_from_pooled_ids(program):
    words = static.data("words", [None, 1], "int64", lod_level=1)
    out = layers.fused_embedding_seq_pool(words, [4, 2], padding_idx=-1, param_attr=ONE)
    static.optimizer.SGD(0.5).minimize(static.layers.reduce_sum(out))
    (table,) = program.all_parameters()
    assert table.shape == (4, 2)
    ids = dygraph.to_variable([[1], [1], [3], [0]], lod=[[0, 3, 4]])
    found = results({"words": ids}, [out, table])
    assert found[0].tolist() == [[2.0, 2.0], [1.0, 1.0]]
    assert found[1].tolist() == [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]


def test_gradients_of_a_matching_network(program):
    x, y = (static.data(n, [None, 3], lod_level=1) for n in "xy")
    match, _ = layers.match_matrix_tensor(x, y, 2, act="tanh")
    pooled = layers.var_conv_2d(match, x, y, 2, 4, 3, act="relu")
    pairs = static.append_backward(static.layers.mean(pooled))
    assert [p.shape for p, _ in pairs] == [(3, 2, 3), (4, 18)]
    rng = np.random.default_rng(0)
    feed = {
        "x": dygraph.to_variable(rng.random((5, 3)).astype("float32"), lod=[[0, 2, 5]]),
        "y": dygraph.to_variable(rng.random((4, 3)).astype("float32"), lod=[[0, 3, 4]]),
    }
    numbers, *grads = results(feed, [pooled, *(g for _, g in pairs)])
    assert numbers.shape == (4 * (2 * 3 + 3 * 1), 1)
    assert all(np.isfinite(g).all() and g.any() for g in grads)


def test_trees_do_not_learn(program):
    x = static.data("x", [None, 1], "int64")
    layers.tdm_child(x, 4, 2)
    layers.tdm_sampler(x, [1], [3], 2)
    assert [p.shape for p in program.all_parameters()] == [(4, 5), (2, 1), (3, 1)]
    assert all(p.stop_gradient for p in program.all_parameters())


def test_bias_and_activation_of_trees():
    nodes, edges = static.data("n", [1, 2, 1]), static.data("e", [1, 1, 2], "int32")
    out = layers.tree_conv(nodes, edges, 1, 2, param_attr=ONE, bias_attr=ONE)
    feed = {"n": np.array([[[1.0], [2.0]]], "float32"), "e": np.array([[[1, 2]]], "int32")}
    # 1 + (1/4 + 3/8 + 1/2) * 2 + 1, and 2 + 1: an only child counts half as left
    expected = np.tanh([[4.25, 4.25], [3.0, 3.0]])
    np.testing.assert_allclose(results(feed, [out])[0].reshape(2, 2), expected, rtol=1e-6)


def test_samples_in_one_piece():
    x = static.data("x", [None, 1], "int64")
    made = layers.tdm_sampler(x, [1, 2], [3, 4], 2, output_list=False, output_positive=False)
    assert [v.shape for v in made] == [(-1, 3, 1)] * 3


def test_refusals():
    x = static.data("x", [None, 1], "int64", lod_level=1)
    with pytest.raises(InvalidArgumentError, match="a number for each of the 2 layers"):
        layers.tdm_sampler(x, [1], [2, 2], 2)
    with pytest.raises(InvalidArgumentError, match="combiner"):
        layers.fused_embedding_seq_pool(x, [4, 2], combiner="mean")
    with pytest.raises(InvalidArgumentError, match="functor_list must hold"):
        layers.fused_elemwise_activation(dygraph.ones([1]), dygraph.ones([1]), ["relu"])
