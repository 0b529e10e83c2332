"""What Paddle does in the comparisons; run by an interpreter that has paddlepaddle 2.6.2.

``write FOLDER`` makes a folder for each network there: an inference model, a training program with
its values before and after some steps, what went in and what came out. ``run FOLDER`` does the jobs
that stand in ``FOLDER/*/job.json`` and leaves ``result.npz`` and ``parsed.json`` beside them.
``operators FILE`` writes the names of all operators that Paddle has.
"""

import json
import math
import os
import sys
import tempfile

import numpy as np
import paddle
import paddle_blocks
import paddle_open
from paddle import static
from paddle.base.proto import framework_pb2
from paddle.nn import functional as F

STEPS = 5


def mlp(x):
    return F.softmax(static.nn.fc(F.relu(static.nn.fc(x, 16)), 3))


def lenet(x, rate=0.5):
    layers = [
        paddle.nn.Conv2D(1, 6, 5, padding=2), paddle.nn.BatchNorm2D(6), paddle.nn.ReLU(),
        paddle.nn.MaxPool2D(2, 2), paddle.nn.Conv2D(6, 8, 5), paddle.nn.ReLU(),
        paddle.nn.AvgPool2D(2, 2), paddle.nn.Flatten(), paddle.nn.Dropout(rate),
        paddle.nn.Linear(8, 10), paddle.nn.Softmax(),
    ]  # fmt: skip
    return paddle.nn.Sequential(*layers)(x)


def transformer(x):
    embedded = paddle.nn.Embedding(20, 16)(x)
    return paddle.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu")(embedded)


def forms(x):
    """Operators whose attributes or slots Paddle 2 writes otherwise than Fluid did."""
    table = paddle.assign(np.arange(6, dtype="float32").reshape(2, 3) / 4)
    whole = paddle.assign(np.array([1, 0], dtype="int64"))
    y = paddle.concat([x, paddle.flip(x, axis=[1])], axis=1)  # [n, 6]
    y = paddle.roll(y, shifts=1, axis=1).unsqueeze([1]).tile([1, 2, 1])  # [n, 2, 6]
    first, second = paddle.split(y, 2, axis=2)
    y = paddle.stack([first, second], axis=0) + table  # [2, n, 2, 3]
    y = paddle.clip(y, -1.0, 1.5) * paddle.full([1], 2.0) + paddle.zeros([3])
    y = paddle.gather(y, whole, axis=0).transpose([1, 0, 2, 3]).flatten(1).squeeze([])
    y = paddle.where(y > 0.25, y, paddle.ones_like(y)) - paddle.cast(y < 0.5, "float32")
    y = F.leaky_relu(y) + F.hardsigmoid(y) + paddle.pow(y, 2.0) + F.swish(y) + F.relu6(y)
    y = y + paddle.max(y, axis=1, keepdim=True) + paddle.sum(y, axis=-1, keepdim=True)
    y = y[:, 2:9] + paddle.cumsum(y, axis=1)[:, :7] + paddle.argmax(y, 1).unsqueeze(1)
    y = y / paddle.max(paddle.abs(y))
    return F.log_softmax(paddle.matmul(y, paddle.ones([7, 4])) * y[:, :4])


NETWORKS = {
    "mlp": (mlp, [None, 8], "float32"), "lenet": (lenet, [None, 1, 14, 14], "float32"),
    "transformer": (transformer, [None, 6], "int64"), "forms": (forms, [None, 3], "float32"),
}  # fmt: skip
OPTIMIZERS = {
    "mlp": lambda: paddle.optimizer.Adam(0.01, epsilon=1e-12),
    "lenet": lambda: paddle.optimizer.Momentum(0.05, 0.9),
    "transformer": lambda: paddle.optimizer.SGD(0.1),
}


def bare(program):
    """Without the lines of Python, which have paths of this machine."""
    for block in program.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    return program.desc.serialize_to_string()


