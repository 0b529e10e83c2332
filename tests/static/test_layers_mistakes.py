"""Wrong arguments of layer functions: typed errors that name the layer, and lines while running."""

import traceback

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PreconditionNotMetError,
)
from dygraph.static import layers


def x(*shape, dtype="float32"):
    block = static.default_main_program().global_block()
    return block.create_var(shape=shape or (-1, 4), dtype=dtype)


MISTAKES = [
    ("relu", lambda: layers.relu(), ArgumentTypeError, "missing a required argument: 'x'"),
    ("relu", lambda: layers.relu(y=3), ArgumentTypeError, "missing a required argument: 'x'"),
    ("relu", lambda: layers.relu(x(), nam="a"), ArgumentTypeError, "Did you mean 'name'"),
    ("relu", lambda: layers.relu(x(), x=x()), ArgumentTypeError, "multiple values"),
    ("relu", lambda: layers.relu(x(), "a", 3), ArgumentTypeError, "too many"),
    ("fc", lambda: layers.fc(x(), sise=3), ArgumentTypeError, "size"),
    ("relu", lambda: layers.relu(x(), 1), ArgumentTypeError, "name must be a string"),
    ("relu", lambda: layers.relu(np.ones(3)), ArgumentTypeError, "ndarray"),
    ("relu", lambda: layers.relu(None), ArgumentTypeError, "None"),
    ("elementwise_add", lambda: layers.elementwise_add(x(), dygraph.ones([4])), ArgumentTypeError,
     "got both"),
    ("elementwise_add", lambda: layers.elementwise_add(x(3, 4), x(3, 5)), InvalidArgumentError,
     "5"),
    ("elementwise_add", lambda: layers.elementwise_add(x(), x(), act="rely"), InvalidArgumentError,
     "Did you mean 'relu'"),
    ("clamp", lambda: layers.clamp(x(), "a"), ArgumentTypeError, "float"),
    ("concat", lambda: layers.concat([x(3, 4), x(3, 5)]), InvalidArgumentError, "5"),
    ("concat", lambda: layers.concat([x()], "0"), ArgumentTypeError, "axis"),
    ("split", lambda: layers.split(x(), 3), InvalidArgumentError, "3"),
    ("split", lambda: layers.split(x(), 2, 5), OutOfRangeError, "dim"),
    ("reshape", lambda: layers.reshape(x(3, 4), [5, -1]), InvalidArgumentError, "5"),
    ("reshape", lambda: layers.reshape(x(3, 4), ["a"]), ArgumentTypeError, "shape"),
    ("fill_constant", lambda: layers.fill_constant(3, "float32", 1.0), ArgumentTypeError, "shape"),
    ("fill_constant", lambda: layers.fill_constant([3], "float32", "a"), ArgumentTypeError,
     "value"),
    ("assign", lambda: layers.assign("a"), ArgumentTypeError, "array"),
    ("where", lambda: layers.where(x()), InvalidArgumentError, "bool"),
    ("unstack", lambda: layers.unstack(x()), InvalidArgumentError, "num must be given"),
    ("sequence_pool", lambda: layers.sequence_pool(x(), "middle"), InvalidArgumentError, "middle"),
    ("pool2d", lambda: layers.pool2d(x(1, 3, 4, 4)), InvalidArgumentError, "pool_size"),
    ("fc", lambda: layers.fc(dygraph.ones([2, 3]), 3), ArgumentTypeError, "dygraph.nn"),
    ("fc", lambda: layers.fc(x(4, -1), 3), InvalidArgumentError, "must be known"),
    ("fc", lambda: layers.fc(x(), 0), InvalidArgumentError, "size"),
    ("fc", lambda: layers.fc(x(), 3, act="rely"), InvalidArgumentError, "relu"),
    ("fc", lambda: layers.fc([x(), x()], 3, param_attr=["a"] * 3), InvalidArgumentError, "got 3"),
    ("embedding", lambda: layers.embedding(x(-1, 1), [4, 5]), ArgumentTypeError, "int64"),
    ("embedding", lambda: layers.embedding(x(-1, 1, dtype="int64"), [4, 5], padding_idx=4),
     InvalidArgumentError, "padding_idx"),
    ("conv2d", lambda: layers.conv2d(x(), 3, 3), InvalidArgumentError, "4 axes"),
    ("conv2d", lambda: layers.conv2d(x(1, -1, 4, 4), 3, 3), InvalidArgumentError, "channels"),
    ("conv2d", lambda: layers.conv2d(x(1, 3, 4, 4), 3, 3, groups=2), InvalidArgumentError,
     "groups"),
    ("conv2d", lambda: layers.conv2d(x(1, 3, 4, 4), 3, 3, padding="MIDDLE"), InvalidArgumentError,
     "SAME"),
    ("conv2d_transpose", lambda: layers.conv2d_transpose(x(1, 3, 4, 4), 3), InvalidArgumentError,
     "output_size or filter_size"),
    ("batch_norm", lambda: layers.batch_norm(x(), data_layout="CHWN"), InvalidArgumentError,
     "NHWC"),
    ("dropout", lambda: layers.dropout(x(), 2.0), InvalidArgumentError, "dropout_prob"),
    ("prelu", lambda: layers.prelu(x(), "some"), InvalidArgumentError, "some"),
    ("dynamic_lstm", lambda: layers.dynamic_lstm(x(), 6), InvalidArgumentError, "divisible by 4"),
    ("crf_decoding", lambda: layers.crf_decoding(x(), "none"), NotFoundError, "none"),
    ("nce", lambda: layers.nce(x(), x(-1, 1, dtype="int64"), 9, sampler="best"),
     InvalidArgumentError, "log_uniform"),
    ("cast", lambda: layers.cast(x(), "float31"), Exception, "float31"),
]  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES, ids=[f"{i}-{m[0]}" for i, m in enumerate(MISTAKES)])
def test_mistakes_name_the_layer(case):
    name, call, kind, part = case
    program, startup = static.Program(), static.Program()
    with static.program_guard(program, startup), pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(f"{name}:"), caught.value
    assert part in str(caught.value), caught.value
    # What was begun is taken back.
    assert not program.global_block().ops and not program.all_parameters()
    assert not startup.global_block().ops and not startup.global_block().vars


