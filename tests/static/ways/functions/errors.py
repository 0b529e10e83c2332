"""Functions that raise on some ways."""

from ..cases import captured
from .calls import halved


@captured
def raises_on_one_way(x):
    if x.sum() > 3:
        raise ValueError("too large")
    return x


@captured
def one_error_of_several_ways(x):
    if not -0.5 < x.mean() < 0.5:
        halved(x)
        raise ValueError("mean")
    return x


@captured
def errors_behind_and_between_results(x):
    if x.sum() > 3:
        if x.max() > 2:
            y = halved(x)
            raise KeyError("max")
        return x
    y = halved(x) * 2
    if y.mean() < -1:
        raise ValueError("mean")
    return y


@captured
def asserts(x):
    assert x.sum() < 3, "too large"
    return x * 2


@captured
def caught_error(x):
    try:
        if x.sum() > 0:
            raise KeyError("positive")
        y = x
    except KeyError:
        y = x * 2
    return y


@captured
def caught_error_of_a_helper(x):
    def checked(v):
        if v.max() > 1:
            raise ValueError("max")
        return v

    try:
        y = checked(x)
    except ValueError as error:
        y = x * len(error.args)
    else:
        y = y + 1
    finally:
        x = x * 2
    return y + x


@captured
def finally_with_a_question(x):
    try:
        if x.sum() > 0:
            return x
        y = x * 2
    finally:
        if x.max() > 1:
            x = x + 5
    return y + x


@captured
def result_waits_in_finally(x):
    def f(v):
        try:
            if v.sum() > 0:
                return v
            return v * 2
        finally:
            v = v - 100
            if v.max() > -99:
                v = v + 1

    return f(x)


@captured
def reraise_in_a_handler(x):
    try:
        if x.sum() > 0:
            raise ValueError("one")
        raise KeyError("two")
    except (ValueError, KeyError):
        if x.max() > 1:
            return x + 1
        raise


@captured
def error_of_python(x):
    parts = [x]
    k = 0
    if x.sum() > 0:
        k = 1
    return parts[k]


@captured
def division_by_a_number_of_the_run(x):
    k = 0
    for row in x:
        if row.sum() > 0:
            k += 1
    return x * (6 / k)


@captured
def custom_error(x):
    class Mine(Exception):
        pass

    try:
        if x.sum() > 0:
            raise Mine("mine")
    except Mine:
        return x
    return x * 2
