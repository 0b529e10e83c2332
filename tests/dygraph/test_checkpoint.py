"""Checkpoints: training goes on as if it had not stopped; what does not fit is reported."""

import os
import random

import numpy as np
import pytest

import dygraph
from dygraph import checkpoint


class Net(dygraph.Layer):
    def __init__(self, width=4):
        super().__init__()
        self.fc = dygraph.nn.Linear(3, width)
        self.out = dygraph.nn.Linear(width, 1)

    def forward(self, x):
        return self.out(dygraph.ops.tanh(self.fc(x)))


class Schedule:
    """A schedule as an optimizer takes it: called for the rate, with a state of its own."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        return 0.1 / (1 + self.count)

    def state_dict(self):
        return {"count": self.count}

    def set_state_dict(self, state):
        self.count = state["count"]


def train(net, adam, schedule, steps):
    """Steps that use every kind of random numbers."""
    losses = []
    for _ in range(steps):
        x = np.random.rand(5, 3) + random.random()
        x = dygraph.to_variable(x.astype("float32"))
        noise = dygraph.ops.gaussian_random(shape=[5, 1])
        loss = ((net(x) - noise) * (net(x) - noise)).mean()
        loss.backward()
        adam.step()
        net.clear_gradients()
        schedule.count += 1
        losses.append(loss.item())
    return losses


def make(structured=False):
    net, schedule = Net(), Schedule()
    parameters = list(net.named_parameters()) if structured else net.parameters()
    return net, dygraph.optimizer.Adam(schedule, parameter_list=parameters), schedule


def test_files_have_the_names_of_the_structure(tmp_path):
    net, adam, schedule = make()
    train(net, adam, schedule, 1)
    assert net.fc.weight.name != "fc.weight"
    checkpoint.save(tmp_path / "x", net, adam)
    state = dygraph.load(tmp_path / "x")["optimizer"]
    assert {key.rpartition(".")[0] for key in state} - {""} == set(net.state_dict())


@pytest.mark.parametrize("structured", [False, True])
def test_training_goes_on_as_if_it_had_not_stopped(tmp_path, structured):
    path = tmp_path / "last.ckpt"
    random.seed(1), np.random.seed(2), dygraph.seed(3)
    net, adam, schedule = make()
    train(net, adam, schedule, 3)
    checkpoint.save(path, net, adam, schedule, step=3, extra={"best": 0.5, "seen": [1, 2]})
    expected = train(net, adam, schedule, 3)
    random.seed(4), np.random.seed(5), dygraph.seed(6)
    net, adam, schedule = make(structured)
    train(net, adam, schedule, 1)
    found = checkpoint.load(path, net, adam, schedule)
    assert found.step == 3 and found.extra == {"best": 0.5, "seen": [1, 2]}
    assert not found.report
    assert train(net, adam, schedule, 3) == expected
    assert os.listdir(tmp_path) == ["last.ckpt"]


def test_random_state_by_itself():
    random.seed(1), np.random.seed(2)
    np.random.randn(), random.gauss(0, 1)  # both keep a second number back
    state = checkpoint.random_state()
    first = np.random.randn(3), random.gauss(0, 1), random.random()
    checkpoint.set_random_state(state)
    again = np.random.randn(3), random.gauss(0, 1), random.random()
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1:] == again[1:]


@pytest.mark.parametrize(
    "path, value",
    [
        (["dygraph"], [1]),
        (["dygraph"], [-1, 0]),
        (["python", "version"], 9),
        (["python", "words"], np.zeros(3, "int64")),
        (["numpy", "key"], np.zeros(3, "int64")),
        (["numpy", "pos"], 700),
        (["numpy", "gauss"], "x"),
        (["numpy"], None),
    ],
)
def test_a_damaged_random_state_is_refused_and_nothing_set(path, value):
    damaged = state = checkpoint.random_state()
    for name in path[:-1]:
        state = state[name]
    state[path[-1]] = value
    first = checkpoint.random_state()
    with pytest.raises(dygraph.errors.FormatError, match="one of random_state"):
        checkpoint.set_random_state(damaged)
    second = checkpoint.random_state()
    assert first["dygraph"] == second["dygraph"]
    assert first["python"]["words"].tolist() == second["python"]["words"].tolist()
    np.testing.assert_array_equal(first["numpy"]["key"], second["numpy"]["key"])


class Renamed(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.fc1 = dygraph.nn.Linear(3, 4)
        self.out = dygraph.nn.Linear(4, 2)


def test_names_that_do_not_agree_are_reported_with_near_ones(tmp_path):
    path = tmp_path / "x"
    checkpoint.save(path, model=Net())
    other = Renamed()
    before = other.out.bias.numpy()
    with pytest.raises(ValueError) as error:
        checkpoint.load(path, model=other)
    text = str(error.value)
    assert "'fc1.weight' is missing. Did you mean 'fc.weight'?" in text
    assert "'fc.bias' is not expected. Did you mean 'fc1.bias'?" in text
    assert "'out.weight': must have shape [4, 2], got [4, 1]" in text
    np.testing.assert_array_equal(other.out.bias.numpy(), before)
    report = checkpoint.load(path, model=other, strict=False).report
    assert report.missing == ["fc1.weight", "fc1.bias"]
    assert set(report.unexpected) == {"fc.weight", "fc.bias"}
    assert set(report.mismatched) == {"out.weight", "out.bias"}
    assert report.nearest["fc1.bias"][0] == "fc.bias"


def test_nothing_is_written_to_a_model_if_another_part_is_missing(tmp_path):
    path = tmp_path / "x"
    net, adam, schedule = make()
    checkpoint.save(path, model=net)
    other = Net()
    before = other.fc.weight.numpy()
    with pytest.raises(ValueError, match="must hold the state of the optimizer, got none"):
        checkpoint.load(path, other, adam)
    np.testing.assert_array_equal(other.fc.weight.numpy(), before)


def test_what_is_no_checkpoint(tmp_path):
    path = tmp_path / "x"
    dygraph.save({"a": np.zeros(2)}, path)
    with pytest.raises(dygraph.errors.FormatError, match="must be a checkpoint of dygraph"):
        checkpoint.load(path)
    dygraph.save({"version": 99}, path)
    with pytest.raises(dygraph.errors.FormatError, match="of version 1, got 99"):
        checkpoint.load(path)
    with pytest.raises(TypeError, match="model must have state_dict.., got int 3"):
        checkpoint.save(path, model=3)
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path / "none")
