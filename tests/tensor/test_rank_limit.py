"""A tensor has at most 16 axes. Every way to a shape says so before anything is written."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static
from dygraph.static import layers

MANY = [0] + [0x41414141] * 40
ONES = [1] * 17
AT_MOST = "at most 16 axes, got (17|18|19|32|41)"


def empty():
    return dygraph.zeros([0, 3])


def one():
    return dygraph.ones([1])


def sixteen():
    return dygraph.ones([1] * 15 + [2])


@pytest.mark.parametrize("shape", [MANY, [0, 3, *ONES], [0, *ONES[1:]]], ids=len)
def test_an_empty_tensor_is_not_reshaped_beyond(shape):
    with pytest.raises(ValueError, match=AT_MOST):
        empty().reshape(shape)


@pytest.mark.parametrize(
    "make",
    [
        lambda: one().reshape(ONES),
        lambda: dygraph.zeros(ONES),
        lambda: dygraph.zeros(MANY),
        lambda: dygraph.full(ONES, 1.0),
        lambda: dygraph.uniform(ONES),
        lambda: sixteen()[None],
        lambda: F.unsqueeze2(sixteen(), axes=[0]),
        lambda: F.stack([sixteen(), sixteen()]),
        lambda: F.expand_v2(one(), shape=ONES),
        lambda: F.tile(one(), repeat_times=ONES),
        lambda: F.one_hot(dygraph.zeros([1] * 16 + [1], dtype="int64"), depth=3),
        lambda: dygraph.to_variable(np.zeros(ONES)),
        lambda: F.lookup_table_v2(dygraph.ones([3, 2]), dygraph.zeros([1] * 16, dtype="int64")),
        lambda: sixteen()[np.zeros((1, 1), "int64")],
        lambda: F.gather_nd(sixteen(), dygraph.zeros([1] * 15 + [1], dtype="int64")),
    ],
)
def test_seventeen_axes_are_refused(make):
    with pytest.raises((ValueError, IndexError, NotImplementedError)) as error:
        make()
    assert "16" in str(error.value)


def test_a_program_whose_shape_was_altered_is_refused_when_it_runs():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [0, 3])
        out = layers.reshape(x, [0, 3, 7])
    program.global_block().ops[-1].set_attr("shape", MANY)
    read = static.Program.parse_from_string(program.serialize_to_string())
    for altered in (program, read):
        with pytest.raises(ValueError, match="at most 16 axes, got 41"):
            static.Executor().run(
                altered, feed={"x": np.zeros((0, 3), "float32")}, fetch_list=[out.name]
            )


def test_sixteen_axes_work():
    x = dygraph.to_variable(np.arange(2.0, dtype="float32").reshape([1] * 15 + [2]))
    assert x.sum().numpy() == 1
    assert (x + x).numpy().tolist() == (2 * x.numpy()).tolist()
    assert x.transpose(list(range(15, -1, -1))).shape[0] == 2
