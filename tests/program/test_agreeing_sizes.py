"""What is fed agrees in sizes of one name, wherever the program runs."""

import re

import numpy as np
import pytest

import dygraph
from dygraph import jit, static


def rows(*shape):
    return dygraph.to_variable(np.arange(np.prod(shape), dtype="float32").reshape(shape))


def product(x, y):
    return x * y


WAYS = {}


def way(make):
    WAYS[make.__name__] = make
    return make


@way
def traced(folder, dims):
    return jit.trace(product, [rows(4, 5), rows(4, 5)], dims=dims)[1]


@way
def captured(folder, dims):
    return jit.to_static(product, dims=dims)


@way
def by_specifications(folder, dims):
    specifications = [
        jit.InputSpec(list(sizes), name=n) for n, sizes in zip("xy", dims, strict=True)
    ]
    return jit.to_static(product, input_spec=specifications)


@way
def unproved(folder, dims):
    return jit.to_static(product, dims=dims, verify=False)


@way
def executed(folder, dims):
    layer = traced(folder, dims)
    exe = static.Executor()

    def call(x, y):
        feed = {"x": x, "y": y}
        return dygraph.to_variable(
            exe.run(layer.program, feed, layer.fetch_names, scope=layer.scope)[0]
        )

    return call


@way
def rebuilt_from_source(folder, dims):
    layer, scope = traced(folder, dims), {}
    exec(static.to_code(layer.program), scope)
    exe = static.Executor()
    return lambda x, y: dygraph.to_variable(
        exe.run(scope["program"], {"x": x, "y": y}, layer.fetch_names)[0]
    )


@way
def saved_whole(folder, dims):
    traced(folder, dims).save(folder)
    return jit.load(folder)


@way
def saved_for_inference(folder, dims):
    traced(folder, dims).save_inference_model(folder)
    return jit.load(folder)


@way
def captured_and_saved(folder, dims):
    captured(folder, dims).save(folder, rows(4, 5), rows(4, 5))
    return jit.load(folder)


@way
def loaded_by_an_executor(folder, dims):
    traced(folder, dims).save_inference_model(folder)
    exe, scope = static.Executor(), static.Scope()
    with static.scope_guard(scope):
        program, feeds, fetches = static.io.load_inference_model(str(folder), exe)

    def call(x, y):
        feed = dict(zip(feeds, (x, y), strict=True))
        return dygraph.to_variable(exe.run(program, feed, fetches, scope=scope)[0])

    return call


@pytest.fixture(params=WAYS)
def make(request, tmp_path):
    return lambda dims: WAYS[request.param](tmp_path, dims)


def test_sizes_of_one_name_agree(make):
    call = make([("n", "m"), ("n", "m")])
    assert call(rows(2, 3), rows(2, 3)).tolist() == [[0, 1, 4], [9, 16, 25]]
    for other in ((1, 3), (2, 1)):
        axis = 0 if other[0] == 1 else 1
        with pytest.raises(ValueError) as error:
            call(rows(2, 3), rows(*other))  # which eager code would broadcast
        name, size, text = "nm"[axis], (2, 3)[axis], str(error.value)
        assert (
            f"what is fed must agree in the size '{name}', but axis {axis} of 'x' has {size} and "
            f"axis {axis} of 'y' has 1. Feed equal sizes, or, where they may differ, give each a "
            "name of its own by dims="
        ) in text or re.search(  # of a function that is captured
            rf"'{name}' must be one size, got {size} on axis {axis} of '.?' and 1 on axis {axis} "
            "of '.?'. Give equal sizes, or, where they may differ, a name of its own to each",
            text,
        )
    assert call(rows(1, 1), rows(1, 1)).tolist() == [[0]]


def test_a_name_on_another_axis_alone(make):
    call = make([(None, "n"), (None, "n")])
    assert call(rows(1, 2), rows(1, 2)).tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="(agree in the size )?'n'.* axis 1 of '.?'.* axis 1 of"):
        call(rows(2, 3), rows(2, 1))


def test_declared_sizes_are_kept(make):
    call = make([("n", 5), ("n", 5)])
    assert call(rows(1, 5), rows(1, 5)).tolist() == [[0, 1, 4, 9, 16]]
    for x, y in (((2, 1), (2, 5)), ((2, 5), (2, 1)), ((2, 5), (2, 5, 1))):
        with pytest.raises(ValueError, match=r"shape"):
            call(rows(*x), rows(*y))


def test_the_batch_is_one():
    _, layer = jit.trace(product, [rows(4, 5), rows(4, 5)])
    assert layer(rows(3, 5), rows(3, 5)).shape == (3, 5)
    with pytest.raises(ValueError, match="size 'batch', but axis 0 of 'x' has 3 and axis 0 of 'y'"):
        layer(rows(3, 5), rows(1, 5))
    with pytest.raises(ValueError, match="size 'batch'"):
        layer.program.clone(for_test=True)
        static.Executor().run(
            layer.program.clone(for_test=True), {"x": rows(1, 5), "y": rows(3, 5)},
            layer.fetch_names, scope=layer.scope,
        )  # fmt: skip


