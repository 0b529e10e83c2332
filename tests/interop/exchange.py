"""Files for Paddle and files from it, and what has to hold of both."""

import contextlib
import hashlib
import json
import os
from pathlib import Path

import numpy as np

import dygraph
from dygraph import static
from dygraph.static import layers
from interop import blocks, networks, open_cases

STEPS = 5
# Sums of at most 200 float32 products in any order differ by at most 200 * 2**-24 = 1.2e-5 of the
# sum of magnitudes. Values and weights here are of magnitude 1, and layers do not enlarge errors:
# softmax, layer_norm and averages bring them down.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}
# An update adds a gradient of such an error, times the learning rate, at each of five steps;
# momentum adds each up to five times.
TRAINED = {"rtol": 1e-4, "atol": 1e-5}

OPTIMIZERS = {
    "sgd": lambda: static.optimizer.SGD(0.1),
    "momentum": lambda: static.optimizer.Momentum(0.05, 0.9),
    # Paddle 2 multiplies epsilon by sqrt(1 - beta2**t), Fluid and this library do not; so small a
    # one makes no difference.
    "adam": lambda: static.optimizer.Adam(0.01, epsilon=1e-12),
}
# Not the transformer with Adam: the gradient of the keys' bias is 0 but for rounding, and Adam
# moves by the learning rate in whichever direction that points.
TRAININGS = [
    (n, o) for n in networks.NETWORKS for o in OPTIMIZERS if (n, o) != ("transformer", "adam")
]


# From us to Paddle --------------------------------------------------------------------------------


class _Block(dygraph.nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = dygraph.nn.Embedding([networks.VOCABULARY, networks.WIDTH])
        self.layer = dygraph.nn.TransformerEncoderLayer(
            networks.WIDTH, networks.HEADS, networks.INNER, activation="gelu"
        )

    def forward(self, x):
        return self.layer(self.embedding(x))


def _eager(name):
    nn = dygraph.nn
    if name == "mlp":
        return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax())
    if name == "transformer":
        return _Block()
    return nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2), nn.BatchNorm(6), nn.ReLU(), nn.MaxPool2D(2, 2),
        nn.Conv2D(6, 8, 5), nn.ReLU(), nn.AvgPool2D(2, 2), nn.Flatten(),
        nn.Dropout(0.5, dropout_implementation="downgrade_in_infer"),  # as in the kept files
        nn.Linear(8, 10), nn.Softmax(),
    )  # fmt: skip


def traced(name):
    """(outputs, TracedLayer) of the eager network in eval mode, weights of any machine."""
    with dygraph.unique_name.guard():
        net = _eager(name)
        rng = np.random.default_rng(5)
        for key, parameter in sorted({**net.state_dict()}.items()):
            values = rng.integers(-64, 65, parameter.shape).astype("float32") / 256
            parameter.set_value(np.abs(values) + 0.5 if "variance" in key else values)
        net.eval()
        return dygraph.jit.trace(net, [dygraph.to_variable(networks.feed_of(name))])


def bare(program):
    """Bytes without the lines of Python, which have paths of this machine."""
    copy = program.clone()
    for block in copy.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    return copy.serialize_to_string()


@contextlib.contextmanager
def _job(root, name, feed, **job):
    folder = Path(root, name)
    folder.mkdir(parents=True)
    yield folder
    (folder / "job.json").write_text(json.dumps(job))
    np.savez(folder / "feed.npz", **feed)


def write_jobs(root):
    """Write what Paddle is to run; gives {job: arrays that ours gives}."""
    expected = {}
    for name in networks.NETWORKS:
        main, x, y, scope = networks.described(name)
        feed = {"x": networks.feed_of(name)}
        save = {"main_program": main, "scope": scope}
        (ours,) = static.Executor().run(main.clone(True), feed, [y.name], scope=scope)
        names = {"model_filename": "__model__", "params_filename": "__params__"}
        with _job(root, f"{name}-combined", feed, kind="infer", files=names) as folder:
            static.save_inference_model(folder, ["x"], [y], **save)
        with _job(root, f"{name}-prefix", feed, kind="infer", prefix="net") as folder:
            static.save_inference_model(
                folder, ["x"], [y], model_filename="net.pdmodel", params_filename="net.pdiparams",
                **save,
            )  # fmt: skip
        names = {"model_filename": "__model__"}
        with _job(root, f"{name}-separate", feed, kind="infer", files=names) as folder:
            loaded, *_ = static.load_inference_model(
                Path(root, f"{name}-combined"), scope=static.Scope()
            )
            (folder / "__model__").write_bytes(loaded.serialize_to_string())
            static.io.save_persistables(None, folder, loaded, scope=scope)
        for how in ("combined", "prefix", "separate"):
            expected[f"{name}-{how}"] = {"y": ours}
        expected[f"{name}-traced"] = {"y": _write_traced(root, name)}
    expected["loops"] = {"y": _write_loops(root)}
    for name in blocks.PROGRAMS:
        expected[f"blocks-{name}"] = _write_blocks(root, name)
    for name in open_cases.CASES:
        expected[f"open-{name}"] = {"y": _write_open(root, name)}
    for name, optimizer in TRAININGS:
        expected[f"{name}-{optimizer}"] = _write_training(root, name, optimizer)
    return expected


