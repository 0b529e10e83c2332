"""A write into a part, whose values are its own, raises as long as the whole lives."""

import gc

import numpy as np
import pytest

import dygraph

TEXT = r"a part has values of its own.*shape \[2, 3\].*x\[0, 1\] = value.*x\[0\]\.clone\(\)"


def matrix():
    return dygraph.to_variable(np.arange(6, dtype="float32").reshape(2, 3))


PARTS = {
    "item": lambda x: x[0],
    "column": lambda x: x[:, 1],
    "stepped": lambda x: x[:, ::2],
    "new axis": lambda x: x[None],
    "item of a part": lambda x: x[0][1:],
    "reshape": lambda x: x.reshape(6),
    "reshape of a temporary": lambda x: x.reshape(3, 2).reshape(-1),
    "view": lambda x: x.view(-1),
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.permute(1, 0),
    "flatten": lambda x: x.flatten(),
    "squeeze": lambda x: x[None].squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "expand": lambda x: x.expand([4, 2, 3]),
    "row of a loop": lambda x: next(iter(x)),
    "unbind": lambda x: x.unbind(0)[1],
    "chunk": lambda x: x.chunk(3, axis=1)[0],
    "split": lambda x: dygraph.split(x, sizes=[1, 1])[0],
    "detach": lambda x: x.detach(),
}


def set_items(y):
    y[...] = 9.0


WRITES = {
    "setitem": set_items,
    "fill_": lambda y: y.fill_(9.0),
    "add_": lambda y: y.add_(1.0),
    "set_value": lambda y: y.set_value(np.zeros(y.shape, "float32")),
}


@pytest.mark.parametrize("take", PARTS.values(), ids=PARTS)
def test_a_write_raises_while_the_whole_lives(take):
    for write in WRITES.values():
        x = matrix()
        part = take(x)
        with pytest.raises(RuntimeError, match=TEXT):
            write(part)
        with pytest.raises(RuntimeError, match=TEXT):
            part += 1.0
        np.testing.assert_array_equal(x.numpy(), np.arange(6).reshape(2, 3))
        own = part.clone()
        write(own)
        del x
        gc.collect()
        write(part)  # nothing else shows the difference
        np.testing.assert_array_equal(part.numpy(), own.numpy())


def test_writes_into_temporaries():
    x = matrix()
    with pytest.raises(RuntimeError, match=TEXT):
        x[0][1] = 5.0
    with pytest.raises(RuntimeError, match=TEXT):
        x[0][1] += 5.0
    with pytest.raises(RuntimeError, match=TEXT):
        x.reshape(6)[0] = 5.0
    with pytest.raises(RuntimeError, match=TEXT):
        x[0].zero_()
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_augmented_assignment_to_elements():
    x = matrix()
    x[0] += 10.0
    x[:, 1] *= 2.0
    x[1, 2] -= 5.0
    assert x.tolist() == [[10, 22, 12], [3, 8, 0]]
    w = dygraph.to_variable([1.0, 2.0]).astype("float32").requires_grad_()
    y = w * 1.0
    y[0] *= 3.0
    y.sum().backward()
    assert w.grad.tolist() == [3, 1]


def test_copies_and_results_are_no_parts():
    x = matrix()
    mask = x > 2
    for copy in (x[0].clone(), x[mask], x[[0, 1]], x + 0, x[0] * 2, dygraph.concat([x, x])):
        copy += 1.0
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_name_may_be_bound_anew():
    def forward(x):
        x = x * 2
        x = x.reshape(6)
        x += 1.0
        return x

    assert forward(matrix()).tolist() == [1, 3, 5, 7, 9, 11]


def test_data_writes_into_the_variable():
    w = dygraph.Parameter(np.array([1.0, 2.0, 3.0], "float32"))
    loss = (w * w).sum()
    w.data[0] = 9.0
    assert w.tolist() == [9, 2, 3] and w.requires_grad and w.is_leaf
    w.data.mul_(2)
    w.data -= 1.0
    w.data.data.clamp_(max=4.0)
    assert w.tolist() == [4, 3, 4]
    values = w.data
    values += 1.0
    assert w.tolist() == values.tolist() == [5, 4, 5]
    loss.backward()  # the tape keeps the values it has seen
    assert w.grad.tolist() == [2, 4, 6]
    with pytest.raises(RuntimeError, match="a part has values of its own"):
        w[:2].data.zero_()
    kept = w.data
    del w
    gc.collect()
    kept.zero_()
    assert kept.tolist() == [0, 0, 0]


def test_parts_do_not_keep_the_whole_alive():
    x = dygraph.zeros(100, 100)
    parts = [x[i] for i in range(100)]
    del x
    gc.collect()
    for part in parts:
        part.fill_(1.0)
    assert sum(part.sum().item() for part in parts) == 100 * 100


@pytest.mark.parametrize("name", ["float", "double"])
def test_a_conversion_to_the_same_type_is_the_variable(name):
    x = dygraph.zeros(2, dtype="float32" if name == "float" else "float64")
    assert getattr(x, name)() is x and x.to(x.dtype) is x
