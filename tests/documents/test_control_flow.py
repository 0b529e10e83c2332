"""The control flow of the documents: choices, loops and DynamicRNN, nearly as they stand there.

``import dygraph.static as fluid`` takes the place of the import lines. Sketches (``fluid.Var``,
``fluid.switch``, ``larger``) have the names that Fluid shipped.
"""

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid
from dygraph import jit, unique_name
from dygraph.static import layers

SOURCE = [range(1, 11), range(11, 19), range(19, 24), range(24, 31)]
TARGET = [range(1, 6), range(6, 13), range(13, 17), range(17, 23)]


@pytest.fixture(autouse=True)
def programs():
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        fluid.default_startup_program().random_seed = 1
        yield


def run(*fetches, **feed):
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=list(fetches))


def blocks(program=None):
    """(own number, its parent's, types of its operators) of each block."""
    program = program or fluid.default_main_program()
    return [(b.idx, b.parent_idx, [op.type for op in b.ops]) for b in program.blocks]


def ragged(sequences):
    """Numbers of sequences as rows of one column."""
    rows = np.concatenate([np.array(list(s), "float32") for s in sequences])[:, None]
    return dygraph.to_variable(rows, lod=[np.cumsum([0, *map(len, sequences)]).tolist()])


def listed(array):
    return np.asarray(array).ravel().astype(int).tolist()


# Choices ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "case"), [(10, 1), (-3, 1), (11, 2)])
def test_switch_and_case(value, case, capsys):
    """The third case of the document is never taken: what is not <= 10 is > 0."""
    a = layers.fill_constant([1], "float32", float(value))
    b = layers.fill_constant([1], "float32", 0.0)

    with layers.Switch() as switch:
        with switch.case(layers.less_equal(a, layers.fill_constant([1], "float32", 10))):
            layers.Print(a, message="Case 1")
        with switch.case(layers.greater_than(a, b)):
            layers.Print(a, message="Case 2")
        with switch.default():
            layers.Print(a, message="Case 3")
    run()
    said = capsys.readouterr().out
    assert [n for n in (1, 2, 3) if f"Case {n}" in said] == [case]


def lisp_cond(a, b, c):
    """The `cond` form that the slide quotes: the first clause whose test holds."""
    if a > 10:
        return a
    if b > 0:
        return b
    return c


def test_switch_is_a_cond_form():
    a, b, c = (layers.data(n, shape=[1], append_batch_size=False) for n in "abc")
    out = layers.fill_constant([1], "float32", 0.0)
    with layers.Switch() as switch:
        with switch.case(a > 10.0):
            layers.assign(a, out)
        with switch.case(b > 0.0):
            layers.assign(b, out)
        with switch.default():
            layers.assign(c, out)
    for numbers in [(11, 1, 5), (3, 1, 5), (3, -1, 5), (11, -1, 5)]:
        feed = {n: np.array([v], "float32") for n, v in zip("abc", numbers, strict=True)}
        assert run(out, **feed)[0].tolist() == [lisp_cond(*numbers)]


def if_else(image, label):
    """The program of three blocks."""
    limit = fluid.layers.fill_constant_batch_size_like(
        input=label, dtype="int64", shape=[-1, 1], value=5.0
    )  # block 0; a limit for each row, where the document's [1] has but the rows
    cond = fluid.layers.less_than(x=label, y=limit)  # block 0

    ie = fluid.layers.IfElse(cond)
    with ie.true_block():  # block 1
        true_image = ie.input(image)
        hidden = fluid.layers.fc(input=true_image, size=100, act="tanh")
        prob = fluid.layers.fc(input=hidden, size=10, act="softmax")
        ie.output(prob)

    with ie.false_block():  # block 2
        false_image = ie.input(image)
        hidden = fluid.layers.fc(input=false_image, size=200, act="tanh")
        prob = fluid.layers.fc(input=hidden, size=10, act="softmax")
        ie.output(prob)

    return ie()  # block 0