def write_exact(root):
    """A model of float64 whose attributes no float holds; gives what ours computes."""
    main, scope = static.Program(), static.Scope()
    with static.program_guard(main, static.Program()), dygraph.unique_name.guard():
        x = static.data("x", [2, 2], "float64")
        y = dygraph.ops.leaky_relu(dygraph.ops.scale(x, scale=0.1, bias=0.7), alpha=0.3)
    feed = {"x": np.array([[-8.7, 0.3], [0.9, 2.6]])}
    (ours,) = static.Executor().run(main, feed, [y.name], scope=scope)
    names = {"model_filename": "__model__", "params_filename": "__params__"}
    with _job(root, "exact", feed, kind="infer", files=names) as folder:
        static.save_inference_model(folder, ["x"], [y], main_program=main, scope=scope)
        (folder / "__params__").touch()
    return {"y": ours}


def _write_loops(root):
    """A loop with a choice in each turn, whose results an array keeps."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup), dygraph.unique_name.guard():
        x, n = static.data("x", [3, 4]), static.data("n", [1], "int64")
        i = layers.fill_constant([1], "int64", 0)
        two = layers.fill_constant([1], "int64", 2)
        more = layers.less_than(i, n)
        s = layers.assign(x)
        kept = layers.array_write(s, i)
        with layers.While(more, is_test=True).block():
            t = layers.tanh(layers.fc(s, 4, param_attr=dygraph.ParamAttr(name="w")))
            y = layers.cond(layers.less_than(i, two), lambda: t * 2.0, lambda: t + s)
            layers.assign(y, output=s)
            layers.increment(i)
            layers.array_write(s, i, array=kept)
            layers.less_than(i, n, cond=more)
        y = s + layers.array_read(kept, layers.fill_constant([1], "int64", 1))
    weight = np.linspace(-1, 1, 16, dtype="float32").reshape(4, 4)
    executor = static.Executor()
    with static.scope_guard(scope):
        executor.run(startup)
        scope.find_var("w").get_tensor().set(weight)
        feed = {"x": np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4), "n": np.array([5])}
        (ours,) = executor.run(main, feed=feed, fetch_list=[y])
        names = {"model_filename": "__model__", "params_filename": "__params__"}
        with _job(root, "loops", feed, kind="infer", files=names) as folder:
            static.save_inference_model(folder, ["x", "n"], [y], executor, main)
    return ours


def _write_blocks(root, name):
    """The numbers that one of `blocks.PROGRAMS` gives, for one feed after another."""
    main, feeds, y, scope = blocks.described(name)
    main, ours, feed = static.io.for_paddle(main), [], {}
    for i, given in enumerate(blocks.FEEDS):
        fed = {name: given[key] for name, key in zip(feeds, "xn", strict=True)}
        ours += static.Executor().run(main, fed, [y.name], scope=scope)
        feed.update({f"{i} {key}": value for key, value in fed.items()})
    names = {"model_filename": "__model__", "params_filename": "__params__"}
    with _job(root, f"blocks-{name}", feed, kind="several", files=names) as folder:
        static.save_inference_model(
            folder, feeds, [main.global_block().var(y.name)], None, main, scope=scope
        )
    return {"y": np.concatenate([result.ravel() for result in ours])}


def _write_open(root, name):
    """An operator of which variables of the program give an attribute."""
    op, inputs, slot, attrs, _, _ = open_cases.CASES[name]
    names, arrays = open_cases.variables(name)
    feed, main = {**inputs, **arrays}, static.Program()
    declared = {a["name"] for a in dygraph._core.describe_op(op)["attrs"]}
    with static.program_guard(main, static.Program()), dygraph.unique_name.guard():
        made = {n: static.data(n, v.shape, str(v.dtype)) for n, v in feed.items()}
        given = {
            attr: [made[n] for n in of] if isinstance(of, list) else made[of]
            for attr, of in names.items()
        }
        values = {attr: value for attr, value in attrs.items() if attr in declared}
        y = dygraph.run_op(op, {s: made[s] for s in inputs}, {**values, **given})[slot]
    (ours,) = static.Executor().run(main, feed, [y], scope=static.Scope())
    files = {"model_filename": "__model__", "params_filename": "__params__"}
    with _job(root, f"open-{name}", feed, kind="infer", files=files) as folder:
        static.save_inference_model(folder, list(feed), [y], None, main, scope=static.Scope())
    return ours


def _write_traced(root, name):
    out, layer = traced(name)
    (feed_name,) = layer.feed_names
    names = {"model_filename": "__model__", "params_filename": "__params__"}
    feed = {feed_name: networks.feed_of(name)}
    with _job(root, f"{name}-traced", feed, kind="infer", files=names) as folder:
        layer.save_inference_model(folder)
        if name == "transformer":  # its attention is one operator, which Paddle has not
            scope = static.Scope()
            program, feeds, fetches = static.load_inference_model(folder, scope=scope)
            static.save_inference_model(
                folder, feeds, fetches, None, static.io.for_paddle(program), scope=scope
            )
    return out.numpy()


def _write_training(root, name, optimizer):
    main, loss, scope = networks.training(name, OPTIMIZERS[optimizer])
    feed = {"x": networks.feed_of(name)}
    if name != "transformer":
        feed["label"] = networks.label_of(name)
    with _job(root, f"{name}-{optimizer}", feed, kind="train", loss=loss.name) as folder:
        (folder / "program").write_bytes(bare(static.io.for_paddle(main)))
        static.io.save_persistables(None, folder, main, "before", scope=scope)
    return train(main, feed, loss.name, scope)


def train(program, feed, loss, scope):
    """Losses of the steps, and values afterwards."""
    executor = static.Executor()
    losses = [executor.run(program, feed, [loss], scope=scope)[0] for _ in range(STEPS)]
    after = {
        f"after {v.name}": scope.get_var(v.name).get().numpy()
        for v in static.io.get_program_persistable_vars(program)
    }
    return {"losses": np.array(losses), **after}


def agree(theirs, ours, what):
    """Arrays by name are near each other; gives the largest difference."""
    worst = 0.0
    for name in ours:
        bounds = TRAINED if name == "losses" or name.startswith("after ") else TOLERANCE
        got, want = np.asarray(theirs[name]), np.asarray(ours[name])
        np.testing.assert_allclose(
            got.reshape(want.shape), want, **bounds, err_msg=f"{what}: {name}"
        )
        if want.dtype.kind == "f" and want.size:
            worst = max(worst, float(np.abs(got.reshape(want.shape) - want).max()))
    return worst


def read_arrays(path):
    with np.load(path) as file:
        return dict(file)


def sums_of(root):
    """SHA-256 of every file that Paddle is given, by path."""
    return {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(root).rglob("*"))
        if path.is_file() and path.suffix not in (".npz", ".json")
    }


def described_alike(parsed, program):
    """Paddle's reading of a program is ours: operators, slots, attributes, variables."""
    for block, theirs in zip(program.blocks, parsed, strict=True):
        for op, other in zip(block.ops, theirs["ops"], strict=True):
            assert op.type == other["type"]
            given = {a for a in op.attr_names if op.attr_type(a) in ("VAR", "VARS")}
            inputs = {slot: names for slot, names in op.inputs.items() if slot not in given}
            assert _bound(inputs) == _bound(other["inputs"]), op
            assert _bound(op.outputs) == _bound(other["outputs"]), op
            for name, value in op.attrs.items():
                assert other["attrs"][name] == value, (op, name)
        assert set(block.vars) == set(theirs["vars"])
        for variable in block.vars.values():
            other = theirs["vars"][variable.name]
            assert other["type"] == variable.type
            assert other["persistable"] == variable.persistable
            if variable.type == "LOD_TENSOR":
                assert other["shape"] == list(variable.shape), variable
                assert other["dtype"] == _DTYPES[str(variable.dtype)], variable


