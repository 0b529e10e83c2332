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
# # Sequences without padding
#
# Sentences, melodies and measurements have different lengths. Here, a batch of sequences is one
# variable without padding: it holds the concatenated rows of all sequences, and the offset at which
# each begins. This notebook shows such batches, operators on them, recurrent layers, a recurrent
# network in a program, and beam search. Everything runs in seconds.

# %%
import itertools

import numpy as np
from matplotlib import pyplot as plt

import dygraph
import dygraph.ops as F
from dygraph import nn, static
from dygraph.static import layers

# %% [markdown]
# ## Level of detail
#
# The batch has three sequences of 2, 1 and 3 rows. `lod` holds the offset at which each begins, and
# the end.

# %%
rows = np.array([[1], [2], [3], [4], [5], [6]], "float32")
batch = dygraph.to_variable(rows, lod=[[0, 2, 3, 6]])
assert batch.lod() == [[0, 2, 3, 6]] and batch.recursive_sequence_lengths() == [[2, 1, 3]]
batch

# %% [markdown]
# Operators that keep the rows keep the offsets. Sequence operators work within each sequence. No
# padding has to be masked.

# %%
assert (batch * 2 + 1).lod() == batch.lod()
assert F.sequence_pool(batch, "SUM").numpy().ravel().tolist() == [3, 3, 15]
assert F.sequence_reverse(batch).numpy().ravel().tolist() == [2, 1, 3, 6, 5, 4]
shares = F.sequence_softmax(batch)
np.testing.assert_allclose(F.sequence_pool(shares, "SUM").numpy(), 1, rtol=1e-6)
shares

# %% [markdown]
# `sequence_expand` repeats a row for each row of a sequence. A decoder needs this if it reads its
# sentence in every step. All these operators have gradients.

# %%
sentence = dygraph.to_variable(np.array([[10], [20], [30]], "float32"))
sentence.stop_gradient = False
seen = layers.sequence_expand(sentence, batch)
(seen * batch).sum().backward()
assert seen.numpy().ravel().tolist() == [10, 10, 20, 30, 30, 30]
assert sentence.gradient().ravel().tolist() == [3, 3, 15]
seen

# %% [markdown]
# `sequence_pad` and `sequence_unpad` convert to padded tensors and back.

# %%
padded, lengths = layers.sequence_pad(batch, dygraph.zeros([1]))
assert padded.shape == (3, 3, 1) and lengths.tolist() == [2, 1, 3]
assert np.array_equal(layers.sequence_unpad(padded, lengths).numpy(), rows)
padded

# %% [markdown]
# ## Ragged batches from data
#
# A `DataLoader` makes ragged batches from samples; `ragged` lists the fields that are sequences. In
# this example, a network learns to add a few numbers.

# %%
rng = np.random.default_rng(0)


def sample():
    numbers = rng.uniform(-1, 1, rng.integers(2, 12)).astype("float32")
    return numbers[:, None], numbers.sum(keepdims=True)


samples = [sample() for _ in range(640)]
loader = dygraph.io.DataLoader(samples[:512], batch_size=32, shuffle=True, ragged=[0], seed=1)
x, y = next(iter(loader))
assert len(x.lod()[0]) == 33 and x.shape[0] == x.lod()[0][-1] and y.shape == (32, 1)
x

# %% [markdown]
# ## Recurrent layers
#
# `nn.GRU`, `nn.LSTM` and `nn.SimpleRNN` accept ragged batches. The result for each sequence equals
# the result for that sequence alone.

# %%
with dygraph.guard(seed=3):
    gru = nn.GRU(1, 8, time_major=False)
outputs, last = gru(x)
assert outputs.lod() == x.lod() and last.shape == (1, 32, 8)
offsets = x.lod()[0]
for k, (begin, end) in enumerate(itertools.pairwise(offsets)):
    alone, _ = gru(dygraph.to_variable(x.numpy()[None, begin:end]))
    np.testing.assert_allclose(outputs.numpy()[begin:end], alone.numpy()[0], atol=1e-6)
outputs

# %% [markdown]
# `nn.RNN` runs a cell that you define. It sorts the sequences by length, longest first, and each
# step computes on the sequences that are long enough. `lod_rank_table` holds the order,
# `lod_tensor_to_array` gives the rows of each step.

# %%
table = layers.lod_rank_table(x)
steps = layers.lod_tensor_to_array(x, table)
alive = [step.shape[0] for step in steps]
counts = np.diff(offsets)
assert alive == [(counts > t).sum() for t in range(counts.max())] and sum(alive) == len(x.numpy())

