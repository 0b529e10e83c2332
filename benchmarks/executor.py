"""Running and describing programs: cost of an operator, inference of one sample, a large program.

    python benchmarks/executor.py [rounds]

An operator on one number costs what the executor and the door cost: its kernel does next to
nothing. MLP and LeNet with one sample run beside ONNX Runtime, which gets the same weights as an
ONNX model; one thread each.
"""

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import peer
import report

LINKS = 1000
PER_OPERATOR = 0.3e-6  # seconds over the kernel


# Our side -----------------------------------------------------------------------------------------


def repeated(work):
    def run(n):
        for _ in itertools.repeat(None, n):
            work()

    return run


def chain(size):
    import numpy as np

    import static

    def setup():
        program = static.Program()
        with static.program_guard(program):
            x = y = static.data("x", [size, size])
            for _ in range(LINKS // 2):
                y = static.layers.relu(y) + x
        executor, scope = static.Executor(), static.Scope()
        feed = {"x": np.ones((size, size), "float32")}
        return repeated(lambda: executor.run(program, feed, [y], scope=scope, return_numpy=False))

    return setup


def describing(backward):
    import static

    def work():
        with static.program_guard(static.Program()):
            x = y = static.data("x", [None, 8])
            x.stop_gradient = False
            for _ in range(LINKS // 2):
                y = static.layers.relu(y) + x
            if backward:
                static.gradients(y, x)

    return lambda: repeated(work)


def networks():
    """Name -> (layer, shape of one sample)."""
    from dygraph import nn

    mlp = nn.Sequential(
        nn.Linear(784, 256, act="relu"), nn.Linear(256, 256, act="relu"), nn.Linear(256, 10)
    )
    lenet = nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2, act="relu"), nn.MaxPool2D(2, 2),
        nn.Conv2D(6, 16, 5, act="relu"), nn.MaxPool2D(2, 2), nn.Flatten(),
        nn.Linear(400, 120, act="relu"), nn.Linear(120, 84, act="relu"), nn.Linear(84, 10),
    )  # fmt: skip
    return {"MLP": (mlp, (784,)), "LeNet": (lenet, (1, 28, 28))}


def inference(name):
    import numpy as np

    import dygraph
    import static

    def setup():
        dygraph.seed(1)
        layer, shape = networks()[name]
        layer.eval()
        program = static.Program()
        with static.program_guard(program):
            x = static.data("x", [None, *shape])
            out = layer(x)
        executor, scope = static.Executor(), static.Scope()
        feed = {"x": np.full((1, *shape), 0.5, "float32")}

        def run(n):
            for _ in itertools.repeat(None, n):
                (value,) = executor.run(program, feed, [out], scope=scope)
            return None if n else executor.run(program, feed, [out], scope=scope)[0].tolist()

        return run

    return setup


def ours():
    return {
        "chain 8x8": chain(8),
        "chain 1x1": chain(1),
        "describe": describing(False),
        "describe and differentiate": describing(True),
        **{f"{name}, one sample": inference(name) for name in ("MLP", "LeNet")},
    }


# ONNX Runtime -------------------------------------------------------------------------------------


def onnx_model(weights, image):
    """The networks above as ONNX: layers in order, `weights` their arrays."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, tensors, current = [], [], "x"
    arrays = iter(weights)

    def add(op, *names, **attributes):
        nonlocal current
        out = f"y{len(nodes)}"
        nodes.append(helper.make_node(op, [current, *names], [out], **attributes))
        current = out

    def constants(count):
        names = []
        for _ in range(count):
            names.append(f"w{len(tensors)}")
            tensors.append(numpy_helper.from_array(next(arrays), names[-1]))
        return names

    if image:
        for pad in (2, 0):
            add("Conv", *constants(2), kernel_shape=[5, 5], pads=[pad] * 4)
            add("Relu")
            add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
        add("Flatten")
    for last in (False, False, True):
        add("Gemm", *constants(2))
        if not last:
            add("Relu")
    shape = ["n", 1, 28, 28] if image else ["n", 784]
    graph = helper.make_graph(
        nodes, "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(current, TensorProto.FLOAT, ["n", 10])], tensors,
    )  # fmt: skip
    opset = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def onnxruntimes():
    import numpy as np

    def setup(name):
        import onnxruntime

        with np.load(weights_file(name)) as file:
            weights = [file[f"w{i}"] for i in range(len(file.files))]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            onnx_model(weights, name == "LeNet"), options, providers=["CPUExecutionProvider"]
        )
        shape = (1, 1, 28, 28) if name == "LeNet" else (1, 784)
        feed = {"x": np.full(shape, 0.5, "float32")}

        def run(n):
            for _ in itertools.repeat(None, n):
                session.run(None, feed)
            return None if n else session.run(None, feed)[0].tolist()

        return run

    return {f"{name}, one sample": (lambda name=name: setup(name)) for name in ("MLP", "LeNet")}


def weights_file(name):
    return Path(tempfile.gettempdir()) / f"dygraph_executor_{name}.npz"


def write_weights():
    """The networks' parameters where the other side finds them."""
    import numpy as np

    import dygraph

    for name in ("MLP", "LeNet"):
        dygraph.seed(1)
        layer, _ = networks()[name]
        arrays = [p.numpy() for p in layer.parameters()]
        np.savez(weights_file(name), **{f"w{i}": a for i, a in enumerate(arrays)})


def main(rounds):
    import numpy as np

    subprocess.check_call([peer.peer_python(), "-m", "pip", "install", "-q", "onnxruntime", "onnx"])
    write_weights()
    table = report.Report(
        "executor", "Programs, 1 thread, beside ONNX Runtime", peer="ONNX Runtime"
    )
    with peer.Side(__file__, "ours", 1) as us, peer.Side(__file__, "torch", 1) as onnx:
        for name, most in (("chain 8x8", None), ("chain 1x1", PER_OPERATOR)):
            seconds = peer.interleave([us], name, rounds)[0]["ours"] / LINKS
            table.add(f"run, one operator of a {name}", seconds, most=most)
        for name in ("describe", "describe and differentiate"):
            seconds = peer.interleave([us], name, rounds)[0]["ours"]
            table.add(f"{name} {LINKS} operators", seconds)
        for name in ("MLP", "LeNet"):
            case = f"{name}, one sample"
            np.testing.assert_allclose(us.value(case), onnx.value(case), rtol=1e-4, atol=1e-5)
            medians, ratios = peer.interleave([us, onnx], case, rounds)
            table.add(
                case, medians["ours"], medians["torch"], ratios["torch"], share=1.0,
                peer_name="ONNX Runtime",
            )  # fmt: skip
    table.finish()


if __name__ == "__main__":
    if "--worker" in sys.argv[1:2]:
        peer.serve(ours() if sys.argv[2] == "ours" else onnxruntimes())
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10)