def write_file(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def feed_of(name):
    rng = np.random.default_rng(11)
    _, (_, *sizes), dtype = NETWORKS[name]
    if dtype == "int64":
        return rng.integers(0, 20, (3, *sizes))
    return rng.standard_normal((3, *sizes)).astype("float32")


def described(name, training):
    paddle.seed(5)
    main, startup = static.Program(), static.Program()
    with paddle.utils.unique_name.guard(), static.program_guard(main, startup):
        build, shape, dtype = NETWORKS[name]
        x = static.data("x", shape, dtype)
        y = build(x, 0.0) if training and name == "lenet" else build(x)
        if not training:
            return main.clone(for_test=True), startup, x, y, None
        if name == "transformer":
            loss = paddle.mean(paddle.square(y - 0.5))
        else:
            label = static.data("label", [None, 1], "int64")
            loss = paddle.mean(F.cross_entropy(y, label))
        OPTIMIZERS[name]().minimize(loss)
    return main, startup, x, y, loss


def persistables(executor, folder, name, program):
    static.save_vars(executor, folder, program, predicate=static.io.is_persistable, filename=name)


def write(root):
    executor = static.Executor(paddle.CPUPlace())
    for name in NETWORKS:
        folder = os.path.join(root, name)
        os.makedirs(folder, exist_ok=True)
        kept = {"x": feed_of(name)}
        with static.scope_guard(static.Scope()):
            main, startup, x, y, _ = described(name, training=False)
            executor.run(startup)
            if name == "lenet":  # running means of another kind than 0 and 1
                for i, part in enumerate(("w_1", "w_2")):
                    held = static.global_scope().find_var(f"batch_norm2d_0.{part}").get_tensor()
                    held.set(np.linspace(0.2 + i, 0.7 + i, 6, dtype="float32"), paddle.CPUPlace())
            bare(main)
            prefix = os.path.join(folder, "model")
            static.save_inference_model(prefix, [x], [y], executor, program=main)
            program, feeds, fetches = static.load_inference_model(prefix, executor)
            (kept["y"],) = executor.run(program, feed={feeds[0]: kept["x"]}, fetch_list=fetches)
            write_file(folder, "model.pdmodel", bare(program))
        if name in OPTIMIZERS:
            with static.scope_guard(static.Scope()):
                write_training(executor, name, folder, kept)
        np.savez(os.path.join(folder, "values.npz"), **kept)
    with tempfile.TemporaryDirectory() as folder:
        paddle_blocks.write(executor, os.path.join(root, "blocks.npz"), bare, folder)
    paddle_open.write(executor, os.path.join(root, "open.npz"), bare)


def write_training(executor, name, folder, kept):
    main, startup, _, _, loss = described(name, training=True)
    executor.run(startup)
    persistables(executor, folder, "before", main)
    feed = {"x": kept["x"]}
    if name != "transformer":
        feed["label"] = kept["label"] = np.arange(3).reshape(3, 1)
    losses = [executor.run(main, feed=feed, fetch_list=[loss])[0] for _ in range(STEPS)]
    persistables(executor, folder, "after", main)
    kept["losses"], kept["loss"] = np.array(losses), np.array(loss.name)
    write_file(folder, "train.main", bare(main))
    write_file(folder, "train.startup", bare(startup))


# Jobs ---------------------------------------------------------------------------------------------


def run(root):
    executor = static.Executor(paddle.CPUPlace())
    for name in sorted(os.listdir(root)):
        folder = os.path.join(root, name)
        if not os.path.exists(os.path.join(folder, "job.json")):
            continue
        with open(os.path.join(folder, "job.json")) as file:
            job = json.load(file)
        feed = dict(np.load(os.path.join(folder, "feed.npz")))
        try:
            with static.scope_guard(static.Scope()):
                program, result = JOBS[job["kind"]](executor, folder, job, feed)
        except Exception as error:
            raise RuntimeError(f"the job {name} failed") from error
        np.savez(os.path.join(folder, "result.npz"), **result)
        with open(os.path.join(folder, "parsed.json"), "w") as file:
            json.dump(parsed(program), file)


def infer(executor, folder, job, feed):
    where = os.path.join(folder, job["prefix"]) if "prefix" in job else folder
    files = job.get("files", {})
    program, feeds, fetches = static.load_inference_model(where, executor, **files)
    assert feeds == list(feed), (feeds, list(feed))
    return program, {"y": executor.run(program, feed=feed, fetch_list=fetches)[0]}


def train(executor, folder, job, feed):
    with open(os.path.join(folder, "program"), "rb") as file:
        program = static.Program.parse_from_string(file.read())
    kept = {"predicate": static.io.is_persistable, "filename": "before"}
    static.load_vars(executor, folder, program, **kept)
    steps = [executor.run(program, feed=feed, fetch_list=[job["loss"]])[0] for _ in range(STEPS)]
    result = {"losses": np.array(steps)}
    for var in filter(static.io.is_persistable, program.list_vars()):
        held = static.global_scope().find_var(var.name).get_tensor()
        result["after " + var.name] = np.array(held)
    return program, result


def several(executor, folder, job, feed):
    """The results for one feed after another; arrays are called by its number and the variable."""
    program, feeds, fetches = static.load_inference_model(folder, executor, **job["files"])
    results = []
    for i in sorted({key.split()[0] for key in feed}):
        given = {name: feed[f"{i} {name}"] for name in feeds}
        results += executor.run(program, feed=given, fetch_list=fetches)
    return program, {"y": np.concatenate([result.ravel() for result in results])}


JOBS = {"infer": infer, "several": several, "train": train}


# Fields of an attribute by its type's number.
FIELDS = (
    "i", "f", "s", "ints", "floats", "strings", "b", "bools", "block_idx", "l", "blocks_idx",
    "longs", "float64s", "var_name", "vars_name", "float64",
)  # fmt: skip


def parsed(program):
    """Blocks as Paddle understood them: what it writes of them, read by its protobuf classes."""
    message = framework_pb2.ProgramDesc.FromString(program.desc.serialize_to_string())
    return [
        {"ops": [described_op(op) for op in block.ops],
         "vars": {var.name: described_var(var) for var in block.vars}}
        for block in message.blocks
    ]  # fmt: skip


def described_op(op):
    def slots(side):
        return {slot.parameter: list(slot.arguments) for slot in side}

    attrs = {attr.name: plain(getattr(attr, FIELDS[attr.type])) for attr in op.attrs}
    return {"type": op.type, "inputs": slots(op.inputs), "outputs": slots(op.outputs),
            "attrs": attrs}  # fmt: skip


def plain(value):
    """What JSON keeps exactly."""
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return [plain(v) for v in value]


def described_var(var):
    kinds = framework_pb2.VarType.Type
    found = {"type": kinds.Name(var.type.type), "persistable": var.persistable}
    if found["type"] == "LOD_TENSOR":
        tensor = var.type.lod_tensor.tensor
        found["dtype"], found["shape"] = kinds.Name(tensor.data_type), list(tensor.dims)
    return found


def operators(path):
    core = paddle.base.core
    names = set(core._get_all_register_op_kernels("all"))
    for binary in core.get_all_op_protos():
        proto = framework_pb2.OpProto()
        proto.ParseFromString(bytes(binary))
        names.add(proto.type)
    with open(path, "w") as file:
        json.dump(sorted(names), file)


if __name__ == "__main__":
    assert paddle.__version__ == "2.6.2", paddle.__version__
    paddle.enable_static()
    {"write": write, "run": run, "operators": operators}[sys.argv[1]](sys.argv[2])