def test_if_else_of_three_blocks():
    image = fluid.layers.data("image", shape=[784])
    label = fluid.layers.data("label", shape=[1], dtype="int64")
    prob = if_else(image, label)[0]
    found = blocks()
    assert [(own, parent) for own, parent, _ in found] == [(0, -1), (1, 0), (2, 0)]
    for _, _, types in found[1:]:
        assert types.count("mul") == 2 and "tanh" in types and "softmax" in types
    assert "mul" not in found[0][2] and found[0][2].count("conditional_block") == 2

    fluid.Executor().run(fluid.default_startup_program())
    rng = np.random.default_rng(0)
    pixels = rng.random((6, 784)).astype("float32")
    labels = np.array([[7], [0], [5], [4], [9], [1]])
    (got,) = run(prob, image=pixels, label=labels)
    value = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor())
             for p in fluid.default_main_program().all_parameters()}  # fmt: skip
    for row, pixel, of in zip(got, pixels, np.where(labels[:, 0] < 5, 0, 2), strict=True):
        w, b, v, c = (value[f"fc_{of + k}.{n}_0"] for k in (0, 1) for n in "wb")
        logits = np.tanh(pixel @ w + b) @ v + c
        wanted = np.exp(logits - logits.max())
        np.testing.assert_allclose(row, wanted / wanted.sum(), rtol=2e-4)


def test_if_else_trains():
    image = fluid.layers.data("image", shape=[8])
    label = fluid.layers.data("label", shape=[1], dtype="int64")
    loss = layers.mean(layers.cross_entropy(if_else(image, label)[0], label))
    fluid.optimizer.SGD(0.5).minimize(loss)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    labels = np.arange(10)[:, None]
    feed = {"image": np.random.default_rng(0).random((10, 8)).astype("float32"), "label": labels}
    losses = [executor.run(feed=feed, fetch_list=[loss])[0].item() for _ in range(60)]
    assert losses[-1] < 0.3 * losses[0]


# Loops --------------------------------------------------------------------------------------------


def test_while_of_arrays():
    """The block of the slides: elements of an array, each written one place further on."""
    i = layers.zeros(shape=[1], dtype="int64")
    d0 = layers.data("d0", shape=[10], dtype="float32", append_batch_size=False)
    data_array = layers.array_write(x=d0, i=i)
    array_len = layers.fill_constant(shape=[1], dtype="int64", value=3)
    result = layers.array_write(layers.zeros([10], "float32"), i=i)

    cond = layers.less_than(x=i, y=array_len)
    while_op = layers.While(cond=cond)
    with while_op.block():
        d = layers.array_read(array=data_array, i=i)
        d = layers.scale(d, scale=2.0)
        i = layers.increment(x=i, in_place=True)
        layers.array_write(d, i=i, array=data_array)
        layers.array_write(d, i=i, array=result)
        layers.less_than(x=i, y=array_len, cond=cond)
    last = layers.array_read(result, array_len)
    count = layers.array_length(result)
    assert blocks()[1][:2] == (1, 0) and blocks()[0][2].count("while") == 1
    value = np.arange(10, dtype="float32")
    got = run(last, count, i, d0=value)
    assert got[0].tolist() == (8 * value).tolist() and [g.item() for g in got[1:]] == [4, 3]


