"""Running and describing programs: cost of an operator, inference of one sample, a large program.

    python benchmarks/executor.py [rounds]

An operator on one number costs what the executor and the door cost: its kernel does next to
nothing. Networks run beside ONNX Runtime, which gets the same weights as an ONNX model: one sample
on one thread each, then the batches of `TWO_THREADS` on two.
"""

import dataclasses
import functools
import itertools
import subprocess
import sys

import networks
import onnx_models
import peer
import report

LINKS = 1000
DESCRIBING = {"describe": 8e-3, "describe and differentiate": 20e-3}  # seconds for all links
PER_OPERATOR = 0.3e-6  # seconds over the kernel
INFERENCE = {
    "MLP": networks.mlp,
    "LeNet": networks.lenet,
    "ResNet-50": networks.resnet50,
    "BERT-base": networks.bert_base,
}
TWO_THREADS = {"MLP": (64,), "ResNet-50": (1, 8), "BERT-base": (1,)}  # batches by network


# Our side -----------------------------------------------------------------------------------------


def repeated(work):
    def run(n):
        for _ in itertools.repeat(None, n):
            work()

    return run


def chain(size):
    import numpy as np

    from dygraph import static

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
    from dygraph import static

    def work():
        with static.program_guard(static.Program()):
            x = y = static.data("x", [None, 8])
            x.stop_gradient = False
            for _ in range(LINKS // 2):
                y = static.layers.relu(y) + x
            if backward:
                static.gradients(y, x)

    return lambda: repeated(work)


def of_batch(name, batch):
    network = INFERENCE[name]()
    return dataclasses.replace(network, input=(batch, *network.input[1:]))


def inference_cases():
    """(name of the case, network, batch, threads)"""
    for name in INFERENCE:
        yield f"{name}, one sample", name, 1, 1
    for name, batches in TWO_THREADS.items():
        for batch in batches:
            yield f"{name}, batch {batch}, two threads", name, batch, 2


def inference(name, batch):
    from dygraph import static

    def setup():
        import ours as builder

        network = of_batch(name, batch)
        layer = builder.starting(network)
        layer.eval()
        program = static.Program()
        with static.program_guard(program):
            dtype = "int64" if network.words else "float32"
            out = layer(static.data("x", [None, *network.input[1:]], dtype))
        executor, scope = static.Executor(), static.Scope()
        feed = {"x": networks.data(network)[0]}

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
        **{case: inference(name, batch) for case, name, batch, _ in inference_cases()},
    }


# ONNX Runtime -------------------------------------------------------------------------------------


def onnxruntimes():
    def setup(name, batch, threads):
        network = of_batch(name, batch)
        session = onnx_models.session(network, threads)
        feed = {"x": networks.data(network)[0]}

        def run(n):
            for _ in itertools.repeat(None, n):
                session.run(None, feed)
            return None if n else session.run(None, feed)[0].tolist()

        return run

    return {case: functools.partial(setup, *rest) for case, *rest in inference_cases()}


def alike(ours, theirs):
    """Outputs of networks may be thousands: a sum that cancels is off by its largest term."""
    import numpy as np

    largest = max(1.0, float(np.abs(theirs).max()))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * largest)


def main(rounds):
    subprocess.check_call([peer.peer_python(), "-m", "pip", "install", "-q", "onnxruntime", "onnx"])
    table = report.Report(
        "executor",
        "Programs beside ONNX Runtime, on one thread but where it says two",
        peer="ONNX Runtime",
    )
    with peer.Side(__file__, "ours", 1) as us:
        for name, most in (("chain 8x8", None), ("chain 1x1", PER_OPERATOR)):
            seconds = peer.interleave([us], name, rounds)[0]["ours"] / LINKS
            table.add(f"run, one operator of a {name}", seconds, most=most)
        for name, most in DESCRIBING.items():
            seconds = peer.interleave([us], name, rounds)[0]["ours"]
            table.add(f"{name} {LINKS} operators", seconds, most=most)
    for threads in (1, 2):
        with (
            peer.Side(__file__, "ours", threads) as us,
            peer.Side(__file__, "torch", threads) as onnx,
        ):
            for case, *_, wanted in inference_cases():
                if wanted != threads:
                    continue
                alike(us.value(case), onnx.value(case))
                medians, ratios = peer.interleave([us, onnx], case, rounds)
                table.add(
                    case, medians["ours"], medians["torch"], ratios["torch"], share=1.0,
                    peer_name="ONNX Runtime",
                )  # fmt: skip
                us.forget(case)
                onnx.forget(case)
    table.finish()


if __name__ == "__main__":
    if "--worker" in sys.argv[1:2]:
        peer.serve(ours() if sys.argv[2] == "ours" else onnxruntimes())
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10)
