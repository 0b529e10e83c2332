"""Functions whose ways part and meet at branches."""

from ..cases import captured


@captured
def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + x


@captured
def if_without_else(x):
    y = x
    if x.sum() > 0:
        y = y * 2
    return y


@captured
def elif_chain(x):
    if x.sum() > 3:
        k = 1
    elif x.sum() > 0:
        k = 2
    elif x.max() > 1:
        k = 3
    else:
        k = 4
    return x * k


@captured
def nested_branches(x):
    y = x
    if x.sum() > 0:
        if x.max() > 1:
            y = y + 1
        else:
            y = y - 1
        y = y * 2
    elif x.min() < -1:
        y = y * 3
    return y - x


@captured
def early_return(x):
    if x.max() > 2:
        return x * 3
    if x.sum() > 0:
        return x
    y = x * x
    return y + 1


@captured
def return_in_both(x):
    if x.sum() > 0:
        return x + 1
    else:
        return x - 1


@captured
def conditional_expression(x):
    return x * 2 if x.sum() > 0 else x * 3 if x.max() > 1 else x


@captured
def short_and(x):
    if x.sum() > 0 and x.max() > 1 and x.min() > -1:
        return x * 2
    return x


@captured
def short_or(x):
    if x.sum() > 3 or x.max() > 1 or x.min() > -1:
        return x * 2
    return x


@captured
def negation(x):
    if not x.sum() > 0 or not (x.max() > 1 and x.min() < 0):
        return x - 2
    return x


@captured
def chained_comparison(x):
    if 0 < x.mean() < 1:
        return x * 2
    return x * 0.5


@captured
def any_and_all(x):
    parts = [x.sum() > 0, x.max() > 1, x.min() > -1]
    if any(parts):
        x = x + 1
    if all(parts):
        x = x * 2
    return x


@captured
def max_of_values(x):
    return max(x.sum(), x.max() * 2) + min([x.min(), x.mean()])


@captured
def sorted_values(x):
    a, b, c = sorted([x.sum(), x.max(), x.mean()])
    return a - b * 2 + c * 3


@captured
def number_by_branch(x):
    k = 2
    if x.sum() > 0:
        k = 3
    return x * k


@captured
def text_by_branch(x):
    mode = "plain"
    if x.sum() > 0:
        mode = "double"
    y = x + 1
    if mode == "double":
        y = y * 2
    return y


@captured
def none_by_branch(x):
    found = None
    if x.sum() > 0:
        found = x * 2
    if found is None:
        return x
    return found


@captured
def flag_by_branch(x):
    flag = x.sum() > 0
    y = x * 2 if flag else x
    if flag and x.max() > 1:
        y = y + 1
    return y


@captured
def unbound_on_one_way_and_not_read(x):
    if x.sum() > 0:
        t = x * 2
        y = t + 1
    else:
        y = x
    return y


@captured
def unbound_name_is_an_error_as_it_was(x):
    if x.sum() > 0:
        t = x * 2
    return t


@captured
def two_values_join(x):
    if x.sum() > 0:
        a, b = x, x * 2
    else:
        b, a = x, x * 3
    return a - b


@captured
def swap_on_one_way(x):
    a, b = x + 1, x * 2
    if x.sum() > 0:
        a, b = b, a
    return a - b * 0.5


@captured
def alias_on_one_way(x):
    y = x
    if x.sum() > 0:
        y = x * 1
    return y + x


@captured
def while_of_numbers(x):
    k = 0
    while k < 3:
        if x.sum() > k:
            x = x - 1
        k += 1
    return x * k


@captured
def many_sequential_questions(x):
    for k in range(12):
        if x.sum() > k:
            x = x - 0.5
        else:
            x = x + 0.25
    return x


@captured
def dead_numbers_do_not_keep_ways_apart(x):
    for k in range(12):
        if x.sum() > k:
            step = k
            x = x - step * 0.1
        else:
            step = -k
            x = x + step * 0.1
    return x


@captured
def numbers_that_count_many_ways(x):
    hits = 0
    for k in range(9):
        if x.sum() > k:
            hits += 1
            x = x - 0.5
    return x * hits
