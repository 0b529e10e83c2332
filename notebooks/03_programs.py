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
# # Programs
#
# An eager call computes at once. A *program* is a description of a computation: it can be
# inspected, edited, saved, and run without the Python code that made it. This notebook traces a
# layer into a program, describes one by hand, trains it, and saves the results. The data are the
# digits of scikit-learn; everything runs in well under a minute.

# %%
import pathlib
import tempfile

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import dygraph
from dygraph import nn, static
from dygraph.static import layers

folder = tempfile.TemporaryDirectory()
out = pathlib.Path(folder.name)

digits = load_digits()
images = (digits.data / 8 - 1).astype("float32")
labels = digits.target.astype("int64")[:, None]
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1437], order[1437:]

# %% [markdown]
# ## From a layer to a program
#
# `trace` calls a layer and records the operators that run. It does so at two batch sizes: sizes
# that differ between them are left open, so the program takes batches of any size.

# %%
with dygraph.guard(seed=7):
    net = nn.Sequential(nn.Linear(64, 16, act="relu"), nn.Dropout(0.3), nn.Linear(16, 10)).eval()

sample = dygraph.to_variable(images[:4])
outputs, traced = dygraph.jit.trace(net, [sample])
assert np.array_equal(outputs.numpy(), net(sample).numpy())
sample

# %% [markdown]
# A notebook shows the program with its operators in blue (they are all *forward* here) and its
# variables, which unfold. `-1` is the batch. Dropout has `is_test`, because the layer was in eval
# mode.

# %%
traced.program

# %% [markdown]
# An inference model is two files: the program in Fluid's wire format, which Netron draws and Paddle
# reads, and the weights. Another process needs only these files, not the class.

# %%
traced.save_inference_model(out / "traced")
print(sorted(p.name for p in (out / "traced").iterdir()))

scope, executor = static.Scope(), static.Executor()
program, feeds, fetches = static.load_inference_model(out / "traced", executor, scope=scope)
for size in (1, 3, 360):  # none of them was seen while tracing
    x = images[test[:size]]
    (logits,) = executor.run(program, {feeds[0]: x}, fetches, scope=scope)
    assert logits.tobytes() == net(dygraph.to_variable(x)).numpy().tobytes()  # the same bits
feeds, fetches[0].shape, logits.shape

# %% [markdown]
# A trace records operators only. If a layer computes with Python numbers or NumPy arrays instead,
# the trace raises an error with the line.


# %%
class Impatient(nn.Layer):
    def forward(self, x):
        if float(dygraph.mean(x)) > 0:
            return x * 2
        return x


try:
    dygraph.jit.trace(Impatient(), [sample])
    raise AssertionError("the value of a mean became part of a program")
except RuntimeError as error:
    print(error)

# %% [markdown]
# ## Describing by hand
#
# `static.layers` has Fluid's functions. They compute nothing: each appends operators to the main
# program, and the operators that give its parameters their first values to the startup program.

# %%
main, startup = static.Program(), static.Program()
main.random_seed = startup.random_seed = 3

with static.program_guard(main, startup):
    image = static.data("image", [None, 64], "float32")
    label = static.data("label", [None, 1], "int64")
    hidden = layers.dropout(layers.fc(image, size=48, act="relu"), dropout_prob=0.2)
    guess = layers.fc(hidden, size=10, act="softmax")
    loss = layers.mean(layers.cross_entropy(guess, label))
    right = layers.accuracy(guess, label)

described = main.clone()
len(startup.global_block().ops), [op.type for op in main.global_block().ops]

# %% [markdown]
# Shapes are known before the program runs, so a mistake raises at the line that makes it.

# %%
assert guess.shape == (-1, 10) and [p.name for p in main.all_parameters()][0] == "fc_0.w_0"
try:
    layers.matmul(guess, main.global_block().var("fc_0.w_0"))
    raise AssertionError("10 columns met 64 rows")
except ValueError as error:
    print(error)

# %%
loss

# %% [markdown]
# `minimize` appends the rest of the training step: the backward pass from the operators' own
# recipes, then one update for each parameter.

# %%
with static.program_guard(main, startup):
    static.optimizer.Adam(learning_rate=3e-3).minimize(loss)

grown = static.diff(described, main)
assert grown and not static.diff(main, main.clone())
print(len(described.global_block().ops), "operators before,", len(main.global_block().ops), "after")
print(*(line[:100] + " ..." for line in str(grown).splitlines()[-4:]), sep="\n")

# %% [markdown]
# As a graph: forward operators are blue, backward ones red, updates green. The example is a small
# program of the same kind.

# %%
small = static.Program()
with static.program_guard(small, static.Program()):
    x = static.data("x", [None, 3], "float32")
    small_loss = layers.mean(layers.fc(x, size=1, bias_attr=False))
    static.optimizer.SGD(0.1).minimize(small_loss)

picture = static.draw_graph(small, path=None)
kinds = {node["kind"] for node in picture.nodes}
assert {"forward", "backward", "update"} <= kinds
picture

# %%
small

# %% [markdown]
# ## Running
#
# An `Executor` runs programs, a `Scope` keeps their variables between runs. The startup program
# runs once and fills the parameters. Without it, a run raises an error that says to run it.

# %%
scope, executor = static.Scope(), static.Executor()
feed = {"image": images[train[:64]], "label": labels[train[:64]]}
try:
    executor.run(main, feed, [loss], scope=scope)
    raise AssertionError("parameters without values were used")
