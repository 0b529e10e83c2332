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
# # On a GPU
#
# The same Variables, layers and loaders on a CUDA device: where values lie, what is asynchronous,
# what a step costs in waits and copies, mixed precision, and memory that other libraries share.
# `docs/cuda.md` has the rules.
#
# A machine without a GPU can run this notebook too. A source tree in which `make test` has run has
# a *pretended* CUDA: the backend compiled against a runtime that computes on the host. Its numbers
# are right, its times mean nothing. Without either, everything below computes on the host.

# %%
import pathlib

import numpy as np

import dygraph
from dygraph import amp, cuda, nn
from dygraph import ops as F

package = pathlib.Path(dygraph.__file__).resolve().parent
installed = package / "libs/libdygraph_cuda.so"
pretended = package.parent / "build/main/libs/pretend/libdygraph_cuda.so"
if not installed.exists() and pretended.exists():
    dygraph.set_flags({"FLAGS_cuda_library": str(pretended)})
dygraph.set_flags({"FLAGS_host_fallback": "quiet"})

on_gpu = cuda.is_available()
device = dygraph.set_device("gpu" if on_gpu else "cpu")
print("computing on", cuda.get_device_name() if on_gpu else "the host", "as", device)

# %% [markdown]
# ## Where values lie
#
# New Variables lie on the current place, and an operator computes where its inputs lie. If they lie
# on several, they are brought together.

# %%
x = dygraph.to_variable(np.arange(6.0).reshape(2, 3).astype("float32"))
y = x.cpu()
print(x.place, y.place, (x + y).place)
x

# %% [markdown]
# ## A training step
#
# Calls launch their work and return. Reading a value waits, so the losses are kept as Variables and
# read at the end. `counts` shows what moved.

# %%
rng = np.random.default_rng(0)
inputs = rng.normal(size=(256, 8)).astype("float32")
labels = inputs[:, :4].argmax(1)[:, None].astype("int64")


class Points(dygraph.io.Dataset):
    def __len__(self):
        return len(inputs)

    def __getitem__(self, i):
        return inputs[i], labels[i]


dygraph.seed(1)
net = nn.Sequential(nn.Linear(8, 32, act="relu"), nn.Linear(32, 4))
adam = dygraph.optimizer.Adam(0.01, parameter_list=net.parameters())
loader = dygraph.io.DataLoader(Points(), batch_size=64, shuffle=True, seed=1, places=device)


def train(epochs, precision=None, scaler=None):
    losses = []
    for _ in range(epochs):
        for batch, wanted in loader:
            with amp.auto_cast(enable=precision is not None, dtype=precision or "float16"):
                loss = F.softmax_with_cross_entropy(net(batch), wanted).mean()
            if scaler is None:
                loss.backward()
                adam.step()
            else:
                scaler.scale(loss).backward()
                scaler.step(adam)
                scaler.update()
            adam.clear_grad()
            losses.append(loss)
    return [loss.item() for loss in losses]


losses = train(5)
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} after 5 epochs")
assert losses[-1] < losses[0]
if on_gpu:
    print(cuda.counts())
    print("computed on the host:", cuda.fallbacks())

# %% [markdown]
# ## Mixed precision
#
# Products in float16 with a scaled loss; the parameters stay float32. On the host, where products
# have no float16, the block changes nothing.

# %%
scaler = amp.GradScaler(init_loss_scaling=1024.0)
losses = train(5, "float16", scaler)
print(f"loss {losses[-1]:.3f}, scaling {scaler.get_loss_scaling():.0f}")
with amp.auto_cast(dtype="float16"):
    print("a product has", (x @ x.T).dtype, "and its sum", (x @ x.T).sum().dtype)
assert {p.dtype.name for p in net.parameters()} == {"float32"}

# %% [markdown]
# ## Shared memory
#
# DLPack shows the memory of a Variable to CuPy, torch and others, and theirs to us, without a copy.
# A write to the Variable goes to a copy, so what the others see stays as it was.

# %%
print(x.__dlpack_device__())
shared = dygraph.from_dlpack(x)
x.fill_(7.0)
print(shared.tolist())
if on_gpu:
    print(sorted(shared.__cuda_array_interface__))
    print(cuda.memory_allocated(), "bytes in use")
shared

# %% [markdown]
# ## Back to the host

# %%
dygraph.set_device("cpu")
net.cpu()
print({p.place for p in net.parameters()})