def test_while_op():
    """The linked test: two loops, one inside the other, add the elements of an array."""
    given = [
        layers.data(f"d{k}", shape=[10], append_batch_size=False, dtype="float32") for k in range(3)
    ]
    i = layers.zeros(shape=[1], dtype="int64")
    i.stop_gradient = True
    mem_array = layers.array_write(x=layers.zeros(shape=[10], dtype="float32"), i=i)
    data_array = layers.array_write(x=given[0], i=i)
    for d in given[1:]:
        given[0].stop_gradient = d.stop_gradient = False
        i = layers.increment(i)
        layers.array_write(d, i, array=data_array)
    i = layers.zeros(shape=[1], dtype="int64")
    i.stop_gradient = True
    array_len = layers.fill_constant(shape=[1], dtype="int64", value=1)
    array_len.stop_gradient = True
    cond = layers.less_than(x=i, y=array_len)
    j = layers.fill_constant(shape=[1], dtype="int64", value=1)
    j.stop_gradient = True
    array_len2 = layers.fill_constant(shape=[1], dtype="int64", value=3)
    array_len2.stop_gradient = True
    cond2 = layers.less_than(x=j, y=array_len2)

    while_op = layers.While(cond=cond)
    while_op2 = layers.While(cond=cond2)
    with while_op.block():
        d = layers.array_read(array=data_array, i=i)
        prev = layers.array_read(array=mem_array, i=i)
        result = layers.sums(input=[d, prev])
        i = layers.increment(x=i, in_place=True)
        layers.array_write(result, i=i, array=mem_array)
        layers.less_than(x=i, y=array_len, cond=cond)
        with while_op2.block():
            d2 = layers.array_read(array=data_array, i=j)
            prev2 = layers.array_read(array=mem_array, i=j)
            result2 = layers.sums(input=[d2, prev2])
            j = layers.increment(x=j, in_place=True)
            layers.array_write(result2, i=j, array=mem_array)
            layers.less_than(x=j, y=array_len2, cond=cond2)

    sum_result = layers.array_read(array=mem_array, i=j)
    loss = layers.mean(sum_result)
    fluid.backward.append_backward(loss)
    value = [np.random.default_rng(k).random(10).astype("float32") for k in range(3)]
    feed = {f"d{k}": v for k, v in enumerate(value)}
    got = run(sum_result, *(f"d{k}@GRAD" for k in range(3)), **feed)
    np.testing.assert_allclose(got[0], sum(value), rtol=1e-6)
    for gradient in got[1:]:
        np.testing.assert_allclose(gradient, np.full(10, 0.1), rtol=1e-6)


def test_the_condition_of_a_while_is_checked():
    """As the first lines of `while_op::Run` do: it is there, and is one bool."""
    for make in (
        lambda: layers.zeros([1], "int64"),
        lambda: layers.fill_constant([2], "bool", True),
        lambda: 1,
    ):
        with pytest.raises((TypeError, ValueError), match="While: "):
            layers.While(cond=make())


# int main() { int i = 0; if (i < 10) { for (int j = 0; j < 10; j++) { } } return 0; }
def main(i):
    total = i * 0
    if i < 10:
        j = i * 0
        while j < 10:
            j = j + 1
            total = total + j
    return total


def test_blocks_of_a_program_are_those_of_its_code():
    """The C++ example with three blocks, as Python that becomes a program."""
    with dygraph.no_grad():
        captured = jit.to_static(main)
        for start in (0, 10):
            i = dygraph.to_variable(np.array([start], "int64"))
            assert captured(i).item() == (55 if start < 10 else 0)
        program = captured.entry(i).program
    found = {own: (parent, types) for own, parent, types in blocks(program)}
    within = [own for own, (parent, _) in found.items() if parent == 0 and "while" in found[own][1]]
    assert "conditional_block" in found[0][1] and len(within) == 1
    assert [own for own, (parent, _) in found.items() if parent == within[0]] != []


def shown(a):
    """The C++ example in which an inner b hides an outer one; Python's blocks have no names."""
    seen = []
    b = 1
    if a == 4:
        inner = 2
        seen.append(inner)
    else:
        seen.append(b)
    return a * seen[0], a * b


def test_names_of_inner_blocks():
    with dygraph.no_grad():
        captured = jit.to_static(shown)
        for a, wanted in ((4, (8, 4)), (3, (3, 3))):
            got = captured(dygraph.to_variable(np.array([a], "int64")))
            assert tuple(v.item() for v in got) == wanted


# DynamicRNN ---------------------------------------------------------------------------------------


def decoder(trg_embedding, encoder_out, decoder_size, target_dict_dim, need_reorder=False):
    """The block of the slide, where the first states come in the order of the sorted sequences."""
    rnn = fluid.layers.DynamicRNN()
    with rnn.block():
        current_word = rnn.step_input(trg_embedding)
        mem = rnn.memory(init=encoder_out, need_reorder=need_reorder)
        fc1 = fluid.layers.fc(input=[current_word, mem], size=decoder_size, act="tanh")
        out = fluid.layers.fc(input=fc1, size=target_dict_dim, act="softmax")

        rnn.update_memory(mem, fc1)

        rnn.output(out)

    return rnn()


