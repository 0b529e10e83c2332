"""The `repr` of every public class: one line with the class and the arguments that matter."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import dygraph
from dygraph import callbacks, initializer, io, lr, metrics, optimizer, static

# Rooms whose classes never reach a user, and classes of which there are no objects to see.
INNER = ("dygraph.static.ways.", "dygraph.io.memory_pipe", "dygraph.libs")
NO_OBJECTS = {
    "OpRole": "numbers by name",
    "VarDesc": "holds VarType",
    "Hint": "a class attribute that raises",
    "OfObjects": "a class attribute as well",
    "InPrograms": "a part of the optimizers, whose own is taken",
}


def public_classes():
    found = {}
    for root in (dygraph, static):
        for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            if module.name.startswith(INNER) or module.name.endswith("__main__"):
                continue
            made = importlib.import_module(module.name)
            for name in getattr(made, "__all__", ()):
                value = getattr(made, name)
                if inspect.isclass(value):
                    found.setdefault(value, f"{module.name}.{name}")
    return found


def test_no_public_class_has_pythons_repr():
    classes = public_classes()
    assert len(classes) > 250
    plain = [name for kind, name in classes.items() if kind.__repr__ is object.__repr__]
    assert [n for n in plain if n.rpartition(".")[2] not in NO_OBJECTS] == []


def program():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        static.layers.relu(static.data("x", [None, 2], "float32"))
    return main


def weight():
    return dygraph.Parameter(np.ones(2, "float32"))


def traced():
    x = dygraph.to_variable([1.0], dtype="float32")
    return dygraph.jit.trace(dygraph.nn.ReLU(), [x])[1]


def filled_scope():
    scope = static.Scope()
    scope.var("w")
    return scope


def counted():
    metric = metrics.Precision()
    metric.update(np.array([0.9, 0.8]), np.array([1, 0]))
    return metric


DATA = io.TensorDataset([np.ones((4, 2), "float32")])

TABLE = {
    "SGD(learning_rate=0.1, 1 parameters)": lambda: optimizer.SGD(0.1, [weight()]),
    "SGD(learning_rate=StepDecay(learning_rate=0.5, step_size=3, epoch_num=0, last_lr=0.5), "
    "1 parameters)": lambda: optimizer.SGD(lr.StepDecay(0.5, 3), [weight()]),
    "SGD(learning_rate=0.5)": lambda: static.optimizer.SGD(0.5),
    "ExponentialMovingAverage(decay=0.5, parameters=1)":
        lambda: optimizer.ExponentialMovingAverage(0.5, parameter_list=[weight()]),
    "CosineDecay(learning_rate=0.5, step_each_epoch=2.0, epochs=9.0, step_num=0)":
        lambda: lr.CosineDecay(0.5, 2, 9),
    "CyclicLR(base_learning_rate=0.1, max_learning_rate=0.9, step_size_up=4.0, "
    "step_size_down=4.0, last_epoch=0, last_lr=0.1)": lambda: lr.CyclicLR(0.1, 0.9, 4),
    "Precision(tp=1, fp=1)": counted,
    "Precision(name='mine', tp=0, fp=0)": lambda: metrics.Precision("mine"),
    "EarlyStopping(monitor='eval_loss', patience=3)":
        lambda: callbacks.EarlyStopping("eval_loss", patience=3),
    "ModelCheckpoint(save_dir='runs', monitor='acc', mode='max')":
        lambda: callbacks.ModelCheckpoint("runs", monitor="acc", mode="max"),
    "LRScheduler(by_step=False)": lambda: callbacks.LRScheduler(False),
    "Progress(bar=False)": lambda: callbacks.Progress(False),
    "TensorDataset(tensors=[ndarray(shape=[4, 2], dtype=float32)])": lambda: DATA,
    "DataLoader(dataset=TensorDataset(tensors=[ndarray(shape=[4, 2], dtype=float32)]), "
    "batch_size=2, shuffle=True)": lambda: io.DataLoader(DATA, 2, True),
    "Normal(loc=0.5, scale=2.0)": lambda: initializer.Normal(0.5, 2.0),
    "Xavier(uniform=False)": lambda: initializer.Xavier(uniform=False),
    "ClipGradByGlobalNorm(clip_norm=2.0)": lambda: dygraph.nn.ClipGradByGlobalNorm(2.0),
    "ClipGradByValue(min=-1.0, max=1.0)": lambda: dygraph.nn.ClipGradByValue(1.0),
    "ParamAttr(name='w', learning_rate=0.5)":
        lambda: dygraph.ParamAttr(name="w", learning_rate=0.5),
    "L2Decay(0.5)": lambda: dygraph.regularizer.L2Decay(0.5),
    "Scope(1 variables: w)": filled_scope,
    "Executor()": lambda: static.Executor(),
}  # fmt: skip


@pytest.mark.parametrize("text", TABLE)
def test_what_it_says(text):
    assert repr(TABLE[text]()) == text


def test_one_line_of_bounded_length():
    long = io.Subset(range(10**5), list(range(1000)))
    assert repr(long) == "Subset(dataset=range(0, 100000), indices=[0, 1, ... 1000 in all])"
    for thing in (program(), traced(), dygraph.Model(dygraph.nn.Linear(2, 2)), filled_scope()):
        assert "object at 0x" not in repr(thing)


def test_a_subclass_shows_its_own_arguments():
    class Squares(io.Dataset):
        def __init__(self, count, power=2):
            self.count, self.power = count, power

    assert repr(Squares(3)) == "Squares(count=3)"
    assert repr(Squares(3, power=4)) == "Squares(count=3, power=4)"