except RuntimeError as error:
    print(error)

executor.run(startup, scope=scope)
assert scope.find_var("fc_0.w_0").get().shape == (64, 48)
executor.run(main, feed, [loss], scope=scope)

# %% [markdown]
# The executor checks the fed arrays against the declarations.

# %%
for wrong in ({"image": images[:4]}, {"image": images[:4, :9], "label": labels[:4]}):
    try:
        executor.run(main, wrong, [loss], scope=scope)
        raise AssertionError("a wrong feed went through")
    except dygraph.errors.DygraphError as error:
        print(error)

# %% [markdown]
# `clone(for_test=True)` gives a program for tests during training: it has no backward pass and no
# update, and its dropout drops nothing. It uses the same scope, hence the current parameters.

# %%
testing = main.clone(for_test=True)
assert len(testing.global_block().ops) == len(described.global_block().ops)


def batches(seed):
    rows = np.random.default_rng(seed).permutation(train)
    for start in range(0, len(rows) - 63, 64):
        now = rows[start : start + 64]
        yield {"image": images[now], "label": labels[now]}


losses, scores = [], []
for epoch in range(8):
    for feed in batches(epoch):
        (value,) = executor.run(main, feed, [loss], scope=scope)
        losses.append(float(value))
    held_out = {"image": images[test], "label": labels[test]}
    (score,) = executor.run(testing, held_out, [right], scope=scope)
    scores.append(float(score.reshape(())))
print(f"test accuracy {scores[-1]:.3f}")
assert losses[-1] < 0.3 < losses[0] and scores[-1] > 0.93

# %%
figure, (left, right_side) = plt.subplots(1, 2, figsize=(9, 3))
left.plot(losses)
left.set(xlabel="step", ylabel="loss", yscale="log")
right_side.plot(range(1, len(scores) + 1), scores, marker="o")
right_side.set(xlabel="epoch", ylabel="test accuracy")
plt.show()

# %% [markdown]
# Parameters are in the scope, by name. The pictures show the weights of eight units of the first
# layer.

# %%
weights = scope.find_var("fc_0.w_0").get().numpy()
strongest = np.argsort(-np.linalg.norm(weights, axis=0))[:8]
figure, axes = plt.subplots(1, 8, figsize=(9, 1.4))
for axis, unit in zip(axes, strongest, strict=True):
    axis.imshow(weights[:, unit].reshape(8, 8), cmap="RdBu", vmin=-0.6, vmax=0.6)
    axis.set_axis_off()
plt.show()

# %% [markdown]
# ## Saving and resuming
#
# `static.save` writes the program and every value, with Adam's moments. Here new objects load them,
# and the next epoch has the same losses, bit for bit. Dropout's random numbers depend on the number
# of the run, so both epochs start with fresh executors.


# %%
def next_epoch(program, scope):
    executor = static.Executor()
    return [
        executor.run(program, feed, [loss.name], scope=scope)[0].tobytes() for feed in batches(99)
    ]


static.save(main, out / "digits", scope)
print(sorted(p.name for p in out.glob("digits.*")))
straight = next_epoch(main, scope)

again = static.Program.parse_from_string((out / "digits.pdmodel").read_bytes())
again.random_seed = 3
other = static.Scope()
static.load(again, out / "digits", scope=other)
assert next_epoch(again, other) == straight and len(set(straight)) > 1

# %% [markdown]
# An inference model is pruned to the operators between the images and the prediction. It needs no
# label, and contains neither the loss nor Adam.

# %%
static.save_inference_model(out / "model", ["image"], [guess], executor, main, scope=scope)
fresh = static.Scope()
model, feeds, fetches = static.load_inference_model(out / "model", executor, scope=fresh)
assert feeds == ["image"] and len(fresh.local_var_names()) == 4

shown = test[:10]
(probability,) = executor.run(model, {"image": images[shown]}, fetches, scope=fresh)
figure, axes = plt.subplots(1, 10, figsize=(9, 1.3))
for axis, row, p in zip(axes, shown, probability, strict=True):
    axis.imshow(images[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{p.argmax()}: {p.max():.0%}", fontsize=8)
    axis.set_axis_off()
plt.show()

# %% [markdown]
# A damaged file is refused before any of its content is used.

# %%
path = out / "model" / "__params__"
path.write_bytes(path.read_bytes()[:-1])
try:
    static.load_inference_model(out / "model", executor, scope=static.Scope())
    raise AssertionError("a truncated file was loaded")
except dygraph.errors.FormatError as error:
    print(str(error).replace(str(out), "..."))

# %% [markdown]
# ## A program as Python
#
# `to_code` writes Python code that describes a program; executing it gives a program with the same
# bytes. So a program can be reviewed, kept with the sources, and compared with the next version.

# %%
code = static.to_code(small, name="rebuilt")
names = {}
exec(code, names)
assert names["rebuilt"].serialize_to_string() == small.serialize_to_string()
print(*code.splitlines()[:14], sep="\n")

# %%
changed = names["rebuilt"]
for op in changed.global_block().ops:
    if op.type == "sgd":
        op.set_attr("op_device", "cpu")
changed.global_block().create_var(name="unused", shape=[2], dtype="int64")
print(static.diff(small, changed))

# %%
folder.cleanup()
assert not out.exists()
