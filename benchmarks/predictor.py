"""Predictors beside ONNX Runtime: one sample and eight, on one thread and on two.

    python benchmarks/predictor.py [rounds [network ...]]

Both sides get the same weights and are called from Python with an array. ResNet-50 runs with
batch_norm folded into its weights (`static.fold_inference`) and the pass `fuse_convolution`. Then
what a C program sees: one call of the C interface, the time from the start of a process to the
first answer of a LeNet, and the sizes of the libraries that a program is shipped with.
"""

import functools
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import executor as programs
import networks
import peer
import report

import onnx_models

# The part of ONNX Runtime's time that each may take.
SHARES = {"MLP": 0.6, "LeNet": 0.8, "ResNet-50": 0.95, "BERT-base": 0.85}
BATCHES, THREADS = (1, 8), (1, 2)
CALL, START = 1e-6, 30e-3  # seconds
LIBRARY = 9 << 20  # bytes, without oneDNN
ROOT = Path(__file__).resolve().parents[1]


def case(name, batch):
    return f"{name}, batch {batch}"


def cases():
    return [(name, batch) for name in SHARES for batch in BATCHES]


def saved(name, folder):
    """A network's inference model, written for any batch size; its folder."""
    import ours as builder

    from dygraph import static

    network = programs.INFERENCE[name]()
    layer = builder.starting(network)
    layer.eval()
    program, scope, executor = static.Program(), static.Scope(), static.Executor()
    with static.program_guard(program):
        dtype = "int64" if network.words else "float32"
        out = layer(static.data("x", [None, *network.input[1:]], dtype))
    executor.run(program, {"x": networks.data(network)[0]}, [out], scope=scope)  # gives it weights
    static.save_inference_model(folder, ["x"], [out], executor, program, scope=scope)
    if name == "ResNet-50":
        scope = static.Scope()
        program, _, fetches = static.load_inference_model(folder, scope=scope)
        folded = static.fold_inference(program, scope)
        names = [v.name for v in fetches]
        static.save_inference_model(folder, ["x"], names, executor, folded, scope=scope)
    return folder


def repeated(call, value):
    def run(n):
        for _ in itertools.repeat(None, n):
            call()
        return None if n else value().tolist()

    return run


def ours():
    def setup(name, batch):
        from dygraph.inference import Predictor

        with tempfile.TemporaryDirectory() as folder:
            passes = ["fuse_convolution"] if name == "ResNet-50" else []
            predictor = Predictor(saved(name, folder), passes=passes)
        feed = {"x": networks.data(programs.of_batch(name, batch))[0]}
        return repeated(lambda: predictor.run(feed), lambda: predictor.run(feed)[0])

    return {case(*which): functools.partial(setup, *which) for which in cases()}


def onnxruntimes():
    def setup(name, batch):
        network = programs.of_batch(name, batch)
        session = onnx_models.session(network, int(os.environ["OMP_NUM_THREADS"]))
        feed = {"x": networks.data(network)[0]}
        return repeated(lambda: session.run(None, feed), lambda: session.run(None, feed)[0])

    return {case(*which): functools.partial(setup, *which) for which in cases()}


# In C --------------------------------------------------------------------------------------------

CLOCK = r"""
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "inference/c_api.h"
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
static void check(int status) {
  if (status == DYGRAPH_OK) return;
  fprintf(stderr, "%s\n", dygraph_last_error());
  exit(1);
}
int main(int count, char **arguments) {
  static float image[28 * 28];
  const int64_t dims[] = {1, 1, 28, 28};
  dygraph_predictor *predictor;
  dygraph_context *context;
  dygraph_tensor in = {0}, out = {0};
  in.struct_size = out.struct_size = sizeof in;
  in.type = DYGRAPH_FLOAT32;
  in.rank = 4;
  in.dims = dims;
  in.data = image;
  in.bytes = sizeof image;
  check(dygraph_load(arguments[1], NULL, &predictor));
  check(dygraph_context_create(predictor, &context));
  check(dygraph_context_set_input(context, 0, &in));
  check(dygraph_context_run(context));
  check(dygraph_context_output(context, 0, &out));
  if (count == 2) return 0;
  const int calls = 200000;
  double start = now();
  for (int i = 0; i < calls; ++i) check(dygraph_context_set_input(context, 0, &in));
  const double set = (now() - start) / calls;
  start = now();
  for (int i = 0; i < calls; ++i) check(dygraph_context_output(context, 0, &out));
  printf("[%.12f, %.12f]\n", set, (now() - start) / calls);
  return 0;
}
"""


def c_program(folder):
    from dygraph import inference

    source, program = Path(folder, "clock.c"), Path(folder, "clock")
    source.write_text(CLOCK)
    prefix = Path(inference.prefix())
    subprocess.check_call(
        ["cc", "-std=c99", "-O2", f"-I{prefix / 'include'}", source, f"-L{prefix / 'libs'}",
         f"-Wl,-rpath,{prefix / 'libs'}", "-ldygraph", "-o", program]
    )  # fmt: skip
    return program, prefix


def elapsed(command):
    """Seconds from the start of a process to its end."""
    code = (
        "import subprocess, sys, time\n"
        "start = time.perf_counter()\nsubprocess.check_call(sys.argv[1:])\n"
        "print(time.perf_counter() - start)"
    )
    return float(subprocess.check_output([sys.executable, "-c", code, *map(str, command)]))


def in_c(table, rounds):
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        model = saved("LeNet", os.path.join(folder, "model"))
        from dygraph.inference import Predictor

        packed = os.path.join(folder, "model.dygraph")
        Predictor(model).save(packed)
        program, prefix = c_program(folder)
        pairs = [json.loads(subprocess.check_output([program, packed, "calls"])) for _ in range(5)]
        for i, what in enumerate(("dygraph_context_set_input", "dygraph_context_output")):
            table.add(f"one C call: {what}", min(pair[i] for pair in pairs), most=CALL)
        times = [elapsed([program, packed]) for _ in range(4 * rounds)]
        table.add("C process, LeNet: start to first answer", statistics.median(times), most=START)
    library = (prefix / "libs" / "libdygraph.so").stat().st_size
    table.add("libdygraph.so, beside oneDNN", library, form=report.megabytes)
    small = ROOT / "build" / "small" / "libs" / "libdygraph.so"
    if small.exists():
        size = small.stat().st_size
        table.add("libdygraph.so, DYGRAPH_SMALL", size, most=LIBRARY, form=report.megabytes)


def main(rounds, only):
    subprocess.check_call([peer.peer_python(), "-m", "pip", "install", "-q", "onnxruntime", "onnx"])
    table = report.Report("predictor", "Predictors beside ONNX Runtime", peer="ONNX Runtime")
    for threads in THREADS:
        with (
            peer.Side(__file__, "ours", threads) as us,
            peer.Side(__file__, "torch", threads) as onnx,
        ):
            for name, batch in cases():
                if only and name not in only:
                    continue
                which = case(name, batch)
                programs.alike(us.value(which), onnx.value(which))
                medians, ratios = peer.interleave([us, onnx], which, rounds)
                table.add(
                    f"{which}, {threads} thread{'s' * (threads > 1)}", medians["ours"],
                    medians["torch"], ratios["torch"], share=SHARES[name],
                    peer_name="ONNX Runtime",
                )  # fmt: skip
                us.forget(which)
                onnx.forget(which)
    in_c(table, rounds)
    table.finish()


if __name__ == "__main__":
    if "--worker" in sys.argv[1:2]:
        peer.serve(ours() if sys.argv[2] == "ours" else onnxruntimes())
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10, sys.argv[2:])