def described(need_reorder=False):
    words = layers.data("words", shape=[2], lod_level=1)
    return decoder(words, layers.data("first", shape=[3]), 3, 4, need_reorder)


@pytest.mark.parametrize("need_reorder", [False, True])
def test_dynamic_rnn_of_the_slide(need_reorder):
    """Each sequence by itself, in NumPy, with the parameters shared by all steps."""
    out = described(need_reorder)
    fluid.Executor().run(fluid.default_startup_program())
    scope, names = fluid.global_scope(), fluid.default_main_program().all_parameters()
    w, u, b, v, c = (np.array(scope.find_var(p.name).get_tensor()) for p in names)
    assert (w.shape, u.shape, v.shape) == ((2, 3), (3, 3), (3, 4)) and len(names) == 5
    rng, lengths = np.random.default_rng(0), [len(s) for s in TARGET]
    rows = rng.standard_normal((sum(lengths), 2)).astype("float32")
    first = rng.standard_normal((4, 3)).astype("float32")
    offsets = np.cumsum([0, *lengths])
    (got,) = fluid.Executor().run(
        feed={"words": dygraph.to_variable(rows, lod=[offsets.tolist()]), "first": first},
        fetch_list=[out], return_numpy=False,
    )  # fmt: skip
    assert got.lod() == [offsets.tolist()]
    place = range(4) if need_reorder else [2, 0, 3, 1]  # of a sequence among the sorted ones
    for k, begin in enumerate(offsets[:-1]):
        state = first[place[k]]
        for t in range(lengths[k]):
            state = np.tanh(rows[begin + t] @ w + state @ u + b)
            logits = np.exp(state @ v + c)
            np.testing.assert_allclose(got.numpy()[begin + t], logits / logits.sum(), rtol=1e-4)


def test_operators_of_dynamic_rnn():
    """`while` alone makes no DynamicRNN: the operators that the slide lists are there, too."""
    described()
    outside, inside = blocks()[0][2], blocks()[1][2]
    for type in ("lod_rank_table", "max_sequence_len", "lod_tensor_to_array", "while",
                 "array_to_lod_tensor"):  # fmt: skip
        assert outside.count(type) == 1, type
    assert "shrink_rnn_memory" in inside and "read_from_array" in inside


def test_sequences_of_the_figures():
    """Longest first; steps 1 to 4 have four words, step 5 three, step 6 two, step 7 one."""
    target = layers.data("target", shape=[1], lod_level=1)
    source = layers.data("source", shape=[1], lod_level=1)
    table = layers.lod_rank_table(target)
    steps = layers.lod_tensor_to_array(target, table)
    longest = layers.max_sequence_len(table)
    at = [layers.fill_constant([1], "int64", t) for t in range(7)]
    each = [layers.array_read(steps, i) for i in at]
    memory = layers.data("memory", shape=[1])
    left = [layers.shrink_memory(memory, i, table) for i in at]
    back = layers.array_to_lod_tensor(steps, table)
    external = layers.reorder_lod_tensor_by_rank(source, table)
    got = fluid.Executor().run(
        feed={"target": ragged(TARGET), "source": ragged(SOURCE),
              "memory": np.arange(4, dtype="float32")[:, None]},
        fetch_list=[longest, back, external, *each, *left], return_numpy=False,
    )  # fmt: skip
    assert got[0].item() == 7
    assert listed(got[1]) == list(range(1, 23)) and got[1].lod() == [[0, 5, 12, 16, 22]]
    assert listed(got[2]) == [*range(11, 19), *range(24, 31), *range(1, 11), *range(19, 24)]
    assert got[2].lod() == [[0, 8, 15, 25, 30]]
    assert [listed(step) for step in got[3:10]] == [
        [6, 17, 1, 13], [7, 18, 2, 14], [8, 19, 3, 15], [9, 20, 4, 16], [10, 21, 5], [11, 22], [12],
    ]  # fmt: skip
    assert [listed(m) for m in got[10:]] == [[0, 1, 2, 3]] * 4 + [[0, 1, 2], [0, 1], [0]]
