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
# # Layers and training
#
# This notebook builds a network, trains it, inspects it, saves it and resumes its training. The
# data are the digits of scikit-learn again; everything runs in well under a minute.

# %%
import pathlib
import tempfile

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from tqdm import tqdm

import dygraph
from dygraph import nn

folder = tempfile.TemporaryDirectory()
out = pathlib.Path(folder.name)

# %% [markdown]
# ## A custom layer
#
# A layer makes its parts in `__init__` and computes in `forward`. `parameters()` and `state_dict()`
# find all parameters, layers and buffers that are assigned to it. The block below adds its input to
# its result; a trained factor, small at first, scales the result.


# %%
class Residual(dygraph.Layer):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1))
        self.factor = self.create_parameter(
            [1], default_initializer=dygraph.initializer.Constant(0.1)
        )

    def forward(self, x):
        return x + self.body(x) * self.factor


# %% [markdown]
# Containers hold layers: `Sequential` calls them in order, `LayerList` and `LayerDict` leave the
# calls to you. Tab completion lists their names: try `net["`.


# %%
def make_net():
    return nn.Sequential(
        ("first", nn.Linear(64, 48, act="relu")),
        ("blocks", nn.Sequential(Residual(48), Residual(48))),
        ("head", nn.Linear(48, 10)),
    )


with dygraph.guard(seed=7):
    net = make_net()

# 64 * 48 + 48, twice 48 * 48 + 48 + 1, 48 * 10 + 10
assert sum(p.size for p in net.parameters()) == 3120 + 2 * 2353 + 490
net

# %% [markdown]
# A notebook shows a layer as a tree that unfolds. `summary` calls the layer once and lists the
# shapes inside; it records nothing and leaves the random state unchanged.

# %%
table = dygraph.summary(net, dygraph.to_variable(np.zeros((1, 64), "float32")))
assert table.parameters == 8316 and table.rows[-1].output == "[1, 10]"
table

# %% [markdown]
# ## Data
#
# A `DataLoader` gives batches as variables. Their order depends only on the loader's seed and the
# epoch.

# %%
digits = load_digits()
images = (digits.data / 8 - 1).astype("float32")
labels = digits.target.astype("int64")[:, None]
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1437], order[1437:]

data = dygraph.io.TensorDataset([images[train], labels[train]])


def make_loader():
    return dygraph.io.DataLoader(data, batch_size=64, shuffle=True, drop_last=True, seed=3)


x, y = next(iter(make_loader()))
assert x.shape == (64, 64) and y.shape == (64, 1)
x

# %% [markdown]
# ## Training
#
# A schedule sets the learning rate: it rises for half an epoch, then falls along a cosine. All
# state of the training is in four objects; one function makes them, so we can make them twice.

# %%
EPOCHS = 8
STEPS = len(make_loader())


def make_all():
    net = make_net()
    rate = dygraph.lr.LinearLrWarmup(
        dygraph.CosineDecay(3e-3, step_each_epoch=STEPS, epochs=EPOCHS), STEPS // 2, 0.0, 3e-3
    )
    clip = dygraph.nn.ClipGradByGlobalNorm(1.0)
    adam = dygraph.optimizer.Adam(rate, parameter_list=net, grad_clip=clip)
    return net, adam, make_loader()


with dygraph.guard(seed=7):
    net, adam, loader = make_all()
adam


# %%
def accuracy(net):
    metric = dygraph.metrics.Accuracy()
    net.eval()
    for start in range(0, len(test), 100):
        rows = test[start : start + 100]
        guess = net(dygraph.to_variable(images[rows])).numpy().argmax(axis=1)
        metric.update(value=(guess == labels[rows, 0]).mean(), weight=len(rows))
    net.train()
    return metric.eval()


def epoch(net, adam, loader, bar=None):
    losses = []
    for x, y in loader:
        loss = dygraph.ops.softmax_cross_entropy(net(x), y)
        loss.backward()
        adam.step()
        adam.clear_gradients()
        losses.append(float(loss))
        if bar is not None:
            bar.update()
            bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    return losses


# %%
losses, scores = [], []
with tqdm(total=EPOCHS * STEPS, desc="training") as bar:
    for _ in range(EPOCHS):
        losses += epoch(net, adam, loader, bar)
        scores.append(accuracy(net))
