"""Functions whose ways change lists, dicts, attributes and closures."""

from collections import namedtuple
from dataclasses import dataclass

import dygraph

from ..cases import captured, refused


@captured
def dict_entry_by_branch(x):
    state = {"h": x, "n": 1}
    if x.sum() > 0:
        state["h"] = x * 2
    return state["h"] * state["n"]


@captured
def dict_key_by_branch(x):
    state = {"a": x}
    if x.sum() > 0:
        state["b"] = x * 2
    return sum(state.values())


@captured
def list_append_by_branch(x):
    parts = [x]
    if x.sum() > 0:
        parts.append(x * 2)
    return dygraph.concat(parts, axis=0)


@captured
def list_item_by_branch(x):
    parts = [x, x + 1]
    if x.sum() > 0:
        parts[0] = x * 3
    return parts[0] - parts[1]


@captured
def nested_containers(x):
    state = {"layers": [(x, 1), (x * 2, 2)]}
    if x.sum() > 0:
        state["layers"][1] = (x * 3, 2)
    return sum(v * k for v, k in state["layers"])


@captured
def tuple_by_branch(x):
    state = (x, x + 1)
    if x.sum() > 0:
        state = (state[1], state[0] * 2)
    h, c = state
    return h - c


Pair = namedtuple("Pair", "h c")


@captured
def named_tuple(x):
    state = Pair(x, x * 2)
    if x.sum() > 0:
        state = state._replace(h=x * 3)
    return state.h - state.c


@dataclass
class Cell:
    h: object
    steps: int = 0

    def step(self, v):
        if v.sum() > 0:
            self.h = self.h + v
            self.steps += 1
        return self.h


@captured
def attribute_by_branch(x):
    cell = Cell(x)
    cell.step(x)
    cell.step(x - 1)
    return cell.h * cell.steps


@captured
def two_names_of_a_list(x):
    a = [x]
    b = a
    if x.sum() > 0:
        a.append(x * 2)
    return sum(b) + len(b)


@captured
def set_of_numbers(x):
    seen = {1, 2}
    if x.sum() > 0:
        seen.add(3)
    return x * len(seen)


@captured
def iterator_advanced_on_one_way(x):
    numbers = iter([1, 2, 3])
    first = next(numbers)
    if x.sum() > 0:
        first = next(numbers)
    return x * first + next(numbers)


@captured
def super_and_properties(x):
    class Base:
        def __init__(self, v):
            self.__v = v

        def value(self):
            return self.__v if self.__v.sum() > 0 else self.__v - 1

        @property
        def twice(self):
            return self.__v * 2

    class Derived(Base):
        def value(self):
            return super().value() + 1

    made = Derived(x)
    return made.value() + made.twice


@captured
def object_that_is_called(x):
    class Scale:
        def __init__(self, k):
            self.k = k

        def __call__(self, v):
            if v.sum() > 0:
                return v * self.k
            return v

    return Scale(3)(x) + Scale(2)(-x)


@captured
def context_manager(x):
    class Scaled:
        def __init__(self, k):
            self.k, self.out = k, None

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.out = x * self.k

    with Scaled(2) as one:
        if x.sum() > 0:
            one.k = 5
    return one.out


@captured
def manager_of_one_way_ends_as_it_began(x):
    log = []

    class Noted:
        def __init__(self, k):
            self.k = k

        def __enter__(self):
            return None

        def __exit__(self, *error):
            log.append(self.k)

    k = 1
    if x.sum() > 0:
        k = 2
    with Noted(k):
        if x.max() > 1:
            x = x + 1
    return x * log[0]


@captured
def in_place_write(x):
    y = x * 2
    if x.sum() > 0:
        y[0] = 1.0
    return y


@captured
def in_place_write_behind_a_join(x):
    y = x * 2
    if x.sum() > 0:
        y = x * 3
    y[0] = 1.0
    return y + x


@refused("is written in place at")
def in_place_write_to_a_sometimes_alias(x):
    z = x * 2
    y = z
    if x.sum() > 0:
        y = x * 3
    y[0] = 1.0
    return y + z


@refused("`is` at")
def identity_of_a_sometimes_alias(x):
    z = x * 2
    y = z
    if x.sum() > 0:
        y = x * 3
    w = y + 1
    if y is z:
        return w
    return w * 2


@refused("lives on after the call")
def in_place_write_to_an_argument(x):
    x[0] = 1.0
    return x
