"""Train two small models and write what the programs beside this file read.

To examples/out/deploy/: digits.dygraph with scans as .pgm images, opinions.dygraph with the words
that it knows. Takes some five seconds.

    python examples/deploy/train.py
    python examples/deploy/digits.py examples/out/deploy/7.pgm
"""

import itertools
import sys
import tempfile
from pathlib import Path

import numpy as np

import dygraph
from dygraph import inference, static
from dygraph.static import layers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from digits import LeNet, load_data  # noqa: E402

OUT = Path(__file__).resolve().parents[1] / "out" / "deploy"


def train_digits(rounds=12):
    """A LeNet on scanned digits; the file gives the probability of each digit."""
    images, tests, labels, answers = load_data()
    net = LeNet()
    adam = dygraph.optimizer.Adam(2e-3, parameter_list=net.parameters())
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        for rows in np.array_split(rng.permutation(len(images)), 23):
            scores = net(dygraph.to_variable(images[rows]))
            loss = dygraph.ops.softmax_with_cross_entropy(
                scores, dygraph.to_variable(labels[rows])
            ).mean()
            loss.backward()
            adam.minimize(loss)
            net.clear_gradients()
    net.eval()
    _, traced = dygraph.jit.trace(
        lambda x: dygraph.nn.functional.softmax(net(x)), [dygraph.to_variable(images[:2])]
    )
    with tempfile.TemporaryDirectory() as folder:
        traced.save_inference_model(folder)
        predictor = inference.Predictor(folder)
        predictor.save(OUT / "digits.dygraph")
    (guesses,) = predictor.run([tests])
    right = guesses.argmax(1) == answers[:, 0]
    print(f"digits right: {right.mean():.3f}")
    for digit in range(10):
        scan = tests[np.flatnonzero((answers[:, 0] == digit) & right)[0], 0]
        grey = np.round(scan * 16).astype("uint8")
        (OUT / f"{digit}.pgm").write_bytes(b"P5\n8 8\n16\n" + grey.tobytes())


def opinions():
    """Sentences, and whether each is praise: (words, 0 or 1)."""
    things, degrees = ["film", "music", "story", "end"], ["", "very", "rather"]
    words = {"good": 1, "lovely": 1, "clever": 1, "dull": 0, "bad": 0, "loud": 0}
    for thing, denied, degree, (word, praise) in itertools.product(
        things, ["was", "was not"], degrees, words.items()
    ):
        text = f"the {thing} {denied} {degree} {word}"
        yield text.split(), praise ^ (denied == "was not")


def batch(samples, numbers):
    """Sentences of different lengths as one column of words, and where each begins."""
    ids = [[numbers[word]] for words, _ in samples for word in words]
    offsets = np.cumsum([0] + [len(words) for words, _ in samples])
    value = dygraph.to_variable(np.array(ids, "int64"), lod=[offsets.tolist()])
    return {"words": value, "praise": np.array([[p] for _, p in samples], "int64")}


def train_opinions(rounds=60):
    """An LSTM on sentences of different lengths."""
    samples = list(opinions())
    vocabulary = sorted({word for words, _ in samples for word in words})
    numbers = {word: i for i, word in enumerate(vocabulary)}
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 1
    with static.program_guard(main, startup):
        words = static.data("words", [None, 1], "int64", lod_level=1)
        praise = static.data("praise", [None, 1], "int64")
        x = layers.fc(layers.embedding(words, [len(vocabulary), 16]), 4 * 16)
        state, _ = layers.dynamic_lstm(x, 4 * 16)
        answer = layers.fc(layers.sequence_last_step(state), 2, act="softmax")
        loss = layers.mean(layers.cross_entropy(answer, praise))
        static.optimizer.Adam(0.02).minimize(loss)
    executor, scope = static.Executor(), static.Scope()
    executor.run(startup, scope=scope)
    feed = batch(samples, numbers)
    for _ in range(rounds):
        (value,) = executor.run(main, feed, [loss], scope=scope)
    print(f"opinions, loss: {value.item():.4f}")
    with tempfile.TemporaryDirectory() as folder:
        static.save_inference_model(folder, ["words"], [answer], executor, main, scope=scope)
        inference.Predictor(folder).save(OUT / "opinions.dygraph")
    (OUT / "words.txt").write_text("\n".join(vocabulary) + "\n")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    with dygraph.guard(seed=0):
        train_digits()
    train_opinions()
