"""Loops over what the run decides, and sizes."""

import dygraph

from ..cases import captured

# Loops over what the run decides ------------------------------------------------------------------


@captured
def rows(x):
    total = x[0] * 0
    for r in x:
        total = total + r
    return total


@captured
def range_of_a_size(x):
    total = x[0] * 0
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


@captured
def range_of_len(x):
    total = x[0] * 0
    for i in range(len(x)):
        total = total * 0.5 + x[i]
    return total


@captured
def range_from_and_by(x):
    total = x[0] * 0
    for i in range(1, x.shape[0], 2):
        total = total + x[i] * i
    return total


@captured
def range_downwards(x):
    total = x[0] * 0
    for i in range(x.shape[0] - 1, -1, -1):
        total = total * 0.5 + x[i]
    return total


@captured
def range_reversed(x):
    total = x[0] * 0
    for i in reversed(range(x.shape[0])):
        total = total * 0.5 + x[i]
    return total


@captured
def range_to_a_value(x):
    n = int(x.shape[0] > 2) + 2
    y = x
    for i in range(n):
        y = y + i
    return y


@captured
def enumerated(x):
    total = x[0] * 0
    for i, r in enumerate(x):
        total = total + r * i
    return total


@captured
def enumerated_from_one(x):
    total = x[0] * 0
    for i, r in enumerate(x, 1):
        total = total + r / i
    return total


@captured
def zipped(x):
    total = 0
    for a, b in zip(x, x * 2, strict=False):
        total = total + (a * b).sum()
    return total


@captured
def zipped_of_unequal_lengths(x):
    total = x[0] * 0
    for a, b, i in zip(x, x[1:], range(3), strict=False):
        total = total + a * b * i
    return total


@captured
def enumerated_zip(x):
    total = x[0] * 0
    for i, (a, b) in enumerate(zip(x, x + 1, strict=False)):
        total = total + a * b * i
    return total


@captured
def break_over_rows(x):
    total = x[0] * 0
    for r in x:
        if r.sum() < -1:
            break
        total = total + r
    else:
        total = total * 2
    return total


@captured
def continue_over_rows(x):
    total, n = x[0] * 0, 0
    for r in x:
        if r.sum() < 0:
            continue
        total = total + r
        n += 1
    return total * n


@captured
def return_over_rows(x):
    for i, r in enumerate(x):
        if r.max() > 1:
            return r * i
    return x[0]


@captured
def nested_rows(x):
    total = x.sum() * 0
    for r in x:
        for v in r:
            if v > 0:
                total = total + v
    return total


@captured
def pairs_of_rows(x):
    total = x.sum() * 0
    for i in range(x.shape[0]):
        for j in range(i):
            total = total + (x[i] * x[j]).sum()
    return total


@captured
def last_loop_name(x):
    i = 0
    for i in range(x.shape[0]):
        x = x + i
    return x * i


@captured
def recurrent_cell(x):
    h = x[0] * 0
    c = h
    for r in x:
        i = dygraph.ops.sigmoid(r + h)
        c = c * (1 - i) + dygraph.tanh(r - h) * i
        h = dygraph.tanh(c)
    return h, c


# Sizes --------------------------------------------------------------------------------------------


@captured
def size_is_asked(x):
    if x.shape[0] > 2:
        return x * 2
    return x * 3


@captured
def size_in_arithmetic(x):
    return x.sum() / x.shape[0] + x * x.shape[0] - x.shape[0]


@captured
def size_on_the_left(x):
    return 10 - x * 2 + (x.shape[0] - x) + x.shape[0] / (x * x + 1)


@captured
def size_in_a_shape(x):
    return x.reshape([x.shape[0] * 3]) + dygraph.ones([x.shape[0] * x.shape[1]])


@captured
def arange_of_a_size(x):
    return dygraph.arange(x.shape[0]) * 2 + dygraph.arange(1, x.shape[0] + 1)


@captured
def reshape_by_sizes(x):
    n, m = x.shape
    return dygraph.reshape(x, [m, n]), x.reshape(n, 1, -1), x.reshape([1, n, m]), x.reshape([-1, n])


@captured
def expand_to_a_size(x):
    return dygraph.expand(x[0:1], [x.shape[0], 3]) + dygraph.tile(x[0:1], [x.shape[0], 1])


@captured
def size_of_zero_added(x):
    return (x * 0 - 0.0) + (x.shape[0] - x.shape[0])


@captured
def numbers_of_sizes(x):
    n = x.shape[0]
    k = n // 2 + n % 2 * 3 - max(n, 2) + min(n, 3)
    return x * k, k, n / 2


@captured
def even_or_odd(x):
    return x * 2 if x.shape[0] % 2 == 0 else x


@captured
def index_of_a_size(x):
    return x[x.shape[0] - 1] + x[-1] + x[0]


@captured
def division_by_a_size(x):
    return x * (1 / x.shape[0])
