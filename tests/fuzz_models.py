"""Saved models for fuzz_files.py: written once, loaded from damaged copies, run one step."""

import os
import warnings

import numpy as np

import dygraph
from dygraph import _core, nn, static
from dygraph.static import io, layers

R = np.random.default_rng(0)


def floats(*shape):
    return R.standard_normal(shape).astype("float32")


def ids(high, *shape):
    return R.integers(0, high, shape).astype("int64")


# Nets: each gives (feed, what inference fetches, what training reduces) ---------------------------


def mlp():
    x, y = static.data("x", [None, 4]), static.data("y", [None, 1], "int64")
    guess = layers.fc(layers.dropout(layers.fc(x, 5, act="relu"), 0.5), 3, act="softmax")
    return {"x": floats(6, 4), "y": ids(3, 6, 1)}, guess, layers.cross_entropy(guess, y)


def conv():
    x = static.data("x", [None, 2, 6, 6])
    h = layers.batch_norm(layers.conv2d(x, 3, 3, padding=1), act="relu")
    h = layers.pool2d(h, 2, "max", 2)
    return {"x": floats(2, 2, 6, 6)}, layers.fc(h, 2), layers.reduce_sum(h)


def ragged():
    x = static.data("x", [None, 1], "int64", lod_level=1)
    h = layers.fc(layers.embedding(x, [7, 4], is_sparse=True), 12)
    h, _ = layers.dynamic_lstm(h, 12)
    h = layers.sequence_pool(layers.sequence_conv(h, 3, 3), "max")
    value = dygraph.to_variable(ids(7, 6, 1), lod=[[0, 2, 3, 6]])
    return {"x": value}, h, h


def attention():
    x = static.data("x", [None, 4, 6])
    h = layers.layer_norm(x, begin_norm_axis=2)
    heads = layers.transpose(layers.reshape(layers.fc(h, 6, num_flatten_dims=2), [0, 4, 2, 3]),
                             [0, 2, 1, 3])  # fmt: skip
    weights = layers.softmax(layers.matmul(heads, heads, transpose_y=True))
    out = layers.reshape(layers.transpose(layers.matmul(weights, heads), [0, 2, 1, 3]), [0, 4, 6])
    out = out + x
    return {"x": floats(2, 4, 6)}, out, out


def pieces():
    x, i = static.data("x", [None, 6]), static.data("i", [None], "int64")
    left, right = layers.split(x, 2, dim=1)
    h = layers.concat([layers.gather(left, i), layers.slice(right, [0, 1], [0, 0], [3, 3])], 1)
    best, _ = layers.topk(h, 2)
    h = layers.reduce_max(h, dim=1, keep_dim=True) * best + layers.uniform_random([1, 2])
    h = layers.cast(layers.cast(h, "float64"), "float32")
    h = layers.pad(layers.expand(h, [1, 2]), [0, 0, 1, 0])
    return {"x": floats(3, 6), "i": ids(3, 3)}, h, layers.fc(h, 1)


def loops():
    """A while with arrays and a weight, another one inside it, and a choice in each turn."""
    x = static.data("x", [None, 3])
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    kept, more = layers.array_write(x, i), layers.less_than(i, n)
    with layers.While(more).block():
        h = layers.fc(layers.array_read(kept, i), 3, act="tanh")
        j = layers.fill_constant([1], "int64", 0)
        again = layers.less_than(j, i)
        s = layers.assign(h)
        with layers.While(again).block():
            layers.assign(s * 0.5, output=s)
            layers.increment(j)
            layers.less_than(j, i, cond=again)
        s = layers.cond(layers.less_than(i, n - 1), lambda: s + h, lambda: s * h)
        layers.increment(i)
        layers.array_write(s, i, array=kept)
        layers.less_than(i, n, cond=more)
    last = layers.array_read(kept, n)
    return {"x": floats(2, 3)}, last, last