def test_mistakes_of_eager_calls():
    with pytest.raises(ArgumentTypeError, match="relu: too many"):
        layers.relu(dygraph.ones([2]), "a", 3)
    with pytest.raises(ArgumentTypeError, match="square_error_cost: missing .* 'label'"):
        layers.square_error_cost(dygraph.ones([2]))
    with pytest.raises(InvalidArgumentError, match="concat"):
        layers.concat([dygraph.ones([2, 3]), dygraph.ones([2, 4])])


def test_unknown_functions():
    with pytest.raises(AttributeError, match="Did you mean 'relu'"):
        layers.rely  # noqa: B018
    with pytest.raises(AttributeError):
        layers.fetch  # noqa: B018 - an operator that has no function


@pytest.mark.parametrize("name", ["filter_by_instag"])
def test_what_is_not_there_is_no_stub(name):
    assert not hasattr(layers, name)


def test_errors_while_running_name_the_line():
    program = static.Program()
    with static.program_guard(program):
        a, b = static.data("a", [None, None]), static.data("b", [None, None])
        out = layers.matmul(a, b)  # the line
    feed = {"a": np.ones((2, 3), "float32"), "b": np.ones((4, 2), "float32")}
    with pytest.raises(InvalidArgumentError) as caught:
        static.Executor().run(program, feed, [out])
    line = test_errors_while_running_name_the_line.__code__.co_firstlineno + 4
    assert f"test_layers_mistakes.py:{line}" in str(caught.value)
    assert "matmul" in str(caught.value)


def test_a_type_without_a_kernel_is_told_while_describing():
    program = static.Program()
    with static.program_guard(program):
        a = static.data("a", [2], "int64")
        with pytest.raises(NotImplementedError, match="erf: there must be a kernel for int64") as e:
            layers.erf(a)  # the line
    lines = [entry.line for entry in traceback.extract_tb(e.tb) if entry.filename == __file__]
    assert lines == ["layers.erf(a)  # the line"] and not program.global_block().ops


def test_variables_of_two_programs():
    with static.program_guard(static.Program()):
        a = x()
    with static.program_guard(static.Program()):
        b = x()
    with pytest.raises(InvalidArgumentError, match="elementwise_add: .*one program"):
        layers.elementwise_add(a, b)


UNKNOWN = {
    "size": lambda x: x.size,
    "unbind": dygraph.unbind,
    "unstack": dygraph.unstack,
    "chunk": lambda x: dygraph.chunk(x, 2),
    "repeat_interleave": lambda x: dygraph.repeat_interleave(x, [1, 2], axis=0),
    "median": lambda x: dygraph.median(x, axis=0),
    "len": len,
    "a loop": list,
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_numbers_that_an_unknown_size_decides_raise(name):
    with pytest.raises(PreconditionNotMetError, match="known when the program runs"):
        UNKNOWN[name](x(-1, 3))
    assert x(2, 3).size == 6 and len(dygraph.unbind(x(-1, 3), axis=1)) == 3
    assert len(dygraph.chunk(x(-1, 4), 2, axis=1)) == 2