_DTYPES = {
    "bool": "BOOL", "float32": "FP32", "int64": "INT64", "int32": "INT32", "uint8": "UINT8",
}  # fmt: skip


def _bound(slots):
    return {slot: names for slot, names in slots.items() if names}


# From Paddle to us --------------------------------------------------------------------------------


def check_blocks(file, name, folder):
    """A model with blocks gives what it gave in Paddle, for each feed; the largest difference."""
    kept, scope = read_arrays(file), static.Scope()
    for ending, what in ((".pdmodel", "model"), (".pdiparams", "weights")):
        if f"{name}/{what}" in kept:
            Path(folder, name + ending).write_bytes(kept[f"{name}/{what}"].tobytes())
    program, feeds, fetches = static.load_inference_model(Path(folder, name), None, scope=scope)
    again = static.Program.parse_from_string(program.serialize_to_string())
    for each in (program, again):
        ours = []
        for i in range(sum(key.startswith("feeds/n") for key in kept)):
            feed = {key: kept[f"feeds/{key}{i}"] for key in feeds}
            ours += static.Executor().run(each, feed, [f.name for f in fetches], scope=scope)
        y = np.concatenate([result.ravel() for result in ours])
        assert y.dtype == kept[f"{name}/y"].dtype
        worst = agree({"y": kept[f"{name}/y"]}, {"y": y}, name)
    return worst


