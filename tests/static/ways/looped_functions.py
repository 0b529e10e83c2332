"""Functions with loops, each with what becomes of it. Inputs as in `joined_functions`.

More than 600 lines because each function is one case.
"""

import dygraph

from .cases import captured, refused

# Loops whose test asks ----------------------------------------------------------------------------


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
        i = dygraph.sigmoid(r + h)
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


# Lists --------------------------------------------------------------------------------------------


@captured
def list_then_stack(x):
    out = []
    for r in x:
        out.append(r * 2)
    return dygraph.stack(out)


@captured
def list_then_stack_on_axis_one(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] + i)
    return dygraph.stack(out, axis=1)


@captured
def list_then_concat(x):
    out = [x]
    k = 0
    while x.sum() < 9:
        x = x + 1
        k += 1
        out.append(x[0:1])
    return dygraph.concat(out, axis=0)


@captured
def list_of_states(x):
    hs = [x[0]]
    for r in x:
        hs.append(hs[-1] * 0.5 + r)
    return hs[-1] + hs[0] * len(hs)


@captured
def list_is_gone_over(x):
    out = []
    for r in x:
        out.append(r)
    total = x[0] * 0
    for v in out:
        total = total + v
    for i, v in enumerate(out[1:]):
        total = total + v * i
    return total


@captured
def list_on_one_way_of_a_turn(x):
    kept = [x[0]]
    for r in x:
        if r.sum() > 0:
            kept.append(r)
    return dygraph.stack(kept)


@captured
def list_in_nested_loops(x):
    out = []
    for r in x:
        for v in r:
            out.append(v)
    return dygraph.stack(out)


@captured
def list_read_by_number(x):
    out = []
    for r in x:
        out.append(r)
    total = x[0] * 0
    for i in range(len(out)):
        total = total + out[i] * i
    return total


@captured
def read_past_the_end(x):
    out = []
    for r in x:
        out.append(r)
    return out[2]


# What is refused ----------------------------------------------------------------------------------


@refused("a turn changes 'mode' from 'a' to 'b', which is no Variable and no number")
def text_changes(x):
    mode = "a"
    while x.sum() < 5:
        x = x + 1 if mode == "a" else x + 2
        mode = "b"
    return x


@refused("which is no Variable and no number")
def dict_grows(x):
    found = {}
    k = 0
    while x.sum() < 5:
        x = x + 1
        found[str(x.shape[1])] = x
        k += 1
    return x


@refused("'last' from None to a Variable")
def none_becomes_a_variable(x):
    last = None
    while x.sum() < 5:
        if last is not None:
            x = x + last * 0
        x = x + 1
        last = x
    return x


@refused("'y' is float32 before the loop at looped_functions.py:")
def type_changes(x):
    y = x
    while y.sum() < 5:
        y = y.astype("float64") + 1
    return y


@refused("which are of different ranks")
def rank_changes(x):
    y = x
    while y.sum() < 5:
        y = y.sum() + 1
    return y


@refused("Bind it before the loop")
def name_of_a_turn_is_read_behind(x):
    for r in x:
        t = r * 2
    return t


@refused("code without source loops on a value at looped_functions.py:")
def list_of_rows(x):
    return sum(list(x))


@refused("code without source loops on a value at looped_functions.py:")
def comprehension_of_rows(x):
    return sum([r * 2 for r in x])


@refused("a list whose length the run decides cannot be a result")
def list_as_a_result(x):
    out = []
    for r in x:
        out.append(r)
    return out


@refused("has append, [i], [i:], len, iteration, stack and concat, got .pop")
def list_that_shrinks(x):
    out = [x[0], x[0]]
    for r in x:
        out.append(r)
    out.pop()
    return out[0]


@refused("has a second name that cannot follow")
def list_held_by_a_caller(x):
    def fill(into):
        for r in x:
            into.append(r)

    out = []
    fill(out)
    return dygraph.stack(out)


@refused("what needs an int at looped_functions.py:")
def axis_of_the_run(x):
    return dygraph.functional.cumsum(x, axis=x.shape[0] - x.shape[0])


@refused("what needs an int at looped_functions.py:")
def index_of_python(x):
    return x * [1, 2, 3, 4, 5, 6][x.shape[0]]


@refused("the size of axis 0 of 'x' is known when the program runs")
def size_as_a_key(x):
    return x * {2: 3}.get(x.shape[0], 1)


@refused("it stands in a generator")
def loop_in_a_generator(x):
    def values():
        for r in x:
            yield r * 2

    return sum(values())


@refused("the step of range()")
def step_of_the_run(x):
    for i in range(0, 8, x.shape[0]):
        x = x + i
    return x