def test_names_of_their_own_may_differ():
    _, layer = jit.trace(
        lambda x, y: x.unsqueeze(1) * y, [rows(4, 5), rows(4, 5)], dims=[("n", 5), ("m", 5)]
    )
    assert layer(rows(3, 5), rows(1, 5)).shape == (3, 1, 5)


def test_captured_functions_broadcast_what_has_no_name():
    call = jit.to_static(product)
    for x, y in (((4, 5), (4, 5)), ((3, 5), (1, 5)), ((1, 5), (2, 5))):
        x, y = rows(*x), rows(*y)
        x.stop_gradient = y.stop_gradient = False
        made = call(x, y)
        assert np.array_equal(made.numpy(), x.numpy() * y.numpy())
        made.sum().backward()
        spread = np.broadcast_to(x.numpy(), made.shape)
        assert np.array_equal(y.gradient(), spread if len(y) > 1 else spread.sum(0, keepdims=True))


def test_sequences_are_counted():
    x = dygraph.to_variable(np.ones([5, 2], "float32"), lod=[[0, 2, 5]])
    _, layer = jit.trace(
        lambda x, y: dygraph.static.layers.sequence_pool(x, "sum") * y, [x, rows(2, 2)]
    )
    other = dygraph.to_variable(np.ones([4, 2], "float32"), lod=[[0, 1, 2, 4]])
    assert layer(other, rows(3, 2)).tolist() == [[0, 1], [2, 3], [8, 10]]
    with pytest.raises(ValueError, match="axis 0 of 'x' has 3 sequences and axis 0 of 'y' has 1"):
        layer(other, rows(1, 2))


def test_steps_of_training_check_them():
    net = dygraph.nn.Linear(5, 1)
    sgd = dygraph.optimizer.SGD(0.1, parameter_list=net.parameters())

    def step(x, y):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        sgd.step()
        sgd.clear_gradients()
        return loss

    _, layer = jit.trace(step, [rows(4, 5), rows(4, 1)])
    weight = net.weight.numpy()
    with pytest.raises(ValueError, match="size 'batch'"):
        layer(rows(4, 5), rows(1, 1))
    assert np.array_equal(net.weight.numpy(), weight)


def test_gradients_of_captured_functions_check_them():
    call = jit.to_static(product, dims=[("n", 5), ("n", 5)])
    x, y = rows(2, 5), rows(2, 5)
    x.stop_gradient = y.stop_gradient = False
    call(x, y).sum().backward()
    assert np.array_equal(x.gradient(), y.numpy())
    short = rows(1, 5)
    short.stop_gradient = False
    with pytest.raises(ValueError, match="'n'.*axis 0 of .* axis 0 of"):
        call(x, short)


def test_a_program_names_sizes_itself():
    program = static.Program()
    with static.program_guard(program):
        x, y = (static.data(name, [None, 2]) for name in "xy")
        z = x * y
    x.desc.size_names = y.desc.size_names = {0: "n"}
    assert x.desc.size_names == {0: "n"}
    read = static.Program.parse_from_string(program.serialize_to_string())
    assert read.global_block().var("y").desc.size_names == {0: "n"}
    assert 'name: "size_of_axis_0"' in read.to_string(True)
    with pytest.raises(ValueError, match="'n'.*axis 0 of .* axis 0 of"):
        static.Executor().run(read, {"x": rows(2, 2), "y": rows(1, 2)}, [z.name])
    x.desc.size_names = {}
    got = static.Executor().run(program, {"x": rows(2, 2), "y": rows(1, 2)}, [z])[0]
    assert got.shape == (2, 2)


@pytest.mark.parametrize("axis", ["9", "-", "x"])
def test_odd_axes_mean_nothing(axis):
    program = static.Program()
    with static.program_guard(program):
        x, y = (static.data(n, [None, 2]) for n in "xy")
        z = x * y
    x.desc.size_names = y.desc.size_names = {0: "n"}
    binary = program.serialize_to_string()
    assert binary.count(b"size_of_axis_0") == 2
    odd = binary.replace(b"size_of_axis_0", b"size_of_axis_" + axis.encode())
    feed = {"x": rows(2, 2), "y": rows(1, 2)}
    got = static.Executor().run(static.Program.parse_from_string(odd), feed, [z.name])[0]
    assert got.tolist() == [[0.0, 1.0], [0.0, 3.0]]


@pytest.mark.parametrize("name", ["for_paddle", "fold_inference", "prune"])
def test_passes_keep_the_names(name):
    _, layer = jit.trace(product, [rows(4, 5), rows(4, 5)])
    options = {"feeds": ["x", "y"], "fetches": layer.fetch_names} if name == "prune" else {}
    made = static.passes.apply(name, layer.program, layer.scope, **options)
    assert [made.global_block().var(v).desc.size_names for v in "xy"] == [{0: "batch"}] * 2