figure, axis = plt.subplots(figsize=(9, 2.5))
axis.bar(range(1, len(alive) + 1), alive)
axis.axhline(32, color="grey", linewidth=1)
axis.set(xlabel="step", ylabel="sequences")
axis.set_title(f"{sum(alive)} rows; padded it would be {32 * len(alive)}", fontsize=9)
plt.show()


# %%
class Cell(nn.Layer):
    """h = tanh(x W + h U + b); the output is h."""

    def __init__(self, width, hidden):
        super().__init__()
        self.of_input, self.of_state = nn.Linear(width, hidden), nn.Linear(hidden, hidden)

    def forward(self, x, h):
        h = dygraph.tanh(self.of_input(x) + self.of_state(h))
        return h, h


class Reader(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.RNN(Cell(1, 16)), nn.Linear(16, 1)

    def forward(self, x):
        first = dygraph.zeros([len(x.lod()[0]) - 1, 16])
        _, last = self.rnn(x, first)
        return self.head(last)


with dygraph.guard(seed=3):
    reader = Reader()
    adam = dygraph.optimizer.Adam(1e-2, parameter_list=reader.parameters())
losses = []
for _ in range(12):
    for x, y in loader:
        loss = ((reader(x) - y) ** 2).mean()
        loss.backward()
        adam.step()
        adam.clear_gradients()
        losses.append(loss.item())
assert np.mean(losses[-16:]) < 0.1 * np.mean(losses[:4])
loss

# %% [markdown]
# ## Attention
#
# Attention takes ragged batches, too: each row sees the rows of its own sequence; no mask has to
# hide padding. `nn.MultiHeadAttention` and the layers of the Transformer return the rows and the
# offsets of the query. With `is_causal=True` a row sees itself and earlier rows only.

# %%
with dygraph.guard(seed=3):
    embed = nn.Linear(1, 8)
    encoder = nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16, dropout=0.0)
places = F.add_position_encoding(embed(x), alpha=1.0, beta=1.0)  # counted within each sequence
encoded = encoder(places)
assert encoded.lod() == x.lod() and encoded.shape == (x.shape[0], 8)
offsets = x.lod()[0]
for begin, end in itertools.pairwise(offsets):
    alone = encoder(dygraph.to_variable(places.numpy()[None, begin:end]))
    np.testing.assert_allclose(encoded.numpy()[begin:end], alone.numpy()[0], atol=1e-5)
encoded

# %% [markdown]
# Queries and keys may have different lengths; they need as many sequences. Here each sentence asks
# its own memory. The scores computed are those of real rows: nothing is spent on padding.

# %%
with dygraph.guard(seed=3):
    decoder = nn.TransformerDecoderLayer(8, nhead=2, dim_feedforward=16, dropout=0.0)
words = dygraph.to_variable(np.ones((3 * 32, 8), "float32"), lod=[list(range(0, 97, 3))])
answers = decoder(words, memory=encoded, tgt_is_causal=True)
assert answers.lod() == words.lod()

counts = np.diff(offsets)
figure, axis = plt.subplots(figsize=(9, 2.5))
axis.bar(range(32), counts**2)
axis.axhline(counts.max() ** 2, color="grey", linewidth=1)
axis.set(xlabel="sequence", ylabel="scores")
axis.set_title(
    f"{(counts**2).sum()} scores; padded it would be {32 * counts.max() ** 2}", fontsize=9
)
plt.show()

# %% [markdown]
# ## Rows stay rows
#
# Columns, reshapes of inner axes, products with weights, comparisons and sums along a row keep the
# offsets. Where rows are reordered, left out or mixed, the result has none. Two ragged batches that
# cut the same rows differently do not fit, which is an error.

# %%
kept = [encoded[:, 1:3], encoded.reshape([-1, 2, 4]), 1 - encoded, encoded > 0, encoded.sum(1)]
lost = [encoded[1:], encoded.reshape([-1]), encoded.cumsum(0), encoded.sum(0)]
assert all(v.lod() == x.lod() for v in kept) and not any(v.lod() for v in lost)
halves = dygraph.to_variable(np.ones((4, 1), "float32"), lod=[[0, 2, 4]])
uneven = dygraph.to_variable(np.ones((4, 1), "float32"), lod=[[0, 1, 4]])
try:
    halves + uneven
except ValueError as error:
    print(error)

# %% [markdown]
# ## A recurrent network in a program
#
# `DynamicRNN` describes one step, and the program holds the loop. All steps share variables that
# are not sequences, such as weights; a `memory` passes its value from one step to the next.

