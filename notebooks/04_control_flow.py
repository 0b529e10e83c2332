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
# # Control flow
#
# A program can contain branches and loops. This notebook writes them by hand and trains through a
# loop. Then `to_static` captures ordinary Python as such programs, and proves each one or refuses
# it with the reason. The last example is a network that uses its deeper layers only if its first
# guess is uncertain. Everything runs in seconds.

# %%
import pathlib
import tempfile

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import dygraph
from dygraph import jit, nn, static
from dygraph.static import layers

folder = tempfile.TemporaryDirectory()
out = pathlib.Path(folder.name)


def variable(*numbers, dtype="float32"):
    return dygraph.to_variable(np.array(numbers, dtype))


variable(1, 2, 3)

# %% [markdown]
# ## Describing branches and loops
#
# `cond` takes two functions and describes each as a block of the program. `while_loop` describes
# one iteration. The example is the `3n + 1` problem: how many steps does it take to reach 1?


# %%
def step(n, steps):
    return layers.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), steps + 1


def counted(n):
    return layers.while_loop(lambda n, steps: n > 1, step, [n, n * 0])[1]


collatz = static.Program()
with static.program_guard(collatz):
    steps = counted(static.data("n", [1], "int64"))

executor = static.Executor()
numbers = np.arange(1, 120)
took = [executor.run(collatz, {"n": numbers[k : k + 1]}, [steps])[0].item() for k in range(119)]
assert took[:6] == [0, 1, 7, 2, 5, 8] and took[26] == 111  # 27 takes 111

figure, axis = plt.subplots(figsize=(9, 2.5))
axis.bar(numbers, took)
axis.set(xlabel="n", ylabel="steps")
plt.show()

# %% [markdown]
# The loop is an operator with its own block, and the branch is two operators in that block. A block
# reads the variables of the enclosing blocks; values that it writes to them remain after it ends.

# %%
assert [block.parent_idx for block in collatz.blocks] == [-1, 0, 1, 1]
collatz

# %%
static.draw_graph(collatz, path=None)

# %% [markdown]
# With variables that have values, the same function runs eagerly.

# %%
assert counted(variable(27, dtype="int64")).item() == 111

# %% [markdown]
# ## Gradients of loops
#
# Newton's method finds the square root of `a`; the number of iterations depends on `a`. `gradients`
# differentiates through the iterations that ran, and agrees with calculus: 1 / (2 sqrt(a)).


# %%
def newton(a):
    def too_far(y):
        return dygraph.abs(y * y - a) > a * 1e-6

    return layers.while_loop(too_far, lambda y: [(y + a / y) / 2], [a * 1])[0]


roots = static.Program()
with static.program_guard(roots):
    a = static.data("a", [1], "float64")
    a.stop_gradient = False
    y = newton(a)
    (slope,) = static.gradients(y, a)

for value in (0.25, 2.0, 900.0):
    root, derivative = executor.run(roots, {"a": np.array([value])}, [y, slope])
    print(f"{value:6} {root.item():10.6f} {derivative.item():10.6f}")
    np.testing.assert_allclose(root, value**0.5, rtol=1e-6)
    np.testing.assert_allclose(derivative, 0.5 / value**0.5, rtol=1e-3)

# %% [markdown]
# The gradients have the same bits as those of the eager loop.

# %%
eager = dygraph.to_variable(np.array([900.0]))
eager.stop_gradient = False
newton(eager).backward()
assert eager.gradient().tobytes() == derivative.tobytes()
eager.grad

# %% [markdown]
# ## Programs from Python
#
# `to_static` takes ordinary `if` and `while` statements in place of `cond` and `while_loop`. It
# runs a function once for each path through it, on variables without values. Paths join where they
# differ only in Variables. A loop becomes a loop of the program if the state after an iteration
# equals the state before it, except for Variables and numbers.


# %%
@jit.to_static
def reduced(x):
    """Reduce a large `x` below 1; the number of iterations with a label."""
    if x.abs().max() < 1:
        return x, "iterations", 0
    iterations = 0
    while True:
        x = x / 2 if x.min() < 0 else x - 1
        iterations += 1
        if x.abs().max() < 1:
            break
    return x, "iterations", iterations


for row in ([0.5, 0.25], [-3.0, 9.0], [7.5, 7.0]):
    small, text, iterations = reduced(variable(*row))
    print(row, small.numpy(), text, iterations)
    again, _, counted_eagerly = reduced.captured_function(variable(*row))
    assert small.numpy().tobytes() == again.numpy().tobytes() and iterations == counted_eagerly

# %% [markdown]
# A call runs an *entry*: a program, the lines at which it branches, and its proof. Before the first
# use, the program is compared with the function itself, bit for bit, at several batch sizes.

# %%
entry = reduced.entry(variable(-3, 9))
print(*entry.questions, sep="\n")
print(entry.proof)
assert len(entry.questions) == 3 and entry.proof.compared > 0
entry.program

