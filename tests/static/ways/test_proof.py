"""The proof of captured functions: every way is compared with eager calls, and planted wrong
programs are refused with the way on which they are wrong."""

import threading

import numpy as np
import pytest

import dygraph
from dygraph import _core, jit, nn
from dygraph.static.ways.graph import Refused
from dygraph.static.ways.prove import prove

from . import random_functions
from .cases import INPUTS
from .test_ways import CASES

X = np.arange(1, 13, dtype="float32").reshape(4, 3)
WEIGHT = dygraph.to_variable(np.array([0.5, 0.25, 2.0], "float32"))
WEIGHT.stop_gradient = False
DROP = nn.Dropout(0.5)


def given(rows=4, wants_gradient=False):
    x = dygraph.to_variable(np.resize(X, (rows, 3)))
    x.stop_gradient = not wants_gradient
    return x


def at(function, line):
    """``test_proof.py:12`` of a line of a function, counted from its ``def``."""
    return f"test_proof.py:{function.__code__.co_firstlineno + line}"


def proof_of(function, *args, **how):
    return jit.to_static(function, **how).entry(*args).proof


def planted(function, *args):
    """An entry whose program is not compared yet."""
    return jit.to_static(function, verify=False).entry(*args)


def ops_of(entry, type):
    return [op for block in entry.program.blocks for op in block.ops if op.type == type]


def refusal(function, entry, *args, more=()):
    with pytest.raises(Refused) as refused:
        prove(function, entry, args, {}, more)
    return str(refused.value)


def two_questions(x):
    y = x * 2
    if x.sum() > 0:
        y = y * WEIGHT
    if x.max() > 100:
        y = y - 1
    return y


def one_loop(x):
    while x.sum() < 100:
        x = x * 2 + 1
    return x


# What is compared ---------------------------------------------------------------------------------


def test_all_ways_are_taken_whatever_the_data_say():
    proof = proof_of(two_questions, given(wants_gradient=True))
    first, second = at(two_questions, 2), at(two_questions, 4)
    assert set(proof.ways) == {
        f"{a} at {first}, {b} at {second}" for a in ("yes", "no") for b in ("yes", "no")
    }
    assert set(proof.free) == {f"yes at {first}, no at {second}"}
    assert proof.shapes == [[[n, 3]] for n in (4, 1, 5, 8, 2, 3)]
    assert proof.compared == 4 + 6
    assert proof.gradients[0] == "x" and len(proof.gradients) == 2
    assert proof.not_compared == [] and proof.seconds > 0


def test_loops_make_no_turn_one_and_two():
    proof = proof_of(one_loop, given())
    line = at(one_loop, 1)
    assert set(proof.ways) == {
        f"no at {line}", f"yes at {line}, no at {line}", f"yes at {line} 2 times, no at {line}"
    }  # fmt: skip


def test_loops_make_three_turns_where_gradients_are_summed():
    """Of two terms the order does not show. A value with two names has the tape's order."""
    proof = proof_of(one_loop, given(wants_gradient=True))
    line = at(one_loop, 1)
    assert f"yes at {line} 3 times, no at {line}" in proof.ways and len(proof.ways) == 4

    def two_names(x):
        y, first, z = x * 0.5, x, x
        for i in range(first.shape[0]):
            y = y + first[i] * 0.1
            z = (y + 1) - (z + 1)
        return first + z

    one_row = given()[:1].detach()
    one_row.stop_gradient = False
    assert "gradients: x" in repr(proof_of(two_names, one_row))


def test_value_that_is_asked_twice_has_one_answer():
    def f(x):
        i = 0
        while x.sum() < 100 and i < 3:
            x = x + 1
            i += 1
        return x

    proof = proof_of(f, given())
    line = at(f, 2)
    assert f"no at {line}" in proof.ways
    assert proof.shapes[-1] == [[2, 3]]
    assert proof.free[-1] == f"yes at {line} 7 times, no at {line}"  # the counter says no
    assert proof.not_compared == []


def many_questions(x):
    y = x * 1
    for k in range(8):
        if x.sum() > k:
            y = y + k
    return y


def test_of_many_ways_each_answer_is_given():
    proof = proof_of(many_questions, given())
    assert 64 <= len(proof.ways) <= 64 + 16
    asked = [way.split(", ") for way in proof.ways]
    assert all(len(way) < 9 for way in asked)
    assert proof.not_compared == [
        "more than 64 paths: beyond these, each other branch was taken once"
    ]


