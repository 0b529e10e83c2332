"""The benchmarks' descriptions: sizes of networks, work, our side of them, kept tables."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dygraph

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


networks = load("networks")


def answers(benchmark, questions):
    """What a worker of our side answers."""
    # The library under test, and the scripts' own folder: PYTHONSAFEPATH may keep it off the path.
    package = Path(dygraph.__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), str(package)])}
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{benchmark}.py"), "--worker", "ours"],
        input="".join(json.dumps(question) + "\n" for question in questions),
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(questions)
    assert not [answer["error"] for answer in found if "error" in answer]
    return found


@pytest.mark.parametrize(
    "make, count",
    [
        (networks.mlp, 785 * 256 + 257 * 256 + 257 * 10),
        (networks.lenet, 61_706),  # LeCun's, all maps of the second convolution connected
        (networks.resnet18, 11_173_962),
        (networks.resnet50, 25_557_032),
        (networks.transformer, 4 * 789_760 + 2_570),
        (networks.bert_base, 30_522 * 768 + 12 * 7_087_872),
        (networks.sparse_embedding, 200_000 * 64 + 650),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_parameters(make, count):
    network = make()
    weights = networks.starting_weights(network.layers)
    assert sum(w.size for layer in weights for w in layer) == count
    if make is not networks.sparse_embedding:
        assert networks.walk(network.layers, networks.Work(shape=network.input)).parameters == count


def test_work_of_the_mlp():
    """The gradient of the images is left out; SGD has no states."""
    products = 64 * (2 * 784 * 256 + 3 * 256 * 256 + 3 * 256 * 10)
    numbers = 4 * (785 * 256 + 257 * 256 + 257 * 10) + 2 * 64 * (256 + 256 + 10)
    assert networks.work(networks.mlp()) == (2 * products, 4 * numbers)


@pytest.mark.parametrize(
    "make, billions",  # multiplications with additions of one image's forward pass
    [(networks.resnet18, 0.5554), (networks.resnet50, 4.089)],
    ids=["resnet18", "resnet50"],
)
def test_products_of_residual_networks(make, billions):
    network = make()
    done = networks.walk(network.layers, networks.Work(shape=network.input))
    assert done.products / network.input[0] / 1e9 == pytest.approx(billions, abs=2e-3)


def test_lengths_of_sequences():
    lengths = networks.ragged_lstm().lengths
    assert (min(lengths), max(lengths), len(set(lengths))) == (5, 200, 32)


def losses_of_the_mlp(steps):
    network = networks.mlp()
    images, labels = networks.data(network)
    images = images.astype("float64")
    (w1, b1), (w2, b2), (w3, b3) = (
        [w.astype("float64") for w in layer] for layer in networks.starting_weights(network.layers)
    )
    found = []
    for _ in range(steps):
        first = np.maximum(images @ w1 + b1, 0)
        second = np.maximum(first @ w2 + b2, 0)
        scores = second @ w3 + b3
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        found.append(-np.log(shares[np.arange(64), labels]).mean())
        d3 = (shares - np.eye(10)[labels]) / 64
        d2 = (d3 @ w3.T) * (second > 0)
        d1 = (d2 @ w2.T) * (first > 0)
        for w, b, x, d in ((w1, b1, images, d1), (w2, b2, first, d2), (w3, b3, second, d3)):
            w -= 0.1 * x.T @ d
            b -= 0.1 * d.sum(0)
    return found


def test_our_side_trains_what_is_described():
    case = next(iter(networks.NETWORKS))
    (answer,) = answers("train", [{"case": case, "number": 4, "warm": 0}])
    np.testing.assert_allclose(answer["value"], losses_of_the_mlp(4), rtol=1e-5)


def test_calls_of_operators():
    """Each gives finite numbers on our side, forward and backward, at the small size."""
    names = list(load("operator_calls").CALLS)
    assert len(names) >= 60
    questions = [
        {"case": f"{name}; small, {direction}", "number": 0, "warm": 0}
        for name, call in load("operator_calls").CALLS.items()
        for direction in ("forward", "backward")[: 1 + call.backward]
    ]
    for question, answer in zip(questions, answers("operators", questions), strict=True):
        assert answer["value"] and np.isfinite(answer["value"]).all(), question["case"]


def test_rows_that_were_not_measured_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("DYGRAPH_BENCH_RESULTS", str(tmp_path))
    report = load("report")
    for rows in ([("b", 2.0), ("a", 1.0)], [("a", 3.0)]):
        table = report.Report("some", "Some rows", ["more"], order=["a", "b", "c"])
        for what, ours in rows:
            table.add(what, ours, 2 * ours, share=0.5, more={"more": f"more {ours}"})
        table.finish()
    kept = json.loads((tmp_path / "some.json").read_text())["rows"]
    assert [(row["what"], row["ours"], row["met"]) for row in kept] == [
        ("a", 3.0, True),
        ("b", 2.0, True),
    ]
    assert "| a    | 0.5 x torch | 3 s  | 6 s   | 0.50  | yes | more 3.0 |" in (
        tmp_path / "some.md"
    ).read_text()  # fmt: skip
