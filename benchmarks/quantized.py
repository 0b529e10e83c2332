"""Networks in 8 bits beside float32: ONNX Runtime on the exported files, and our executor.

    python benchmarks/quantized.py [rounds]

One thread each, weights of `networks.py`, inputs and calibration of noise. The four runs of a
network take turns; the fastest of all rounds counts.
"""

import dataclasses
import os
import sys
import tempfile
import time

import networks
import numpy as np
import ours
import report

import dygraph

NETWORKS = {
    "MLP, batch 64": (networks.mlp, 64),
    "LeNet, batch 64": (networks.lenet, 64),
    "ResNet-18, batch 16": (networks.resnet18, 16),
    "ResNet-50, one image": (networks.resnet50, 1),
}


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def runs(make, batch, folder):
    """{name: function} of the four, and the greatest difference of the 8 bits' outputs."""
    network = make()
    network = dataclasses.replace(network, input=(batch, *network.input[1:]))
    layer = ours.starting(network)
    layer.eval()
    x, _ = networks.data(network)
    spec = [dygraph.jit.InputSpec([None, *x.shape[1:]])]
    small = dygraph.quantization.quantize(layer, [x], spec)
    dygraph.jit.save(layer, f"{folder}/float", spec)
    exact = dygraph.jit.load(f"{folder}/float")
    found, outputs = {}, {}
    for name, program in (("float32", exact), ("int8", small)):
        path = os.path.join(folder, f"{name}.onnx")
        dygraph.onnx.export(program, path)
        runner, variable = session(path), dygraph.to_variable(x)
        feed = {runner.get_inputs()[0].name: x}
        found[f"ONNX Runtime, {name}"] = lambda r=runner, f=feed: r.run(None, f)
        found[f"ours, {name}"] = lambda p=program, v=variable: p(v)
        outputs[name] = runner.run(None, feed)[0]
    error = np.abs(outputs["int8"] - outputs["float32"]).max() / np.abs(outputs["float32"]).max()
    return found, float(error)


def measured(functions, rounds):
    best = dict.fromkeys(functions, float("inf"))
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    dygraph.set_num_threads(1)
    lines = [
        "# Networks in 8 bits beside float32, one thread", "", report.machine(), "",
        "| network | ONNX Runtime, float32 | int8 | ratio | ours, float32 | int8 | ratio | error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for name, (make, batch) in NETWORKS.items():
        with tempfile.TemporaryDirectory() as folder:
            functions, error = runs(make, batch, folder)
            best = measured(functions, rounds)
        cells = [name]
        for side in ("ONNX Runtime", "ours"):
            exact, small = best[f"{side}, float32"], best[f"{side}, int8"]
            cells += [report.seconds(exact), report.seconds(small), f"{small / exact:.2f}"]
        lines.append("| " + " | ".join([*cells, f"{100 * error:.1f} %"]) + " |")
        print(lines[-1], flush=True)
    lines += ["", "error: the greatest difference of an output, in parts of the greatest output."]
    (report.RESULTS / "details" / "quantized.md").write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