def test_report_can_be_read():
    text = repr(proof_of(one_loop, given(wants_gradient=True))).splitlines()
    line = at(one_loop, 1)
    assert text[0].startswith("<Proof: 10 results of 10 calls have eager's bits (")
    assert text[1:3] == [f"  questions: {line}", "  forced paths: 4"]
    assert text[3] == f"    no at {line}"
    assert text[7:9] == ["  inputs of shapes:", f"    [[4, 3]]: yes at {line}, no at {line}"]
    assert text[-1] == "  gradients: x>"


def small_or_large(x):
    return x * 2 if x.shape[0] > 999 else x * 3


def test_sizes_that_decide_are_named_where_none_was_tried():
    proof = proof_of(small_or_large, given())
    (text,) = proof.not_compared
    assert text.startswith(f"yes at {at(small_or_large, 1)} (decided by sizes and numbers")
    proof = proof_of(small_or_large, given(), verify=[given(1000), (given(1001),)])
    assert proof.not_compared == []
    assert [[1000, 3]] in proof.shapes and [[1001, 3]] in proof.shapes


def test_sizes_that_the_function_names_are_tried():
    def f(x):
        if x.shape[0] == 17:
            return x * 2
        return x - 1 if x.shape[0] > 64 else x * 3

    proof = proof_of(f, given())
    first, second = at(f, 1), at(f, 3)
    assert proof.not_compared == []
    assert f"yes at {first} for inputs of shapes [[17, 3]]" in proof.ways
    assert f"no at {first}, yes at {second} for inputs of shapes [[65, 3]]" in proof.ways


def test_arguments_of_another_program_are_named():
    proof = proof_of(one_loop, given(), verify=[dygraph.ones([2, 3], "float64"), given(3)])
    assert proof.not_compared == [
        "inputs of shapes [[2, 3]], which another program of the function takes"
    ]
    assert proof.shapes[-1] == [[3, 3]]


def test_verify_is_a_list():
    with pytest.raises(TypeError, match="verify must be True, False or a list of tuples"):
        jit.to_static(one_loop, verify=given())


def test_errors_are_compared():
    def f(x):
        if x.sum() > 0:
            raise ValueError("positive")
        return x

    assert len(proof_of(f, given()).ways) == 2


def test_newest_proof_is_an_attribute():
    f = jit.to_static(one_loop)
    assert f.proof is None
    f(given())
    assert f.proof.questions == [at(one_loop, 1)]
    assert jit.to_static(one_loop, verify=False).proof is None


def test_what_is_printed_is_printed_once(capsys):
    def f(x):
        if x.sum() > 0:
            print("sum", x.sum())
        return x

    assert len(proof_of(f, given()).ways) == 2
    assert capsys.readouterr().out == ""