# %% [markdown]
# Sizes are open: a loop over the rows is a loop of the program, and a list that grows in the loop
# is a tensor array.


# %%
@jit.to_static
def running_mean(x):
    total, means = x[0] * 0, []
    for i, row in enumerate(x):
        total = total + row
        means.append(total / (i + 1))
    return dygraph.stack(means)


for rows in (1, 4, 50):
    x = np.random.default_rng(rows).standard_normal((rows, 2)).astype("float32")
    wanted = np.cumsum(x, 0) / np.arange(1, rows + 1)[:, None]
    np.testing.assert_allclose(running_mean(dygraph.to_variable(x)).numpy(), wanted, atol=1e-5)
running_mean(dygraph.to_variable(x))[-1]

# %% [markdown]
# ## What is refused
#
# If no program would give the right results, the function is refused. The message gives the line
# and usually the code to write instead.

# %%
COUNT = 0


def reads_a_value(x):
    return x * float(x.sum().numpy())


def changes_a_string(x):
    state = "begin"
    while x.sum() < 9:
        x = x + (1 if state == "begin" else 2)
        state = "go on"
    return x


def changes_a_global(x):
    global COUNT
    COUNT += 1
    return x * COUNT


def recursive(x):
    return x if x.sum() > 9 else recursive(x + 1)


def uneven(x):
    return (x, x) if x.sum() > 9 else x


for function in (reads_a_value, changes_a_string, changes_a_global, recursive, uneven):
    try:
        jit.to_static(function)(variable(1, 2))
        raise AssertionError(f"{function.__name__} was captured")
    except RuntimeError as error:
        print(error, end="\n\n")
assert COUNT == 0

# %% [markdown]
# A function may raise errors of its own. Its program raises the same error where Python would.


# %%
@jit.to_static
def logarithm(x):
    if x.min() <= 0:
        raise ValueError("a logarithm needs numbers above 0")
    return dygraph.log(x)


assert logarithm(variable(1, 1)).tolist() == [0, 0]
try:
    logarithm(variable(1, -1))
    raise AssertionError("the logarithm of -1")
except ValueError as error:
    print(type(error).__name__, error)

# %% [markdown]
# ## A network that stops when it is certain
#
# The network classifies a digit from one hidden layer. If that guess is uncertain, it runs three
# more layers. Both guesses are trained.


# %%
class EarlyExit(nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden, self.early = nn.Linear(64, 24, act="tanh"), nn.Linear(24, 10)
        self.deeper = nn.LayerList([nn.Linear(24, 24, act="relu") for _ in range(3)])
        self.final, self.threshold = nn.Linear(24, 10), 0.9

    def deep_logits(self, h):
        for layer in self.deeper:
            h = h + layer(h)
        return self.final(h)

    def forward(self, x):
        h = self.hidden(x)
        probability = dygraph.ops.softmax(self.early(h))
        if probability.max() > self.threshold:
            return probability
        return dygraph.ops.softmax(self.deep_logits(h))


digits = load_digits()
images = (digits.data / 8 - 1).astype("float32")
labels = digits.target.astype("int64")[:, None]
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1437], order[1437:]

with dygraph.guard(seed=7):
    net = EarlyExit()
adam = dygraph.optimizer.Adam(3e-3, parameter_list=net.parameters())
cross_entropy = nn.CrossEntropyLoss()
for epoch in range(8):
    rows = np.random.default_rng(epoch).permutation(train)
    for start in range(0, len(rows) - 63, 64):
        now = rows[start : start + 64]
        h, y = net.hidden(dygraph.to_variable(images[now])), dygraph.to_variable(labels[now])
        loss = cross_entropy(net.early(h), y) + cross_entropy(net.deep_logits(h), y)
        loss.backward()
        adam.step()
        adam.clear_gradients()
net.eval()
loss

# %% [markdown]
# The saved program runs without the class, and its results have the same bits as the layer's.

# %%
captured = jit.to_static(net)
first = dygraph.to_variable(images[test[:1]])
captured.save(out / "early_exit", first)
loaded = jit.load(out / "early_exit")

correct, early = 0, 0
for index in test:
    x = dygraph.to_variable(images[index : index + 1])
    probability = loaded(x).numpy()
    assert probability.tobytes() == net(x).numpy().tobytes() == captured(x).numpy().tobytes()
    correct += int(probability.argmax() == labels[index, 0])
    early += int(dygraph.ops.softmax(net.early(net.hidden(x))).max().item() > net.threshold)
print(f"accuracy {correct / len(test):.3f}, early exits {early / len(test):.0%}")
assert correct / len(test) > 0.93 and 0.2 < early / len(test) < 1

# %% [markdown]
# Attributes that the function reads are checked before each call. With a threshold that no
# probability reaches, the network always runs all its layers.

# %%
net.threshold = 2.0
h = net.hidden(first)
always = dygraph.ops.softmax(net.deep_logits(h))
assert captured(first).numpy().tobytes() == always.numpy().tobytes()
always

# %%
folder.cleanup()
assert not out.exists()
