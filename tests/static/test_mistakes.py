"""Misuse of programs, executors and scopes: each answered by a typed error that says what to do."""

import copy
import pickle
import threading

import numpy as np
import pytest

import described
import dygraph
from dygraph import static
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    DygraphError,
    FormatError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PreconditionNotMetError,
)
from dygraph.static import layers


class Net:
    """A linear layer described, and what it is fed."""

    def __init__(self, started=True):
        self.main, self.startup = static.Program(), static.Program()
        with dygraph.unique_name.guard(), static.program_guard(self.main, self.startup):
            self.x = static.data("x", [None, 3])
            self.y = layers.fc(self.x, 2)
            self.loss = layers.mean(self.y)
        self.block = self.main.global_block()
        self.scope, self.executor = static.Scope(), static.Executor()
        self.feed = {"x": np.ones((2, 3), "float32")}
        if started:
            self.executor.run(self.startup, scope=self.scope)

    def run(self, feed=None, fetch=None):
        return self.executor.run(
            self.main, self.feed if feed is None else feed,
            [self.loss] if fetch is None else fetch, scope=self.scope,
        )  # fmt: skip

    def minimized(self, optimizer):
        with static.program_guard(self.main, self.startup):
            optimizer.minimize(self.loss)


def foreign():
    """A variable of another program."""
    block = static.Program().global_block()
    return block.create_var(name="x", shape=[-1, 3], dtype="float32")


def wide(net):
    net.scope.var("fc_0.w_0").set(np.ones((5, 2), "float32"))
    net.run()


def double(net):
    net.scope.var("fc_0.w_0").set(np.ones((3, 2), "float64"))
    net.run()


def closed(net):
    net.executor.close()
    net.run()


def without_its_operator(net):
    net.block.remove_op(2)
    net.run()


def odd_attribute(net):
    net.block.ops[0].set_attr("nothing", 3)
    net.run()


def odd_input(net):
    net.block.ops[0].set_input("X", "nothing")
    net.run()


def taken_out(net):
    op = net.block.ops[0]
    net.block.remove_op(0)
    return op.idx


def ragged_feed(net):
    program = static.Program()
    with static.program_guard(program):
        y = layers.sequence_pool(static.data("r", [None, 1], lod_level=1), "sum")
    net.executor.run(program, {"r": np.ones((3, 1), "float32")}, [y], scope=net.scope)


def alone(net):
    program = static.Program()
    w = program.global_block().create_parameter([2], "float32", "alone")
    net.executor.run(program, {}, [w], scope=net.scope)


def twice(net):
    with static.program_guard(net.main):
        static.data("x", [1])


def data(*arguments, **words):
    def declare(net):
        with static.program_guard(static.Program()):
            static.data(*arguments, **words)

    return declare


def seeded(seed):
    def run(net):
        net.main.random_seed = seed

    return run


def guarded(*programs):
    def enter(net):
        with static.program_guard(*programs):
            pass

    return enter