def check_open(file, name):
    """A program in which variables give attributes gives what it gave in Paddle."""
    kept = {k.split("/")[1]: v for k, v in read_arrays(file).items() if k.startswith(f"{name}/")}
    binary = kept["model"].tobytes()
    program = static.Program.parse_from_string(binary)
    assert program.serialize_to_string() == binary
    assert program.clone().serialize_to_string() == binary
    feed = {**open_cases.CASES[name][1], **open_cases.variables(name)[1]}
    names = [str(n) for n in kept["names"]]
    results = static.Executor().run(program, feed, names, scope=static.Scope())
    for key, array in zip(("out", "grad"), results, strict=False):
        assert (array.dtype, array.shape) == (kept[key].dtype, kept[key].shape), (name, key)
        agree(kept, {key: array}, name)


def check_inference(folder):
    """The model of a folder that Paddle wrote gives what it gave there; the largest difference."""
    kept, scope = read_arrays(Path(folder, "values.npz")), static.Scope()
    prefix = os.path.join(folder, "model")
    program, feeds, fetches = static.load_inference_model(prefix, scope=scope)
    (y,) = static.Executor().run(program, {feeds[0]: kept["x"]}, fetches, scope=scope)
    binary = Path(folder, "model.pdmodel").read_bytes()
    assert program.serialize_to_string() == binary  # nothing of it is lost
    assert static.Program(program.desc).clone().serialize_to_string() == binary
    return agree(kept, {"y": y}, folder)


def check_training(folder):
    """The training program of a folder takes the steps that Paddle took."""
    kept, scope = read_arrays(Path(folder, "values.npz")), static.Scope()
    binary = Path(folder, "train.main").read_bytes()
    program = static.Program.parse_from_string(binary)
    assert program.serialize_to_string() == binary
    static.io.load_persistables(None, folder, program, "before", scope=scope)
    feed = {name: kept[name] for name in ("x", "label") if name in kept}
    ours = train(program, feed, str(kept["loss"]), scope)
    theirs, after = {"losses": kept["losses"]}, static.Scope()
    static.io.load_persistables(None, folder, program, "after", scope=after)
    for name in after.local_var_names():
        theirs[f"after {name}"] = after.get_var(name).get().numpy()
    return agree(theirs, ours, folder)


def check_startup(folder):
    """The startup program of a folder makes every value that training needs, as declared."""
    startup = static.Program.parse_from_string(Path(folder, "train.startup").read_bytes())
    main = static.Program.parse_from_string(Path(folder, "train.main").read_bytes())
    scope, before = static.Scope(), static.Scope()
    static.Executor().run(startup, scope=scope)
    static.io.load_persistables(None, folder, main, "before", scope=before)
    parameters = {p.name for p in main.all_parameters()}
    assert parameters
    for variable in static.io.get_program_persistable_vars(main):
        made = scope.get_var(variable.name).get().numpy()
        theirs = before.get_var(variable.name).get().numpy()
        assert made.dtype == theirs.dtype and made.shape == theirs.shape
        if variable.name in parameters and ".w_0" in variable.name:  # drawn, from one distribution
            assert 0 < np.abs(made).max() <= 1.5 * np.abs(theirs).max() + 0.3
        else:
            np.testing.assert_array_equal(made, theirs)
