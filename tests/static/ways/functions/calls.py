"""Functions that ask in what they call."""

import functools

import dygraph

from ..cases import captured


def halved(v):
    if v.sum() > 0:
        return v * 0.5
    return v + 1


def several(v):
    if v.sum() > 0:
        return v, v * 2, 1
    return v * 2, v, 2


@captured
def helper(x):
    return halved(x) + 1


@captured
def half_computed_expression(x):
    return halved(x) * 2 - halved(x - 1) * halved(x + 1)


@captured
def helper_in_arguments(x):
    return dygraph.concat([halved(x), halved(-x)], axis=0)


@captured
def helper_gives_several(x):
    a, b, k = several(x)
    return a - b * k


@captured
def helper_gives_a_list(x):
    def parts(v):
        if v.sum() > 0:
            return [v, v + 1]
        return [v - 1, v]

    return sum(parts(x)) + parts(-x)[0]


@captured
def recursion_on_numbers(x):
    def power(v, n):
        if n == 0:
            return v
        if v.sum() > 10:
            return v
        return power(v * 1.5, n - 1)

    return power(x, 3)


@captured
def closure_changes_a_name(x):
    total = x * 0

    def add(v):
        nonlocal total
        if v.sum() > 0:
            total = total + v

    add(x)
    add(x - 1)
    return total


@captured
def closure_reads_a_changed_name(x):
    scale = 1

    def scaled(v):
        return v * scale

    if x.sum() > 0:
        scale = 3
    return scaled(x)


@captured
def default_arguments(x):
    def f(v, by=2, *, plus=1):
        if v.sum() > 0:
            by = by + 1
        return v * by + plus

    return f(x) + f(x, 5) + f(x, plus=2)


@captured
def star_arguments(x):
    def f(*vs, **named):
        out = vs[0]
        for v in vs[1:]:
            if v.sum() > 0:
                out = out + v
        return out * named.get("by", 1)

    return f(x, x + 1, x - 1) + f(*[x, x], **{"by": 2})


@captured
def lambdas(x):
    pick = lambda v: v * 2 if v.sum() > 0 else v - 1  # noqa: E731
    return pick(x) + pick(-x)


@captured
def functions_by_branch(x):
    f = dygraph.exp if x.sum() > 0 else dygraph.ops.sigmoid
    return f(x * 0.1)


@captured
def partial(x):
    def f(a, b, k):
        return a + b * k if a.sum() > 0 else b

    return functools.partial(f, x, k=3)(x - 1)


@captured
def mapped(x):
    return sum(map(halved, [x, -x, x + 1]))


@captured
def comprehension(x):
    return sum([halved(x + k) for k in range(3)])


@captured
def filtered(x):
    kept = [v for v in (x, -x, x * 2) if v.sum() > 0]
    return sum(kept, x) + len(kept)


@captured
def generator(x):
    def values():
        yield x
        if x.sum() > 0:
            yield x * 2
        yield x + 1

    return sum(values())


@captured
def generator_is_left_early(x):
    def values():
        for k in range(3):
            if x.sum() > k:
                yield x + k

    for v in values():
        if v.sum() > 2:
            return v
    return x


@captured
def decorated(x):
    def doubled(f):
        @functools.wraps(f)
        def inner(v):
            return f(v) * 2

        return inner

    @doubled
    def f(v):
        if v.sum() > 0:
            return v + 1
        return v

    return f(x)


@captured
def walrus(x):
    if (s := x.sum()) > 0:
        return x * s
    return x - s


@captured
def match_on_numbers(x):
    k = 1 if x.sum() > 0 else 2
    match k:
        case 1:
            y = x * 2
        case _:
            y = x - 1
    return y
