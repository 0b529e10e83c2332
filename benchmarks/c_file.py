"""Models as C files beside the Executor and ONNX Runtime, one thread each.

    python benchmarks/c_file.py [rounds]

The C file is compiled by $CC or cc as `codegen.CFile.build` does, and called through ctypes.
"""

import ctypes
import dataclasses
import itertools
import os
import subprocess
import sys
import tempfile

import networks
import peer
import report

import onnx_models


def lstm():
    """8 sequences of 35 steps; ONNX models have no name for its layer here."""
    return networks.Network(
        layers=[("lstm", 128, 256), ("linear", 256, 10)], input=(35, 8, 128),
        optimizer=("sgd", 0.1), share=1.0,
    )  # fmt: skip


# name: (network, first size of its input, most of ONNX Runtime's time, most of the Executor's)
CASES = {
    "MLP, batch 1": (networks.mlp, 1, 0.5, None),
    "MLP, batch 64": (networks.mlp, 64, None, 2.0),
    "LeNet, batch 1": (networks.lenet, 1, None, None),
    "LeNet, batch 64": (networks.lenet, 64, None, 2.0),
    "ResNet-18 for 32x32, batch 1": (networks.resnet18, 1, None, None),
    "LSTM, batch 8": (lstm, 35, None, None),
    "Transformer, batch 1": (networks.transformer, 1, None, None),
    "Transformer, batch 8": (networks.transformer, 8, None, 2.0),
}
WITHOUT_ONNX = {"LSTM, batch 8"}


def of_batch(make, batch):
    network = make()
    return dataclasses.replace(network, input=(batch, *network.input[1:]))


def described(make, batch):
    """(program, output, input) with the starting weights."""
    import ours as builder

    from dygraph import static

    network = of_batch(make, batch)
    layer = builder.starting(network)
    layer.eval()
    program = static.Program()
    with static.program_guard(program):
        out = layer(static.data("x", [None, *network.input[1:]], "float32"))
    return program, out, networks.data(network)[0]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("type", ctypes.c_int), ("rank", ctypes.c_int),
        ("levels", ctypes.c_int), ("dims", ctypes.c_int64 * 8),
        ("offset_counts", ctypes.c_int64 * 4), ("offsets", ctypes.c_void_p * 4),
    ]  # fmt: skip


def in_c(make, batch):
    def setup():
        import numpy as np

        from dygraph import codegen

        program, out, x = described(make, batch)
        made = codegen.emit_c(program, feeds=["x"], fetches=[out])
        path = os.path.join(tempfile.mkdtemp(), "net.so")
        library = ctypes.CDLL(made.build(path))
        held = np.frombuffer(made.weights + bytes(64), np.uint8).copy()
        given, result, size = (Tensor * 1)(), (Tensor * 1)(), ctypes.c_int64()
        given[0].data, given[0].rank = x.ctypes.data, x.ndim
        given[0].dims[: x.ndim] = x.shape
        assert library.net_workspace(given, ctypes.byref(size), None) == 0
        space = np.empty(size.value // 8 + 8, np.int64)
        arguments = (
            given, result, ctypes.c_void_p(held.ctypes.data), ctypes.c_void_p(space.ctypes.data),
            size, None,
        )  # fmt: skip

        def run(n, kept=(x, held, space)):  # what the arguments point to
            for _ in itertools.repeat(None, n):
                library.net_run(*arguments)
            if n:
                return None
            assert library.net_run(*arguments) == 0
            shape = tuple(result[0].dims[: result[0].rank])
            raw = ctypes.string_at(result[0].data, 4 * int(np.prod(shape)))
            return np.frombuffer(raw, np.float32).reshape(shape).tolist()

        return run

    return setup


def in_executor(make, batch):
    def setup():
        from dygraph import static

        program, out, x = described(make, batch)
        executor, scope = static.Executor(), static.Scope()

        def run(n):
            for _ in itertools.repeat(None, n):
                executor.run(program, {"x": x}, [out], scope=scope)
            return None if n else executor.run(program, {"x": x}, [out], scope=scope)[0].tolist()

        return run

    return setup


def in_onnxruntime(make, batch):
    def setup():
        network = of_batch(make, batch)
        session, feed = onnx_models.session(network, 1), {"x": networks.data(network)[0]}

        def run(n):
            for _ in itertools.repeat(None, n):
                session.run(None, feed)
            return None if n else session.run(None, feed)[0].tolist()

        return run

    return setup


def cases(*prefixes_and_makers):
    return {
        f"{prefix}{case}": make_side(make, batch)
        for prefix, make_side in prefixes_and_makers
        for case, (make, batch, *_) in CASES.items()
    }


def main(rounds):
    import numpy as np

    subprocess.check_call([peer.peer_python(), "-m", "pip", "install", "-q", "onnxruntime", "onnx"])
    table = report.Report("c_file", "C files beside ONNX Runtime, one thread", peer="ONNX Runtime")
    with (
        peer.Side(__file__, "ours", 1) as c,
        peer.Side(__file__, "ours", 1) as executor,
        peer.Side(__file__, "torch", 1) as onnx,
    ):
        executor.name = "executor"
        for case, (_, _, of_onnx, of_executor) in CASES.items():
            names = {"ours": f"C, {case}", "executor": case, "torch": case}
            sides = [c, executor] if case in WITHOUT_ONNX else [c, executor, onnx]
            np.testing.assert_allclose(c.value(names["ours"]), sides[-1].value(case), 1e-4, 1e-4)
            medians, ratios = peer.interleave(sides, names, rounds)
            if case not in WITHOUT_ONNX:
                table.add(case, medians["ours"], medians["torch"], ratios["torch"], share=of_onnx,
                          peer_name="ONNX Runtime")  # fmt: skip
            table.add(f"{case}, beside the Executor", medians["ours"], medians["executor"],
                      ratios["executor"], share=of_executor, peer_name="Executor")  # fmt: skip
    table.finish()


if __name__ == "__main__":
    if "--worker" in sys.argv[1:2]:
        ours = cases(("C, ", in_c), ("", in_executor))
        peer.serve(ours if sys.argv[2] == "ours" else cases(("", in_onnxruntime)))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10)