class Counting(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", dygraph.zeros([1]))

    def forward(self, x):
        if x.sum() > 0:
            self.count = self.count + 1
        return x * self.count


def test_buffers_are_as_before_and_compared():
    net = Counting()
    before = net.count
    proof = proof_of(net, given())
    assert len(proof.ways) == 2
    assert net.count is before and before.tolist() == [0.0]


# Planted wrong programs ---------------------------------------------------------------------------


def test_right_program_passes():
    entry = planted(two_questions, given())
    assert len(prove(two_questions, entry, (given(),), {}).ways) == 4


def test_changed_constant_on_a_way_that_no_sample_takes():
    entry = planted(two_questions, given())
    (scale,) = [op for op in ops_of(entry, "scale") if op.attr("bias") == -1.0]
    scale.set_attr("bias", -1.5)
    text = refusal(two_questions, entry, given())
    assert text.startswith("to_static: the program must give the bits of eager calls, but output 0")
    assert f"yes at {at(two_questions, 4)} for inputs of shapes [[4, 3]]" in text


def test_swapped_branches():
    def f(x):
        if x.sum() > 0:
            y = x + 1
        else:
            y = x - 1
        return y

    entry = planted(f, given())
    one, two = ops_of(entry, "conditional_block")
    condition = one.input("Cond")[0]
    one.set_input("Cond", two.input("Cond"))
    two.set_input("Cond", condition)
    text = refusal(f, entry, given())
    assert f"output 0 differs on the path yes at {at(f, 1)} for inputs" in text


def test_branch_that_is_left_out():
    def f(x):
        y = x * 2
        if x.sum() < 0:
            y = y + 1
        return y

    entry = planted(f, given())
    blocks = ops_of(entry, "conditional_block")
    branch = next(op for op in blocks if not op.input("Cond")[0].startswith("not"))
    branch.block.remove_op(branch.idx)
    text = refusal(f, entry, given())
    assert "it raises PreconditionNotMetError (assign: the variable" in text
    assert f"and an eager call does not on the path yes at {at(f, 2)} for inputs" in text


def test_wrong_second_turn():
    """The test at the end of a turn."""
    entry = planted(one_loop, given())
    (loop,) = ops_of(entry, "while")
    body = entry.program.block(loop.attr("sub_block"))
    number = next(op for op in body.ops if op.type == "fill_constant")
    assert number.attr("value") == 100.0
    number.set_attr("value", 150.0)
    number.set_attr("str_value", "150")
    text = refusal(one_loop, entry, given())
    line = at(one_loop, 1)
    assert f"output 0 differs on the path yes at {line} 5 times, no at {line} for inputs" in text
    assert "of shapes [[1, 3]]. Capture less than test_proof.py" in text  # 6, 15, 33, 69, 141


def test_loop_that_does_not_end(monkeypatch):
    monkeypatch.setattr("dygraph.static.ways.prove._PATIENCE", 0.1)
    entry = planted(one_loop, given())
    (step,) = [op for op in ops_of(entry, "scale") if op.attr("scale") == 2.0]
    step.set_attr("scale", 0.0)
    text = refusal(one_loop, entry, given())
    assert (
        f"it still branches at {at(one_loop, 1)} when an eager call has ended on the path" in text
    )


def test_wrong_question():
    """Answers that are given hide it, but what the data say is compared, too."""

    def f(x):
        if x.sum() < 0:
            x = x - 100
            if x.sum() > 5:
                x = x * 2
        return x

    entry = planted(f, given())
    (number,) = [op for op in ops_of(entry, "fill_constant") if op.attr("value") == 5.0]
    number.set_attr("value", -5000.0)
    number.set_attr("str_value", "-5000")
    text = refusal(f, entry, given())
    first, second = at(f, 1), at(f, 3)
    assert f"the condition at {second} is True in the program, False in an eager call" in text
    assert f"on the path yes at {first}, no at {second} for inputs of shapes [[4, 3]]" in text


def test_missing_gradient():
    def f(x):
        y = x * 2
        if x.sum() < 0:
            y = y * x
        return y

    entry = planted(f, given(wants_gradient=True))
    (product,) = ops_of(entry, "elementwise_mul")
    name = product.output("Out")[0]
    product.block.var_recursive(name).stop_gradient = True
    text = refusal(f, entry, given(wants_gradient=True))
    assert "but the gradient of 'x' " in text
    assert f"on the path yes at {at(f, 2)} for inputs of shapes [[4, 3]]" in text


def test_wrong_lod():
    def f(x):
        if x.sum() < 0:
            x = dygraph.lod_reset(x, target_lod=[0, 1, 4])
        return x * 2

    x = dygraph.to_variable(X, lod=[[0, 2, 4]])
    entry = planted(f, x)
    (reset,) = ops_of(entry, "lod_reset")
    reset.set_attr("target_lod", [0, 3, 4])
    text = refusal(f, entry, x)
    assert f"output 0 differs on the path yes at {at(f, 1)} for inputs of shapes [[4, 3]]" in text


@pytest.mark.parametrize(("attribute", "value"), [("error", "KeyError"), ("message", "positive")])
def test_another_error(attribute, value):
    def f(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2

    entry = planted(f, given())
    (check,) = ops_of(entry, "assert")
    check.set_attr(attribute, value)
    text = refusal(f, entry, given())
    assert "ValueError (negative) on the path yes at" in text


def test_another_question():
    """The program asks for what Python does not ask for."""
    entry = planted(two_questions, given())
    one, two = entry._explorer.sites
    one.block, two.block = two.block, one.block
    text = refusal(two_questions, entry, given())
    assert (
        f"it branches at {at(two_questions, 4)} where the path branches at {at(two_questions, 2)}"
        in text
    )


def test_wrong_at_a_size_that_is_given():
    f = small_or_large
    entry = planted(f, given())
    (wrong,) = [op for op in ops_of(entry, "scale") if op.attr("scale") == 2.0]
    wrong.set_attr("scale", 2.5)
    assert prove(f, entry, (given(),), {}).not_compared
    text = refusal(f, entry, given(), more=[given(1000)])
    assert (
        f"output 0 differs on the path yes at {at(f, 1)} for inputs of shapes [[1000, 3]]" in text
    )


def test_wrong_buffer():
    net = Counting()
    entry = planted(net, given())
    scales = [op for op in ops_of(entry, "scale") if op.attr("bias") == 1.0]
    copy = next(op for op in ops_of(entry, "assign") if op.output("Out")[0] in entry.held)
    assert scales
    copy.block.insert_op(copy.idx, "scale", {"X": copy.input("X")}, {"Out": copy.input("X")})
    copy.block.ops[copy.idx - 1].set_attr("scale", 3.0)
    assert "which it writes, differs" in refusal(net, entry, given())


# Many functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wants_gradient", [False, True])
@pytest.mark.parametrize(
    "function", [f for f in CASES if f.becomes is None], ids=lambda f: f.__name__
)
def test_captured_functions_are_proved(function, wants_gradient):
    x = dygraph.to_variable(INPUTS[0])
    x.stop_gradient = not wants_gradient
    proof = proof_of(function, x)
    assert proof.compared + len(proof.ways) > 0
    assert len(proof.ways) >= bool(proof.questions)


@pytest.mark.parametrize("seed", range(40))
def test_random_functions_are_proved_with_gradients(seed):
    writer = random_functions.Writer(seed, small=True)
    function = random_functions.made(writer.function(), f"<proved function {seed}>")
    x = dygraph.to_variable(INPUTS[seed % len(INPUTS)])
    x.stop_gradient = False
    try:
        proof = proof_of(function, x)
    except AssertionError as error:  # of the function's own, before any question
        assert str(error) == "asserted"
    else:
        assert proof.shapes[0] == [list(x.shape)]


# Random operators ---------------------------------------------------------------------------------


def dropout_in_a_branch(x):
    if x.sum() > 0:
        x = DROP(x) * WEIGHT
    else:
        x = x + dygraph.uniform([3])
    return DROP(x)


def dropout_in_a_loop(x):
    while x.mean() < 6:
        x = DROP(x) + dygraph.uniform([3]) + 4
    return DROP(x)


@pytest.mark.parametrize("function", [dropout_in_a_branch, dropout_in_a_loop])
def test_random_operators_draw_what_eager_calls_draw(function):
    f = jit.to_static(function)
    with dygraph.no_grad():
        f(given())
        for _ in range(3):
            dygraph.seed(5)
            want = [function(given()).numpy() for _ in range(3)]
            state = _core.generator_state()
            dygraph.seed(5)
            got = [f(given()).numpy() for _ in range(3)]
            assert _core.generator_state() == state
            assert [a.tobytes() for a in got] == [a.tobytes() for a in want]
        assert len({a.tobytes() for a in got}) == 3


def test_dropout_that_draws_once_more_is_refused():
    entry = planted(dropout_in_a_branch, given())
    block = entry.program.global_block()
    extra = block.create_var(name="extra", shape=[3], dtype="float32")
    attrs = {"shape": [3], "dtype": "float32"}
    block.append_op("uniform_random", {}, {"Out": extra}, attrs)
    assert "random numbers" in refusal(dropout_in_a_branch, entry, given())


# Files and threads --------------------------------------------------------------------------------


@pytest.mark.parametrize("verify", [True, False])
def test_files_say_what_was_not_verified(verify, tmp_path):
    f = jit.to_static(one_loop, verify=verify)
    f.save(tmp_path / "one", given())
    loaded = jit.load(tmp_path / "one")
    assert loaded.verified is verify
    loaded.save_inference_model(tmp_path / "two")
    again = jit.load(tmp_path / "two")
    assert again.verified is verify
    with dygraph.no_grad():
        assert again(given()).numpy().tobytes() == one_loop(given()).numpy().tobytes()
    assert jit.trace(lambda x: x * 2, [given()])[1].verified is True


def test_answers_for_truth_are_those_of_one_thread():
    asked, found = [], []

    def answer(v):
        asked.append(v.tolist())
        return None if v.tolist() == 2.0 else False

    before = _core.answer_truth(answer)
    try:
        thread = threading.Thread(target=lambda: found.append(bool(dygraph.ones([]))))
        thread.start()
        thread.join()
        assert found == [True] and asked == []
        assert not dygraph.ones([]) and dygraph.full([], 2.0)
    finally:
        assert _core.answer_truth(before) is answer
    assert bool(dygraph.ones([])) and asked == [1.0, 2.0]
