# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Compiled and deployed
#
# A program knows more than single calls do: who reads a value, how long it lives, what can run as
# one. This notebook compiles a training step, looks at the program as a graph, and then lets the
# trained network leave Python: as a packed file for the C library, as an ONNX file, and as one C
# file. The numbers stay the same to the last bit wherever that is promised. Everything runs in
# seconds.

# %%
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from sklearn.datasets import load_digits

import dygraph
from dygraph import inference, nn, static
from dygraph import ops as F

folder = tempfile.TemporaryDirectory()
out = pathlib.Path(folder.name)

digits = load_digits()
images = (digits.data / 8 - 1).astype("float32").reshape(-1, 1, 8, 8)
labels = digits.target.astype("int64")[:, None]
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1408], order[1408:]

# %% [markdown]
# ## A compiled training step
#
# `jit.compile` takes a function that does a whole step: forward, `backward()`, the optimizer. The
# first calls run Python; meanwhile the step is recorded, and compared with an eager step bit for
# bit. Later calls run the program.


# %%
def network():
    return nn.Sequential(
        nn.Conv2D(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2),
        nn.Flatten(), nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


def trained(compiled):
    dygraph.seed(1)
    net = network()
    optimizer = dygraph.optimizer.Adam(3e-3, parameter_list=net.parameters())

    def step(x, y):
        loss = F.softmax_with_cross_entropy(net(x), y).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return loss

    run = dygraph.jit.compile(step) if compiled else step
    for epoch in range(8):
        for rows in np.split(np.random.default_rng(epoch).permutation(train), 22):
            loss = run(dygraph.to_variable(images[rows]), dygraph.to_variable(labels[rows]))
    return net.eval(), run, loss.item()


eager_net, _, eager_loss = trained(compiled=False)
net, step, loss = trained(compiled=True)
assert loss == eager_loss
assert all(
    np.array_equal(a.numpy(), b.numpy())
    for a, b in zip(net.parameters(), eager_net.parameters(), strict=True)
)
step.cache_info()

# %% [markdown]
# `explain` says when it compiled, and why. Another batch size compiles another program.

# %%
print(step.explain())

# %%
x = dygraph.to_variable(images[test])
accuracy = (net(x).numpy().argmax(1) == labels[test, 0]).mean()
assert accuracy > 0.93
x

# %% [markdown]
# ## The program as a graph
#
# Passes rewrite programs; those of `static.passes.DEFAULT` keep every bit. `CompiledProgram`
# applies them and plans the memory of a run.

# %%
logits, traced = dygraph.jit.trace(net, [x])
program = traced.program
print(static.passes.graph(program))
less = static.passes.apply(program, list(static.passes.DEFAULT))
len(program.global_block().ops), len(less.global_block().ops)

# %% [markdown]
# ## Without Python: the C library
#
# `Predictor` calls the C functions of `inference/c_api.h`, which programs in C and C++ call as
# well; `examples/deploy/` has three. A packed file holds program and weights; several processes
# share its pages.

# %%
traced.save_inference_model(out / "model")
predictor = inference.Predictor(out / "model")
predictor.save(out / "digits.dygraph")
packed = inference.Predictor(out / "digits.dygraph", share_weights=True)
(answer,) = packed.run([images[test]])
assert answer.tobytes() == logits.numpy().tobytes()
predictor.inputs, (out / "digits.dygraph").stat().st_size

# %% [markdown]
# ## ONNX
#
# The batch is open in the file. What was exported can be loaded again, as a program and as a layer
# that trains.

# %%
spec = dygraph.jit.InputSpec(["batch", 1, 8, 8])
proto = dygraph.onnx.export(net, out / "digits.onnx", [spec])
session = onnxruntime.InferenceSession(out / "digits.onnx")
(theirs,) = session.run(None, {session.get_inputs()[0].name: images[test]})
np.testing.assert_allclose(theirs, answer, rtol=1e-4, atol=1e-4)
[node.op_type for node in proto.graph.node]

# %%
again = dygraph.onnx.load(out / "digits.onnx")
(ours,) = again.run({again.feed_names[0]: images[test]})
np.testing.assert_allclose(ours, answer, rtol=1e-5, atol=1e-5)
len(again.layer.parameters())

# %% [markdown]
# ## One C file
#
# `python -m dygraph compile` writes the network as C99 without any library but libm: no memory is
# allocated, no global is written.

# %%
command = [sys.executable, "-m", "dygraph", "compile", str(out / "model"), "-o", str(out / "net.c")]
print(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
text = (out / "net.c").read_text()
assert "malloc" not in text
print("\n".join(text.splitlines()[:40]))
