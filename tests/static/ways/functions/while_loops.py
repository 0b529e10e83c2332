"""Loops whose test asks."""

import dygraph

from ..cases import captured


@captured
def while_on_a_value(x):
    while x.sum() < 10:
        x = x + 1
    return x


@captured
def while_without_a_turn(x):
    y = x * 0
    while y.sum() > 1:
        y = y - 1
    return y + x


@captured
def counter(x):
    i = 0
    while x.sum() < 10:
        x = x + 1
        i += 1
    return x * i, i


@captured
def float_counter(x):
    t = 0.5
    while x.sum() < 10:
        x = x + t
        t = t * 1.5
    return x, t


@captured
def int_becomes_float(x):
    t = 1
    while x.sum() < 10:
        x = x + 1
        t = t * 0.5
    return x * t


@captured
def swap_each_turn(x):
    a, b = x, x * 2
    while a.sum() < 12:
        a, b = b + 1, a + 2
    return a - b


@captured
def break_by_value(x):
    i = 0
    while x.sum() < 10:
        x = x + 1
        if x.max() > 3:
            break
        i += 1
    return x * i


@captured
def continue_by_value(x):
    i = 0
    while i < 6:
        i += 1
        if x.sum() > 2:
            x = x - 1
            continue
        x = x + 0.5
    return x


@captured
def else_of_a_while(x):
    i = 0
    while x.sum() < 10:
        x = x + 1
        i += 1
        if i > 3:
            break
    else:
        x = x * 2
    return x


@captured
def return_in_a_loop(x):
    i = 0
    while x.sum() < 10:
        x = x + 1
        i += 1
        if i > 3:
            return x * 2
    return x


@captured
def return_in_a_nested_loop(x):
    i = 0
    while x.sum() < 20:
        x = x + 1
        j = 0
        while x.max() < 4:
            x = x * 1.5 + 0.25
            j += 1
            if j > 5:
                return x, i, j
        i += 1
    return x, i, 0


@captured
def while_true(x):
    while True:
        if x.sum() > 5:
            break
        x = x + 1
    return x


@captured
def while_true_returns(x):
    k = 0
    while True:
        k += 1
        if x.sum() > 5:
            return x * k
        x = x + 1


@captured
def flag_of_a_loop(x):
    done = False
    while not done:
        x = x + 1
        done = x.sum() > 5
    return x


@captured
def python_flag_of_a_loop(x):
    going = True
    while going:
        x = x + 1
        if x.sum() > 5:
            going = False
    return x


@captured
def and_in_a_test(x):
    i = 0
    while x.sum() < 10 and i < 4:
        x = x + 1
        i += 1
    return x


@captured
def or_in_a_test(x):
    i = 0
    while x.sum() < 3 or x.max() < 2:
        x = x + 0.5
        i += 1
    return x * i


@captured
def nested_while(x):
    n = 0
    while x.sum() < 12:
        y = x
        while y.max() < 3:
            y = y + 1
            n += 1
        x = x + y * 0.5
    return x, n


@captured
def break_of_an_inner_loop(x):
    total = x * 0
    for r in x:
        while r.sum() < 4:
            r = r + 1
            if r.max() > 2:
                break
        total = total + r
    return total


@captured
def loop_behind_a_loop(x):
    while x.sum() < 5:
        x = x + 1
    while x.sum() > 4:
        x = x - 0.5
    return x


@captured
def loop_on_one_way(x):
    if x.sum() > 0:
        while x.sum() < 10:
            x = x + 1
    else:
        x = x * 2
    return x


@captured
def branch_in_a_loop(x):
    k = 0
    while x.sum() < 8:
        if x.max() > 1:
            x = x + 0.5
            k = 0
        else:
            x = x + 1
            k += 1
    return x * k


@captured
def temporary_in_a_loop(x):
    while x.sum() < 8:
        t = x.max()
        u = t + 1 if t > 0 else 1 - t
        x = x + u
    return x


@captured
def tuple_carried(x):
    state = (x, x * 2)
    while state[0].sum() < 8:
        state = (state[0] + 1, state[1] - 1)
    h, c = state
    return h - c


@captured
def dict_carried(x):
    state = {"h": x, "n": 0}
    while state["h"].sum() < 8:
        state["h"] = state["h"] + 1
        state["n"] += 1
    return state["h"] * state["n"]


@captured
def object_carried(x):
    class Cell:
        pass

    cell = Cell()
    cell.h, cell.n = x, 0
    while cell.h.sum() < 8:
        cell.h = cell.h + 1
        cell.n = cell.n + 1
    return cell.h * cell.n


@captured
def two_lists_carried(x):
    hs = [x, x * 2]
    while hs[0].sum() < 8:
        hs[0] = hs[0] + 1
        hs[1] = hs[1] * 0.5
    return hs[0] - hs[1]


@captured
def closure_carries(x):
    n = 0

    def step():
        nonlocal n, x
        n += 1
        x = x + 1

    while x.sum() < 8:
        step()
    return x * n


@captured
def helper_with_a_loop(x):
    def grown(v, to):
        while v.sum() < to:
            v = v + 1
        return v

    return grown(x, 5) - grown(x * 2, 3)


@captured
def number_reset_in_a_loop(x):
    k = 0
    while x.sum() < 12:
        k += 1
        if k > 2:
            k = 0
            x = x + 2
        x = x + 0.5
    return x, k


@captured
def alternating_flag(x):
    odd = False
    while x.sum() < 8:
        odd = not odd
        x = x + 1 if odd else x + 2
    return x, odd


@captured
def integer_arithmetic(x):
    k = 7
    while x.sum() < 9:
        x = x + 1
        k = (k * 3 + 1) // 2 % 11 - 4
    return x * k + k / 4


@captured
def power_and_absolute(x):
    k = -2
    while x.sum() < 9:
        x = x + 1
        k += 1
    return x * abs(k) + k**2 - (-k)


@captured
def comparison_of_numbers(x):
    k = 0
    while x.sum() < 9:
        x = x + 1
        k += 1
    if k == 0:
        return x
    return x * 2 if 1 <= k < 4 else x * 3


@captured
def shape_grows(x):
    while x.shape[0] < 7:
        x = dygraph.concat([x, x[0:1]], axis=0)
    return x


@captured
def previous_value(x):
    last = x * 0
    while x.sum() < 9:
        last = x
        x = x + 1
    return x - last


@captured
def sum_from_a_number(x):
    total = 0
    k = 0
    while k < 3:
        total = total + x.sum() * k
        k += 1
    return total


@captured
def bisection(x):
    s = x.sum()
    steps, low, high = 0, 0.0, 8.0
    while high - low > 0.01 and steps < 50:
        mid = (low + high) / 2
        if mid * mid > s * s:
            high = mid
        else:
            low = mid
        steps += 1
    return x * low, steps


@captured
def inner_loop_left_for_the_next_turn(x):
    for i in range(x.shape[0]):
        for j in range(i, x.shape[0]):
            if i == j:
                continue
            if x[i].sum() > x[j].sum():
                break
        else:
            return x[i], i
    return x[0], -1


@captured
def else_that_continues_around(x):
    total = x[0] * 0
    for r in x:
        k = 0
        while r.sum() < 3:
            r = r + 1
            k += 1
            if k > 2:
                break
        else:
            continue
        if r.max() > 4:
            break
        total = total + r
    else:
        total = total * 2
    return total
