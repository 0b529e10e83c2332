"""The registry of passes and the door through which each is applied."""

import numpy as np
import pytest

from dygraph import errors, static
from dygraph.static import passes


def chain():
    """x -> exp -> sqrt -> square, and a branch that nothing needs."""
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, 3])
        y = static.layers.sqrt(static.layers.exp(x))
        static.layers.relu(y)
        z = static.layers.square(y)
    return main, y.name, z.name


def types(program):
    return [op.type for op in program.global_block().ops]


def add(function, options=()):
    """A pass for one test: passes stay registered, so each has a name of its own."""
    name = f"of_a_test_{len(passes.names())}"
    passes.add(name, function, "Something.", options)
    return name


def test_the_passes_of_the_library():
    assert passes.names() == sorted(passes.names())
    assert {"fold_inference", "for_paddle", "prune", "recompute"} <= set(passes.names())


@pytest.mark.parametrize("name", ["fold_inference", "for_paddle", "prune", "recompute"])
def test_each_tells_what_it_does(name):
    assert passes.about(name).startswith(f"{name}: ")


def test_prune_leaves_the_program_that_is_given():
    main, y, z = chain()
    before = main.serialize_to_string()
    less = passes.apply("prune", main, feeds=["x"], fetches=[z])
    assert types(less) == ["feed", "exp", "sqrt", "square", "fetch"]
    assert main.serialize_to_string() == before
    assert sorted(less.global_block().vars)[:2] != []
    assert {"feed", "fetch", "x", z} <= set(less.global_block().vars)
    assert len(less.global_block().vars) == 6  # with the results of exp and sqrt
    (value,) = static.Executor().run(less, {"x": np.zeros((1, 3), "float32")}, [z])
    np.testing.assert_array_equal(value, np.ones((1, 3), "float32"))


def test_prune_stops_at_what_is_fed():
    main, y, z = chain()
    assert types(passes.apply("prune", main, feeds=[y], fetches=[z])) == ["feed", "square", "fetch"]
    assert types(passes.apply("prune", main, feeds=[y], fetches=[y])) == ["feed", "fetch"]


def test_prune_keeps_every_writer_before_a_reader_and_none_after():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [1])
        y = static.layers.exp(x)
        static.layers.increment(y)
        z = static.layers.square(y)
        static.layers.increment(y)
    less = passes.apply("prune", main, feeds=["x"], fetches=[z.name])
    assert types(less) == ["feed", "exp", "increment", "square", "fetch"]
    less = passes.apply("prune", main, feeds=["x"], fetches=[y.name])
    assert types(less) == ["feed", "exp", "increment", "increment", "fetch"]
    (value,) = static.Executor().run(less, {"x": np.zeros(1, "float32")}, [y])
    np.testing.assert_array_equal(value, [3])


# A field 1001 that no version knows, with the number 7, by the rules of protobuf's wire format: the
# key 1001 << 3 = 8008 = 62 * 128 + 72 in two bytes, the lower seven bits first.
UNKNOWN = bytes([0x80 | 72, 62, 7])


def varint(number):
    low = []
    while number >= 128:
        low.append(0x80 | number & 127)
        number >>= 7
    return bytes([*low, number])


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at, number, shift = at + 1, number | (byte & 127) << shift, shift + 7
        if byte < 128:
            return number, at


def with_unknown(data, path):
    """The message with the unknown field at the end of each message on a path of field numbers."""
    if not path:
        return data + UNKNOWN
    out, at = b"", 0
    while at < len(data):
        begin = at
        key, at = read_varint(data, at)
        if key & 7 == 2:
            size, at = read_varint(data, at)
            inner = data[at : at + size]
            if key >> 3 == path[0]:
                inner = with_unknown(inner, path[1:])
            out += varint(key) + varint(len(inner)) + inner
            at += size
        else:
            assert key & 7 == 0
            _, at = read_varint(data, at)
            out += data[begin:at]
    return out


BLOCKS, VARS, OPS = 1, 3, 4  # of framework.proto


@pytest.mark.parametrize(
    ("path", "before", "left"),
    [([], 1, 1), ([BLOCKS], 1, 1), ([BLOCKS, VARS], 5, 4), ([BLOCKS, OPS], 4, 3)],
)
def test_prune_keeps_fields_that_this_version_does_not_know(path, before, left):
    main, _, z = chain()
    later = with_unknown(main.serialize_to_string(), path)
    assert later.count(UNKNOWN) == before
    program = static.Program.parse_from_string(later)
    less = passes.apply("prune", program, feeds=["x"], fetches=[z])
    assert less.serialize_to_string().count(UNKNOWN) == left


@pytest.mark.parametrize("name", ["feed", "fetch"])
def test_prune_refuses_a_variable_that_has_the_name_of_a_holder(name):
    main = static.Program()
    with static.program_guard(main):
        x = static.data(name, [3])
        y = static.layers.exp(x)
    before = main.serialize_to_string()
    with pytest.raises(errors.AlreadyExistsError, match=f"got '{name}'. Rename it"):
        passes.apply("prune", main, feeds=[name], fetches=[y.name])
    assert main.serialize_to_string() == before
    with static.program_guard(main):
        other = static.layers.sqrt(static.data("x", [3]))  # what is not needed may be called so
    less = passes.apply("prune", main, feeds=["x"], fetches=[other.name])
    assert types(less) == ["feed", "sqrt", "fetch"]