# %%
main, startup = static.Program(), static.Program()
main.random_seed = startup.random_seed = 3
with static.program_guard(main, startup):
    numbers = static.data("numbers", [None, 1], lod_level=1)
    target = static.data("target", [None, 1])
    rnn = layers.DynamicRNN()
    with rnn.block():
        now = rnn.step_input(numbers)
        before = rnn.memory(shape=[16], value=0.0)
        after = layers.fc([now, before], size=16, act="tanh")
        rnn.update_memory(before, after)
        rnn.output(after)
    guess = layers.fc(layers.sequence_last_step(rnn()), size=1)
    described_loss = layers.mean((guess - target) ** 2)
    static.optimizer.Adam(1e-2).minimize(described_loss)

kinds = [op.type for op in main.global_block().ops]
assert kinds.count("while") == kinds.count("while_grad") == 1
main

# %%
executor, scope = static.Executor(), static.Scope()
executor.run(startup, scope=scope)
described = []
for _ in range(12):
    for x, y in loader:
        feed = {"numbers": x, "target": y}
        described.append(executor.run(main, feed, [described_loss], scope=scope)[0].item())
assert np.mean(described[-16:]) < 0.1 * np.mean(described[:4])

figure, axis = plt.subplots(figsize=(9, 2.5))
axis.plot(losses, label="nn.RNN, eager")
axis.plot(described, label="DynamicRNN, program")
axis.set(xlabel="step", ylabel="loss", yscale="log")
axis.legend()
plt.show()

# %% [markdown]
# The trained network predicts the sums of sequences outside the training set. For prediction, the
# program is cloned without backward and update; `use_prune` leaves out the loss, which needs the
# targets.

# %%
testing = main.clone(for_test=True)
held_out = dygraph.io.DataLoader(samples[512:], batch_size=128, ragged=[0])
((x, y),) = held_out
(answer,) = executor.run(testing, {"numbers": x}, [guess], scope=scope, use_prune=True)
figure, axis = plt.subplots(figsize=(3, 3))
axis.scatter(y.numpy(), answer, s=8)
axis.set(xlabel="sum", ylabel="answer")
plt.show()
assert np.corrcoef(y.numpy().ravel(), answer.ravel())[0, 1] > 0.9

# %% [markdown]
# ## Beam search
#
# A network that generates text gives a probability for each next word. The most probable word may
# lead to improbable ones, so beam search follows several partial sentences at once. In this example
# a table gives the probabilities; word 0 begins a sentence, word 1 ends it.

# %%
WORDS, BEGIN, END, BEAMS, LONGEST = 6, 0, 1, 4, 4
chances = np.random.default_rng(11).dirichlet(np.full(WORDS, 0.5), WORDS).astype("float32")
chances[:, BEGIN] = 1e-6
logits = np.log(chances)


class Follows(layers.RNNCell):
    """The next word depends on the last word only, so the state is unused."""

    def call(self, inputs, states):
        return inputs, states


def table_of(ids):
    rows = layers.gather(layers.assign(logits), layers.reshape(ids, [-1]))
    return layers.reshape(rows, [-1, *[BEAMS] * (len(ids.shape) - 1), WORDS])


writer = static.Program()
with static.program_guard(writer, static.Program()):
    state = static.data("state", [None, 1])
    decoder = layers.BeamSearchDecoder(Follows(), BEGIN, END, BEAMS, table_of, lambda x: x)
    ids, final = layers.dynamic_decode(decoder, state, max_step_num=LONGEST - 1)
found, scores = static.Executor().run(
    writer, {"state": np.zeros((1, 1), "float32")}, [ids, final.log_probs]
)
found.shape, scores

# %% [markdown]
# With so few words all sentences can be scored. The best ones are those that beam search found.

# %%
log = logits - np.log(np.exp(logits).sum(1, keepdims=True))


def score(words):
    return sum(log[a, b] for a, b in itertools.pairwise([BEGIN, *words]))


everything = [
    words
    for length in range(1, LONGEST + 1)
    for words in itertools.product(range(WORDS), repeat=length)
    if END not in words[:-1] and (words[-1] == END or length == LONGEST)
]
everything.sort(key=score, reverse=True)
for k in range(BEAMS):
    words = found[0, :, k].tolist()
    words = words[: words.index(END) + 1] if END in words else words
    print(f"{np.exp(scores[0, k]):.3f}  {words}   all tried: {list(everything[k])}")
    np.testing.assert_allclose(scores[0, k], score(words), rtol=1e-4)
best = found[0, :, 0].tolist()
best = best[: best.index(END) + 1] if END in best else best
assert best == list(everything[0])

# %% [markdown]
# In translation programs, `beam_search` selects words in each iteration of a `While` over ragged
# beams, and `beam_search_decode` reads the sentences from the arrays.
# `tests/documents/test_machine_translation.py` trains a translator and decodes with it.