def choices():
    """Blocks for some rows, for a number and for the first case that holds."""
    x, k = static.data("x", [None, 3]), static.data("k", [1], "int64")
    rows = layers.IfElse(layers.reduce_sum(x, dim=1, keep_dim=True) < 0.0)
    with rows.true_block():
        rows.output(layers.fc(rows.input(x), 2))
    with rows.false_block():
        rows.output(layers.fc(rows.input(x), 2, act="relu"))
    rate = layers.fill_constant([1], "float32", 0.0)
    with layers.Switch() as switch:
        with switch.case(layers.less_than(k, layers.fill_constant([1], "int64", 2))):
            layers.assign(layers.fill_constant([1], "float32", 0.5), output=rate)
        with switch.default():
            layers.assign(layers.fill_constant([1], "float32", 2.0), output=rate)
    out = layers.elementwise_mul(rows()[0], rate)
    return {"x": floats(4, 3), "k": ids(4, 1)}, out, out


def steps():
    """Steps over time, of equal and of different lengths."""
    x = static.data("x", [None, 2], lod_level=1)
    ragged = layers.DynamicRNN()
    with ragged.block():
        row = ragged.step_input(x)
        state = ragged.memory(shape=[2], value=0.0)
        new = layers.fc([row, state], 2, act="tanh")
        ragged.update_memory(state, new)
        ragged.output(new)
    last = layers.sequence_last_step(ragged())
    rows = layers.reshape(last, [3, 1, 2])
    even = layers.StaticRNN()
    with even.step():
        row = even.step_input(rows)
        state = even.memory(shape=[-1, 2], batch_ref=row)
        new = layers.fc(row + state, 2)
        even.update_memory(state, new)
        even.step_output(new)
    return {"x": dygraph.to_variable(floats(6, 2), lod=[[0, 2, 3, 6]])}, even(), even()


NETS = {"mlp": mlp, "conv": conv, "ragged": ragged, "attention": attention, "pieces": pieces}
WITH_BLOCKS = {"loops": loops, "choices": choices, "steps": steps}
NETS.update(WITH_BLOCKS)
_described = {}


def described(net):
    """(program, result, loss, feed, scope with values) of a net with its update by Adam."""
    if net not in _described:
        main, startup = static.Program(), static.Program()
        with dygraph.unique_name.guard(), static.program_guard(main, startup):
            feed, result, loss = NETS[net]()
            loss = layers.mean(loss)
            static.optimizer.Adam(0.1).minimize(loss)
        scope = static.Scope()
        static.Executor().run(startup, scope=scope)
        _described[net] = main, result.name, loss.name, feed, scope
    return _described[net]


def with_blocks(program):
    """A copy with blocks inside blocks, which operators name as those of control flow do."""
    program = program.clone()
    outer = program.create_block()
    inner = program.create_block()
    inner.create_var(name="inside", shape=[2], dtype="float32")
    outer.create_var(name="rows", shape=[-1, 2], dtype="float32", type="SELECTED_ROWS")
    outer.create_var(name="array", shape=[2], dtype="float32", type="LOD_TENSOR_ARRAY")
    for kind in ("READER", "STEP_SCOPES", "RAW"):
        outer.create_var(name=kind, type=kind, persistable=True)
    inner.append_op("relu", {"X": "inside"}, {"Out": "inside"})
    program.rollback()
    other = program.create_block(forward_idx=inner.idx)
    program.rollback()
    program.rollback()
    outer.append_described("while", {}, {}, {"sub_block": ("BLOCK", inner.idx)})
    program.global_block().append_described(
        "conditional_block", {}, {}, {"blocks": ("BLOCKS", [outer.idx, other.idx])}
    )
    return program


# Formats: what is written, what is loaded and run -------------------------------------------------


def save_inference(net, folder, *names):
    main, result, _, feed, scope = described(net)
    needed = [n for n in feed if n != "y"]
    static.save_inference_model(folder, needed, [result], None, main, *names, scope=scope)