print(f"test accuracy {scores[-1]:.3f}")
assert losses[-1] < 0.3 < losses[0] and scores[-1] > 0.93

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
left.plot(losses)
left.set(xlabel="step", ylabel="loss", yscale="log")
right.plot(range(1, EPOCHS + 1), scores, marker="o")
right.set(xlabel="epoch", ylabel="test accuracy")
plt.show()

# %% [markdown]
# After these steps the optimizer has a state: two moments and two running powers for each
# parameter.

# %%
adam

# %% [markdown]
# ## Inspecting a network
#
# A forward hook receives the output of a layer. `retain_grads` keeps the gradient of an
# intermediate variable, which otherwise is freed after its last use.

# %%
seen = {}


def note(layer, inputs, output):
    output.retain_grads()
    seen["blocks"] = output


handle = net["blocks"].register_forward_post_hook(note)
x, y = next(iter(make_loader()))
loss = dygraph.ops.softmax_cross_entropy(net(x), y)
kept = dygraph.saved(loss)
picture = dygraph.draw(loss)
loss.backward()
handle.remove()

assert seen["blocks"].grad.shape == (64, 48)
seen["blocks"].grad

# %% [markdown]
# `draw` shows the tape of a result; `saved` lists the values that the tape keeps until `backward`
# has run.

# %%
assert any(node["kind"] == "leaf" for node in picture.nodes) and len(picture.edges) > 20
picture

# %%
assert kept.total > 0
kept

# %% [markdown]
# Where does a NaN come from? `detect_anomaly` stops at the first operator that makes one and names
# your line.

# %%
try:
    with dygraph.detect_anomaly():
        dygraph.log(dygraph.to_variable([1.0, -1.0]))
    raise AssertionError("a NaN went through")
except dygraph.errors.NonFiniteError as error:
    assert "log" in str(error)
    print(error)

# %% [markdown]
# Where does the time go?

# %%
with dygraph.profiler.Profiler() as profile:
    for x, y in list(make_loader())[:3]:
        with dygraph.profiler.RecordEvent("step"):
            dygraph.ops.softmax_cross_entropy(net(x), y).backward()
net.clear_gradients()
assert {"step", "matmul_v2"} <= {row.name for row in profile.summary()}
print(profile.table(rows=8))

# %% [markdown]
# After a failed cell, the traceback still refers to its variables. `dygraph.release()` clears the
# frames of the last error and drops variables from the output history. After `%load_ext dygraph`,
# the frames of an error that hold variables are cleared as soon as the cell has failed; errors of
# other libraries keep theirs for `%debug`.

# %%
seen.clear()
del loss, kept
print(dygraph.release(), "variables freed")

# %% [markdown]
# ## Saving and resuming
#
# A checkpoint holds the network, the optimizer with its schedule, the position of the loader and
# the random state. Training resumed from it gives the same bits as uninterrupted training. The
# proof: two epochs in one run, against one epoch, a file, new objects and one more epoch.

# %%
path = out / "last.ckpt"
with dygraph.guard(seed=11):
    net, adam, loader = make_all()
    first = epoch(net, adam, loader)
    dygraph.checkpoint.save(path, model=net, optimizer=adam, step=1, extra=loader.state_dict())
    second = epoch(net, adam, loader)
straight = {name: value.numpy() for name, value in net.state_dict().items()}

with dygraph.guard(seed=12345):  # another beginning
    net, adam, loader = make_all()
    found = dygraph.checkpoint.load(path, model=net, optimizer=adam)
    loader.set_state_dict(found.extra)
    again = epoch(net, adam, loader)

assert found.step == 1 and again == second
for name, value in net.state_dict().items():
    assert value.numpy().tobytes() == straight[name].tobytes(), name
found

# %% [markdown]
# ## Inference
#
# `eval()` switches dropout off, and a layer that is called in eval mode records nothing. A
# safetensors file holds the weights; other programs can read it too.

# %%
net.eval()
sample = dygraph.to_variable(images[test[:5]])
logits = net(sample)
assert logits.stop_gradient and logits.grad_fn is None
assert np.array_equal(net(sample).numpy(), logits.numpy())  # no dropout any more

dygraph.save(net.state_dict(), out / "weights.safetensors")
other = make_net()
other.set_state_dict(dygraph.load(out / "weights.safetensors"))
assert other.eval()(sample).numpy().tobytes() == logits.numpy().tobytes()
logits.numpy().argmax(axis=1), labels[test[:5], 0]

# %%
folder.cleanup()
assert not out.exists()