def test_prune_of_what_was_pruned():
    main, y, z = chain()
    once = passes.apply("prune", main, feeds=["x"], fetches=[z])
    assert types(passes.apply("prune", once, feeds=["x"], fetches=[y])) == [
        "feed", "exp", "sqrt", "fetch",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"feeds": ["x"]}, errors.InvalidArgumentError, "at least one variable to fetch"),
        ({"fetch": ["x"]}, errors.NotFoundError, "are feeds, fetches, states, got 'fetch'"),
        ({"fetches": ["q"]}, errors.InvalidArgumentError, "what is fetched .* got 'q'"),
        ({"fetches": 3.5}, errors.ArgumentTypeError, "fetches"),
        ({"fetches": "x"}, errors.ArgumentTypeError, "fetches must be a list of strings"),
    ],
)
def test_prune_on_wrong_options(options, error, said):
    main, _, _ = chain()
    with pytest.raises(error, match=said):
        passes.apply("prune", main, **options)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda p: passes.apply("prun", p), KeyError, "'prun'.*prune"),
        (lambda p: passes.about("prun"), KeyError, "'prun'.*prune"),
        (lambda p: passes.apply(3, p), TypeError, "name must be a string, got int"),
        (lambda p: passes.apply("prune", p.desc), TypeError, "must be a static.Program"),
        (lambda p: passes.apply("prune", p, scope=3), TypeError, "must be a static.Scope"),
        (lambda p: passes.add("a", 3, "b"), TypeError, "function must be callable"),
        (lambda p: passes.add("a", print, 3), TypeError, "what must be a text"),
        (lambda p: passes.add("a", print, "b", ["c"]), TypeError, "options must be a list"),
        (lambda p: passes.add("prune", print, "b"), ValueError, "prune is registered at"),
        (lambda p: passes.add("a", print, "b", [("c", 1j, "d")]), TypeError, "complex"),
    ],
)
def test_wrong_calls(call, error, said):
    with pytest.raises(error, match=said):
        call(chain()[0])


def test_options_of_a_function():
    seen = []
    options = [
        ("names", ["a"], ""), ("times", 2, ""), ("rate", 0.5, ""), ("deep", True, ""),
        ("mode", "fast", ""),
    ]  # fmt: skip
    name = add(lambda program, scope, **given: seen.append((scope, given)), options)
    scope = static.Scope()
    passes.apply(name, chain()[0], scope, times=1 << 40, mode="slow")
    ((got, given),) = seen
    assert got is scope
    assert given == {"names": ["a"], "times": 1 << 40, "rate": 0.5, "deep": True, "mode": "slow"}
    with pytest.raises(TypeError, match="times"):
        passes.apply(name, chain()[0], times="many")


def test_what_a_function_raises_comes_out():
    def breaks(program, scope):
        program.global_block().remove_op(0)
        raise ZeroDivisionError("mine")

    main, _, _ = chain()
    with pytest.raises(ZeroDivisionError, match="mine"):
        passes.apply(add(breaks), main)
    assert types(main) == ["exp", "sqrt", "relu", "square"]


def test_a_broken_result_names_the_pass():
    def forgets(program, scope):
        program.global_block().forget_var("x")

    name = add(forgets)
    with pytest.raises(KeyError, match=f"'x'.*\n?.*the pass {name}"):
        passes.apply(name, chain()[0])


def test_a_program_that_was_broken_before_passes():
    main, _, _ = chain()
    main.global_block().forget_var("x")
    assert types(passes.apply(add(lambda program, scope: None), main)) == types(main)


def test_recompute_of_a_program_that_is_finished():
    """The door gives what append_backward(checkpoints=...) writes, but for order of variables."""

    def described(kept):
        main = static.Program()
        with static.program_guard(main, static.Program()), static.unique_name.guard():
            x = static.data("x", [None, 4])
            half = static.layers.tanh(static.layers.fc(static.layers.tanh(x * 2.0), 4))
            loss = static.layers.mean(static.layers.tanh(half * half))
            static.append_backward(loss, checkpoints=[half] if kept else None)
        return main, half.name

    wanted, half = described(True)
    plain, _ = described(False)
    got = passes.apply("recompute", plain, checkpoints=[half])
    assert types(got).count("tanh") == types(plain).count("tanh") + 1
    assert [str(op) for op in got.global_block().ops] == [
        str(op) for op in wanted.global_block().ops
    ]
    with pytest.raises(ValueError, match="a checkpoint must be a variable .* 'q'"):
        passes.apply("recompute", plain, checkpoints=["q"])
    with pytest.raises(IndexError, match="block"):
        passes.apply("recompute", plain, block=1)
    with pytest.raises(IndexError, match="up to"):
        passes.apply("recompute", plain, backward=1000)


def test_a_pass_that_takes_out_a_writer_is_named():
    def without_exp(program, scope):
        block = program.global_block()
        block.ops[:] = [op for op in block.ops if op.type != "exp"]

    passes.add("without_exp", without_exp, "Takes exp out, and leaves what reads it.")
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, 3])
        middle = static.layers.exp(x)
        static.layers.sqrt(middle)
    with pytest.raises(errors.PreconditionNotMetError) as info:
        passes.apply("without_exp", main)
    said = str(info.value)
    assert "sqrt (operator 0 of block 0" in said and f"reads '{middle.name}'" in said
    assert said.endswith("in what the pass without_exp made of the program")
    middle.persistable = True  # the scope holds it
    left = passes.apply("without_exp", main)
    assert [op.type for op in left.global_block().ops] == ["sqrt"]