def save_alone(net, folder):
    main, result, _, feed, scope = described(net)
    needed = [n for n in feed if n != "y"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static.save_inference_model(folder, needed, [result], None, main, program_only=True)
    io.save_persistables(None, folder, main, scope=scope)


def save_values(net, folder, filename=None):
    main, _, _, _, scope = described(net)
    io.save_persistables(None, folder, main, filename, scope=scope)
    with open(os.path.join(folder, "program"), "wb") as file:
        file.write(main.serialize_to_string())


def save_whole(net, folder):
    main, _, _, _, scope = described(net)
    static.save(main, os.path.join(folder, "net"), scope)


def save_blocks(net, folder):
    with open(os.path.join(folder, "program"), "wb") as file:
        file.write(with_blocks(described(net)[0]).serialize_to_string())


def program_of(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return static.Program.parse_from_string(file.read())


def load_inference(net, folder, scope, *names):
    program, _, fetches = static.load_inference_model(folder, None, *names, scope=scope)
    return program, fetches


def load_values(net, folder, scope, filename=None):
    program = program_of(folder, "program")
    io.load_persistables(None, folder, program, filename, scope=scope)
    return program, [described(net)[2]]


def load_whole(net, folder, scope):
    program = program_of(folder, "net.pdmodel")
    static.load(program, os.path.join(folder, "net"), scope=scope)
    return program, [described(net)[2]]


def load_blocks(net, folder, scope):
    return program_of(folder, "program"), [described(net)[2]]


OF_PROGRAMS = {
    "inference": (save_inference, load_inference),
    "renamed": (
        lambda net, folder: save_inference(net, folder, "m", "w"),
        lambda net, folder, scope: load_inference(net, folder, scope, "m", "w"),
    ),
    "alone": (save_alone, load_inference),
    "separate": (save_values, load_values),
    "combined": (
        lambda net, folder: save_values(net, folder, "all"),
        lambda net, folder, scope: load_values(net, folder, scope, "all"),
    ),
    "whole": (save_whole, load_whole),
    "blocks": (save_blocks, load_blocks),
}  # fmt: skip


# Eager layers -------------------------------------------------------------------------------------


def eager():
    """(layer, its optimizer) after one step."""
    with dygraph.guard(seed=1):
        net = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm(5), nn.Linear(5, 2))
        adam = dygraph.optimizer.Adam(0.1, parameter_list=net)
        step(net, adam)
    return net, adam


def step(net, adam):
    x = dygraph.to_variable(np.ones((3, 4), "float32"))
    dygraph.mean(net(x)).backward()
    adam.step()
    adam.clear_gradients()


def save_state(folder):
    net, adam = eager()
    dygraph.save({"net": net.state_dict(), "more": [1, 2.5, None]}, os.path.join(folder, "file"))


def load_state(folder):
    net, adam = eager()
    state = dygraph.load(os.path.join(folder, "file"))
    if not isinstance(state, dict) or not isinstance(state.get("net"), dict):
        return
    net.set_state_dict(state["net"])
    step(net, adam)


def save_checkpoint(folder):
    dygraph.checkpoint.save(os.path.join(folder, "file"), *eager(), step=3)


def load_checkpoint(folder):
    net, adam = eager()
    dygraph.checkpoint.load(os.path.join(folder, "file"), net, adam)
    step(net, adam)


def save_traced(folder):
    net = eager()[0].eval()
    _, traced = dygraph.jit.trace(net, [dygraph.to_variable(np.ones((3, 4), "float32"))])
    traced.save_inference_model(folder)


def load_traced(folder):
    scope = static.Scope()
    program, feeds, fetches = static.load_inference_model(folder, scope=scope)
    feed = dict.fromkeys(feeds, np.ones((3, 4), "float32"))
    static.Executor().run(program, feed, fetches, scope=scope)


OF_LAYERS = {
    "state": (save_state, load_state),
    "checkpoint": (save_checkpoint, load_checkpoint),
    "traced": (save_traced, load_traced),
}


# What is fed --------------------------------------------------------------------------------------


def feed_of(r, net, program):
    """The values the net was made for, or some that fit what the program declares now."""
    given, feed = described(net)[3], {}
    block = program.global_block()
    for name in dict.fromkeys([*given, *program.desc.feed_names]):
        if name not in block.vars:
            continue
        v = block.vars[name]
        shape = None if v.shape is None else [r.choice([0, 1, 3]) if n < 0 else n for n in v.shape]
        odd = name not in given or r.random() < 0.2
        if odd and shape is not None and v.dtype is not None and np.prod(shape, dtype=float) < 1e5:
            dtype = str(v.dtype)
            array = np.ones(shape, "float32" if dtype == "bfloat16" else dtype)
            rows = shape[0] if shape else 0
            lod = [[0, rows]] * min(v.lod_level, 3) if 0 < v.lod_level else None
            feed[name] = _core.to_variable(array, lod=lod) if lod and rows == 1 else array
        elif name in given:
            feed[name] = given[name]
    return feed