RUN_STARTUP = "[Rr]un the startup program first"
LINE = r"made at .*test_mistakes.py:\d+ in __init__"
TYPE, VALUE, NAME = ArgumentTypeError, InvalidArgumentError, NotFoundError
# what is done with a net that has run its startup program, the error, its text
CASES = {
    # Program
    "block by text": (lambda n: n.main.block("a"), TYPE, "takes a number, got str 'a'"),
    "block by fraction": (lambda n: n.main.block(0.5), TYPE, "takes a number, got float"),
    "block that is none": (lambda n: n.main.block(3), OutOfRangeError, "has 1 blocks, got block 3"),
    "block inside none": (lambda n: n.main.create_block(5), OutOfRangeError, "got block 5"),
    "block forward of none": (lambda n: n.main.create_block(0, 7), OutOfRangeError, "got block 7"),
    "block forward of text": (lambda n: n.main.create_block(0, "a"), TYPE, "takes a number"),
    "seed of text": (seeded("a"), TYPE, "random_seed must be an integer, got str 'a'"),
    "seed below 0": (seeded(-1), VALUE, r"random_seed must be in \[0, 2\^64\), got -1"),
    "pickled": (lambda n: pickle.dumps(n.main), PreconditionNotMetError, "serialize_to_string"),
    "copied": (lambda n: copy.deepcopy(n.main), PreconditionNotMetError, r"use clone\(\)"),
    "guard of nothing": (guarded(None), TYPE, "main_program must be a static.Program, got None"),
    "guard of text": (guarded(static.Program(), "s"), TYPE, "startup_program must be"),
    # Block
    "variable's name": (lambda n: n.block.create_var(name=3), TYPE, "must be a string, got int 3"),
    "variable's shape of text": (
        lambda n: n.block.create_var(name="a", shape="abc"), TYPE, "list of sizes, got str 'abc'"),
    "variable's shape of a number": (
        lambda n: n.block.create_var(name="a", shape=3), TYPE, "list of sizes, got int 3"),
    "variable's sizes": (
        lambda n: n.block.create_var(name="a", shape=[1.5]), TYPE, "integers.*got float 1.5"),
    "variable's level": (
        lambda n: n.block.create_var(name="a", lod_level="x"), TYPE, "'a' must be an integer"),
    "variable's type": (
        lambda n: n.block.create_var(name="a", type="LODTENSOR"), VALUE, "got 'LODTENSOR'"),
    "variable twice": (
        lambda n: n.block.create_var(name="x"), AlreadyExistsError, r"test_mistakes.py:\d+"),
    "name that is too long": (
        lambda n: (n.block.create_var(name="a" * 2000), n.main.serialize_to_string()), VALUE,
        "at most 1024 bytes, got 2000"),
    "parameter of open size": (
        lambda n: n.block.create_parameter([None, 2], "float32"), VALUE, "known and at least 1"),
    "parameter of no type": (
        lambda n: n.block.create_parameter([2], None), TYPE, "dtype must be .* got None"),
    "parameter's initializer": (
        lambda n: n.block.create_parameter([2], "float32", initializer=3), TYPE,
        "initializer must be an Initializer, got int 3"),
    "looked for by a list": (lambda n: n.block.find_var_recursive(["x"]), TYPE, "by its name"),
    "renamed to a number": (lambda n: n.block.rename_var("x", 3), TYPE, "must be a name, got int"),
    "renamed to nothing": (lambda n: n.block.rename_var("x", ""), TYPE, "must be a name, got str"),
    "renamed to another": (
        lambda n: n.block.rename_var("x", n.y.name), AlreadyExistsError, "'fc_0.tmp_1' already"),
    "removed by type": (lambda n: n.block.remove_op("mul"), TYPE, "must be a number, got str"),
    "removed beyond the end": (
        lambda n: n.block.remove_op(9), OutOfRangeError, "has 3 operators, got number 9"),
    "inserted by text": (lambda n: n.block.insert_op("0", "relu"), TYPE, "must be a number"),
    "operator of no type": (lambda n: n.block.append_op(None), TYPE, "must be a name, got None"),
    "inputs in a list": (
        lambda n: n.block.append_op("relu", [n.x], {"Out": n.x}), TYPE, "inputs must be a dict"),
    "attributes in a list": (
        lambda n: n.block.append_op("scale", {"X": n.x}, {"Out": n.y}, ["scale"]), TYPE,
        "scale: attrs must be a dict, got list"),
    "attribute's type": (
        lambda n: n.block.append_op("scale", {"X": n.x}, {"Out": n.y}, {"scale": "two"}), TYPE,
        "scale must be a float, got str"),
    "input left out": (
        lambda n: n.block.append_op("relu", {}, {"Out": n.x}), FormatError, "must be given"),
    "variable of another program": (
        lambda n: n.block.append_op("relu", {"X": foreign()}, {"Out": n.y}), VALUE,
        "'x' belongs to another"),
    "extended by a number": (lambda n: n.block.extend(3), TYPE, "takes a Block"),
    # Operator, Variable
    "attribute that is none": (lambda n: n.block.ops[0].attr("no"), NAME, "mul: .* got 'no'"),
    "input of a number": (
        lambda n: n.block.ops[0].set_input("X", 3), TYPE, r"mul: Input\(X\) must be .* got int 3"),
    "operator taken out": (taken_out, PreconditionNotMetError, "mul: .* was removed"),
    "level of text": (lambda n: setattr(n.x, "lod_level", "a"), TYPE, "lod_level of 'x' must be"),
    "truth": (lambda n: bool(n.loss), PreconditionNotMetError, "Fetch it"),
    "value": (lambda n: n.loss.numpy(), PreconditionNotMetError, "fetch_list="),
    "value set": (lambda n: n.y.set_value(1), PreconditionNotMetError, "set it in the scope"),
    "eager backward": (lambda n: n.loss.backward(), PreconditionNotMetError, "append_backward"),
    # what is fed
    "data twice": (twice, AlreadyExistsError, r"'x' already, created at .*test_mistakes.py:\d+"),
    "data's shape of text": (data("d", "abc"), TYPE, "list of sizes, got str 'abc'"),
    "data's shape of a number": (data("d", 3), TYPE, "list of sizes, got int 3"),
    "data's sizes": (data("d", [-3, 2]), VALUE, r"-1 or None for any, got \[-3, 2\]"),
    "data's name": (data(3, [1]), TYPE, "data: name must be a string, got int 3"),
    "data's level": (data("d", [1], lod_level=-1), VALUE, r"must be in \[0, 16\], got -1"),
    "feed of nothing": (lambda n: n.run({}), DygraphError, rf"'x' must be fed.*{LINE}"),
    "feed of another name": (lambda n: n.run({"z": 1, **n.feed}), VALUE, "got 'z'"),
    "feed by variable": (
        lambda n: n.run({n.x: n.feed["x"]}), TYPE, "keys, got Variable. Take its name, 'x'"),
    "feed by number": (lambda n: n.run({3: 1, **n.feed}), TYPE, "names for keys, got int 3"),
    "feed of None": (lambda n: n.run({"x": None}), TYPE, "the feed 'x' must be .* got None"),
    "feed of a described variable": (
        lambda n: n.run({"x": n.y}), TYPE, "'fc_0.tmp_1', a variable of a program"),
    "feed of another type": (
        lambda n: n.run({"x": np.ones((2, 3))}), TYPE, r"be float32, got float64.*astype"),
    "feed of another shape": (
        lambda n: n.run({"x": np.ones((2, 4), "float32")}), VALUE, r"\[-1, 3\] .*got \[2, 4\]"),
    "feed of another rank": (
        lambda n: n.run({"x": np.ones(3, "float32")}), VALUE, r"\[-1, 3\] .*got \[3\]"),
    "feed of objects": (lambda n: n.run({"x": np.array([object()])}), TYPE, "got object"),
    "feed of text": (lambda n: n.run({"x": "abc"}), TYPE, "Map strings to numbers"),
    "feed of a parameter": (
        lambda n: n.run({"fc_0.w_0": np.ones((3, 2), "float32"), **n.feed}), VALUE,
        "must not be persistable, got 'fc_0.w_0'"),
    "feed without its levels": (ragged_feed, VALUE, "'r' must have 1 levels of detail, got 0"),
    # Executor, Scope
    "no program": (lambda n: n.executor.run("main"), TYPE, "takes a static.Program, got str"),
    "block for a program": (lambda n: n.executor.run(n.block), TYPE, "got Block"),
    "scope of a dict": (
        lambda n: n.executor.run(n.main, n.feed, [n.loss], scope={}), TYPE, "got dict"),
    "fetch of nothing": (lambda n: n.run(fetch=["los"]), VALUE, "got 'los'"),
    "fetch of a number": (lambda n: n.run(fetch=[3]), TYPE, "variables or their names, got int 3"),
    "fetch of an eager value": (lambda n: n.run(fetch=[dygraph.ones([2])]), TYPE, "their names"),
    "fetch of an empty parameter": (
        alone, PreconditionNotMetError, rf"'alone', which is fetched, .*{RUN_STARTUP}"),
    "place of text": (lambda n: static.Executor("cpu"), TYPE, r"be CPUPlace\(\) .*got str 'cpu'"),
    "closed": (closed, PreconditionNotMetError, r"close\(\) was called. Make another one"),
    "edited: operator gone": (
        without_its_operator, PreconditionNotMetError, "'mean_0.tmp_0' must be written"),
    "edited: variable gone": (
        lambda n: n.block.remove_var(n.y.name), PreconditionNotMetError,
        "'fc_0.tmp_1'.*elementwise_add .operator 1 of block 0.*writes it"),
    "edited: attribute": (odd_attribute, FormatError, rf"mul: .*got 'nothing'.*{LINE}"),
    "edited: input": (odd_input, NAME, r"ops\[0\] \(mul\).*got 'nothing'"),
    "parameter of another shape": (wide, VALUE, rf"mul: .*got 3 and 5.*{LINE}"),
    "parameter of another type": (double, TYPE, rf"mul: .*float64 for Input\(Y\).*{LINE}"),
    "variable of a scope": (lambda n: n.scope.get_var("a"), NAME, "hold no variable 'a'"),
    "variable of no name": (lambda n: n.scope.var(""), VALUE, "must have a name"),
    "value of text": (lambda n: n.scope.var("a").set("abc"), TYPE, "Map strings to numbers"),
    "guard of a scope": (lambda n: static.scope_guard({}).__enter__(), TYPE, "got dict"),
    # backward, optimizers
    "loss of a number": (lambda n: static.append_backward(3), TYPE, "loss must be a variable"),
    "loss that nothing computes": (
        lambda n: static.append_backward(n.x), PreconditionNotMetError, "'x' must be the result"),
    "parameter that is none": (
        lambda n: static.append_backward(n.loss, ["nothing"]), NAME, "got 'nothing'"),
    "parameters of a number": (
        lambda n: static.append_backward(n.loss, 3), TYPE, "parameter_list must be a list"),
    "no_grad_set of a number": (
        lambda n: static.append_backward(n.loss, no_grad_set=3), TYPE, "no_grad_set must be"),
    "gradient in another program": (
        lambda n: static.gradients([n.loss], [foreign()]), VALUE,
        "'x' and 'mean_0.tmp_0' belong to two"),
    "gradient of eager values": (
        lambda n: static.gradients([dygraph.ones([1])], [n.x]), TYPE, "targets must be a variable"),
    "eager loss": (
        lambda n: static.optimizer.SGD(0.1).minimize(dygraph.ones([1])), TYPE,
        "Use dygraph.optimizer for eager training"),
    "eager step": (
        lambda n: static.optimizer.SGD(0.1).step(), PreconditionNotMetError, "Call minimize"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_misuse_has_its_error(name):
    misuse, kind, message = CASES[name]
    net = Net()
    before = static.default_main_program()
    with pytest.raises(kind, match=message):
        misuse(net)
    assert static.default_main_program() is before
    if not name.startswith(
        ("edited", "removed", "operator taken", "closed", "parameter of another")
    ):
        fresh = Net()
        assert fresh.run()[0].shape == ()


def test_what_fails_leaves_the_program_as_it_was():
    edits = (
        "inputs", "attribute", "input left", "variable of another", "loss that", "no_grad_set",
        "parameters of", "gradient in", "parameter's", "variable's", "inserted", "renamed",
    )  # fmt: skip
    for name, (misuse, kind, _) in CASES.items():
        if name.startswith(edits):
            net = Net()
            before = net.main.serialize_to_string()
            with pytest.raises(kind):
                misuse(net)
            assert net.main.serialize_to_string() == before, name


def test_uninitialised_parameters_hint_at_the_startup_program():
    net = Net(started=False)
    with pytest.raises(PreconditionNotMetError, match=rf"mul: Input\(Y\).*{RUN_STARTUP}.*{LINE}"):
        net.run()
    net.executor.run(net.startup, scope=net.scope)
    assert net.run()[0].shape == ()


def test_an_optimizer_under_another_guard():
    """Its learning rate went to the other startup program, which has to run as well."""
    net, other = Net(), static.Program()
    with static.program_guard(static.Program(), other):
        static.optimizer.SGD(0.1).minimize(net.loss)
    with pytest.raises(PreconditionNotMetError, match=rf"LearningRate.*{RUN_STARTUP}"):
        net.run()
    net.executor.run(other, scope=net.scope)
    first, second = net.run()[0], net.run()[0]
    assert second < first


def test_feeding_and_fetching_after_pruning(tmp_path):
    net = Net()
    static.save_inference_model(tmp_path, ["x"], [net.y], None, net.main, scope=net.scope)
    program, feeds, fetches = static.load_inference_model(tmp_path, scope=net.scope)
    run = net.executor.run
    with pytest.raises(InvalidArgumentError, match="is fed must .* got 'mean_0.tmp_0'"):
        run(program, {**net.feed, net.loss.name: 1.0}, fetches, scope=net.scope)
    with pytest.raises(InvalidArgumentError, match="is fetched must .* got 'mean_0.tmp_0'"):
        run(program, net.feed, [net.loss], scope=net.scope)
    with pytest.raises(InvalidArgumentError, match=r"must be fed \['x'\], but feed has no 'x'"):
        run(program, {}, fetches, scope=net.scope)
    with pytest.raises(InvalidArgumentError, match="is fed must .* got 'nope'"):
        static.save_inference_model(tmp_path, ["nope"], [net.y], None, net.main, scope=net.scope)
    assert run(program, net.feed, fetches, scope=net.scope)[0].shape == (2, 2)


def test_a_program_edited_between_runs():
    net = Net()
    (before,) = net.run()
    with static.program_guard(net.main):
        doubled = layers.scale(net.loss, 2.0)
    loss, twice = net.run(fetch=[net.loss, doubled])
    assert loss == before and twice == 2 * before
    net.block.ops[-1].set_attr("scale", 3.0)
    assert net.run(fetch=[doubled])[0] == np.float32(3) * before


def test_variables_outlive_the_names_of_their_program():
    main, startup, loss = described.trained()
    del main
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    program = loss.block.program  # kept by its variables
    (value,) = static.Executor().run(program, described.batch(), [loss], scope=scope)
    assert np.isfinite(value)


def test_threads_share_an_executor():
    net, results = Net(), []
    expected = net.run()[0].tobytes()

    def go():
        for i in range(60):
            size = 1 + i % 3
            feed = {"x": np.ones((size, 3), "float32")}
            results.append(net.run(feed)[0])

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 240
    np.testing.assert_allclose(results, np.frombuffer(expected, "float32")[0], rtol=1e-6)


def test_a_closed_executor_does_not_close_its_scope():
    net = Net()
    (before,) = net.run()
    net.executor.close()
    assert static.Executor().run(net.main, net.feed, [net.loss], scope=net.scope)[0] == before
