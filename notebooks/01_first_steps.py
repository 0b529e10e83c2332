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
# # First steps
#
# From a number with a gradient to a network that recognises handwritten digits and runs without its
# Python model. This text is the notebook's source; `jupytext --to ipynb 01_first_steps.py` makes
# the notebook.

# %%
import subprocess
import sys
import tempfile

import numpy as np

import dygraph

# %% [markdown]
# ## Variables compute at once
#
# `to_variable` takes a NumPy array and keeps its element type. Every operator runs when it is
# called: there is nothing to compile and nothing to evaluate later.

# %%
x = dygraph.to_variable(np.array([[1.0, 2.0], [3.0, 4.0]], "float32"))
y = dygraph.relu(x - 2.5)
y

# %% [markdown]
# ## Gradients
#
# A variable takes part in gradients when its `stop_gradient` is `False`. `backward()` goes back
# from a result and accumulates `grad` in each such variable.

# %%
x.stop_gradient = False
loss = (x * x).sum()
loss.backward()
assert np.array_equal(x.grad.numpy(), 2 * x.numpy())
x.grad

# %% [markdown]
# `create_graph=True` records the backward pass, so a gradient can be differentiated again.

# %%
z = dygraph.to_variable(np.array([0.5, 1.0, 2.0]))
z.stop_gradient = False
(first,) = dygraph.grad([dygraph.tanh(z).sum()], [z], create_graph=True)
(second,) = dygraph.grad([first.sum()], [z])
t = np.tanh(z.numpy())
assert np.allclose(second.numpy(), -2 * t * (1 - t * t))
second

# %% [markdown]
# ## A network
#
# The data are the 1,797 scanned digits of scikit-learn, 8 x 8 grey values each.

# %%
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[:, None]
labels = digits.target.astype("int64")[:, None]
train_images, test_images, train_labels, test_labels = train_test_split(
    images, labels, test_size=0.2, random_state=0, stratify=labels
)
train_images.shape, test_images.shape

# %%
from dygraph.nn import Conv2D, Linear, Pool2D  # noqa: E402


class Net(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.conv = Conv2D(num_channels=1, num_filters=16, filter_size=3, padding=1, act="relu")
        self.pool = Pool2D(pool_size=2, pool_type="max", pool_stride=2)
        self.hidden = Linear(16 * 4 * 4, 64, act="relu")
        self.output = Linear(64, 10)

    def forward(self, x):
        x = self.pool(self.conv(x))
        return self.output(self.hidden(x.reshape([-1, 256])))


# %% [markdown]
# `guard` sets the place and the seed for the code inside it and restores them afterwards, also
# after an error.

# %%
with dygraph.guard(seed=1):
    net = Net()
    optimizer = dygraph.optimizer.Adam(2e-3, parameter_list=net.parameters())
    rng = np.random.default_rng(0)
    for epoch in range(12):
        order = rng.permutation(len(train_images))
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            logits = net(dygraph.to_variable(train_images[rows]))
            target = dygraph.to_variable(train_labels[rows])
            loss = dygraph.ops.softmax_with_cross_entropy(logits, target).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
    print(f"last loss {float(loss):.4f}")

# %% [markdown]
# `eval()` puts a layer into prediction mode: its forward pass records nothing, so no values are
# kept.

# %%
net.eval()
logits = net(dygraph.to_variable(test_images))
accuracy = (logits.numpy().argmax(axis=1) == test_labels[:, 0]).mean()
print(f"test accuracy {accuracy:.3f}")
assert accuracy > 0.95

# %% [markdown]
# ## The program
#
# `trace` records the same calls as a program. It runs them at two batch sizes, so the batch size
# stays open. The saved model holds the program and its weights. A process without the class `Net`
# runs it, and the outputs are equal to the last bit.

# %%
folder = tempfile.mkdtemp()
expected, traced = dygraph.jit.trace(net, [dygraph.to_variable(test_images)])
traced.save_inference_model(folder)
np.save(f"{folder}/images.npy", test_images)

code = f"""
import numpy as np
from dygraph import static
executor = static.Executor(static.CPUPlace())
program, feeds, fetches = static.load_inference_model({folder!r}, executor)
images = np.load({folder!r} + "/images.npy")
(logits,) = executor.run(program, feed={{feeds[0]: images}}, fetch_list=fetches)
np.save({folder!r} + "/logits.npy", logits)
"""
subprocess.run([sys.executable, "-c", code], check=True)
assert np.load(f"{folder}/logits.npy").tobytes() == expected.numpy().tobytes()
print("bit-identical")
