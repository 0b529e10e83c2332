"""Functions of all kinds of statements, each with the arguments it is called with."""

import contextlib
import functools


def cases(*lists):
    """Arguments of the calls."""

    def note(function):
        function.cases = lists
        return function

    return note


@cases((0,), (1,), (7,), (-3,))
def branches(n):
    if n > 5:
        return "many"
    elif n > 0:
        size = "few"
    else:
        size = "none"
        if n < 0:
            size += "!"
    return size


@cases((0,), (3,), (10,))
def loops(n):
    total, i = 0, 0
    while i < n:
        i += 1
        if i == 3:
            continue
        if i > 7:
            break
        for k in range(i):
            if k == 4:
                break
            total += k
        else:
            total += 100
    else:
        total += 1000
    return total, i


@cases((5,), (2,))
def break_in_else(n):
    found = []
    for a in range(n):
        for b in range(2):
            found.append((a, b))
        else:
            if a == 2:
                break
            continue
        found.append("never")
    else:
        found.append("end")
    return found


@cases((5,), (0,))
def endless(n):
    seen = []
    while True:
        if n <= 0:
            break
        n -= 1
        seen.append(n)
    return seen


@cases(([1, 2, 3],), ([],), ((1, 0),), (None,))
def errors(values):
    log = []
    try:
        for v in values:
            log.append(1 / v)
    except ZeroDivisionError as error:
        log.append(str(error))
    except TypeError:
        log.append("type")
        raise
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log


@cases((1,), (0,), (2,))
def fails_at_a_line(n):
    if n == 1:
        raise ValueError(f"got {n}")
    return 1 / n


fails_at_a_line.cases = ((1,), (0,), (2,))


@cases((2,), (0,))
def finally_wins(n):
    for _ in range(3):
        try:
            return 1 / n
        finally:
            if n == 0:
                break  # noqa: B012
    return "left"


@cases((1,), (2,))
def managers(n):
    log = []

    @contextlib.contextmanager
    def noted(name):
        log.append("in " + name)
        try:
            yield name
        finally:
            log.append("out " + name)

    with noted("a") as a, noted("b") as b:
        log.append(a + b)
        if n == 1:
            return log
        with contextlib.suppress(KeyError):
            raise KeyError(n)
    log.append("after")
    return log


@cases((3,), (0,))
def comprehensions(n):
    squares = [i * i for i in range(n) if i != 1]
    pairs = {i: j for i in range(n) for j in range(i)}
    odd = {i % 2 for i in range(n)}
    total = sum(i for i in squares)
    nested = [[a for a in range(b)] for b in range(n)]
    return squares, pairs, odd, total, nested, (last := n), last


@cases(
    (4,),
)
def generators(n):
    def count(m):
        sent = None
        while m > 0:
            sent = yield (m, sent)
            m -= 1
        return "done"

    def outer():
        result = yield from count(n)
        yield result

    walk = outer()
    out = [next(walk)]
    for item in walk:
        out.append(item)
    return out


@cases((3,), (5,))
def yields(n):
    for i in range(n):
        if i == 4:
            return
        yield i


def closure(k):
    def inner(x, y=10):
        return x + k

    return inner


@cases(
    (2,),
)
def counters(n):
    k = 0

    def step():
        nonlocal k
        k += 1
        return k

    out = []
    while step() < 4:
        out.append(k)
    return out, k + n


STATE = []


@cases((1,), (2,))
def globals_change(n):
    if n:
        global STATE
        STATE = [n]
    for _ in range(2):
        STATE = STATE + [n]
    return STATE


class Base:
    def value(self, n):
        return n * 2


class Derived(Base):
    __secret = 5

    def value(self, n):
        self.__kept = super().value(n)
        if self.__kept > 3:
            return self.__kept + self.__secret
        return self.__kept

    @property
    def seen(self):
        return self.__kept

    @staticmethod
    def plain(n):
        return n + 1

    @classmethod
    def made(cls, n):
        found = cls()
        found.value(n)
        return found.seen


@cases((1,), (2,))
def classes(n):
    one = Derived()
    return one.value(n), one.seen, Derived.plain(n), Derived.made(n)


@cases((1,), (2,))
def local_classes(n):
    class Point:
        x = n

        def __init__(self, y):
            self.y = y
            self.__z = n if y else 0

        def sum(self):
            return self.x + self.y + self.__z

    return Point(5).sum(), [Point(i).sum() for i in range(n)]


@cases((1, 2), (3, 1))
def calls(a, b):
    def f(*args, key=1, **more):
        return args, key, sorted(more.items())

    return f(a, b), f(*[a, b], key=b), f(a, **{"z": b}), f(key=a, y=1), max(a, b), min([a, b])


@cases((5,), (0,))
def short_circuit(n):
    log = []

    def note(value):
        log.append(value)
        return value

    first = note(n) and note(n + 1) or note("or")
    second = note(1) < note(n) < note(9)
    third = "yes" if not note(0) else "no"
    return first, second, third, log


@cases((3,), ([1, 2],), ({"k": 4},), ("text",), ([1, 2, 3, 4],), (None,))
def matches(value):
    match value:
        case int(n) if n > 2:
            found = ("int", n)
        case [first, *rest] if len(rest) > 2:
            found = ("list", first, rest)
        case [first, second]:
            found = ("pair", first, second)
        case {"k": k, **others}:
            found = ("dict", k, others)
        case str() as text:
            found = ("text", text)
        case _:
            found = "else"
    return found


@cases((1,), (2,))
def deletes(n):
    a, b = n, [1, 2, 3]
    del b[0]
    if n == 1:
        del a
    try:
        return a, b
    except UnboundLocalError:
        return "gone", b


@cases((1,), (2,))
def assertions(n):
    assert n == 1, f"n is {n}"
    return n


@cases(([3, 1, 2],))
def sorting(values):
    values = sorted(values, key=lambda v: -v)
    values.sort(key=functools.cmp_to_key(lambda a, b: a - b))
    return values, list(map(lambda v: v + 1, values)), [*filter(None, [0, *values])]


@cases((3,))
def identity(n):
    a = [n]
    b = a
    c = [n]
    return a is b, a is c, a is not c, a == c, a is None, None is not a


@cases((6,))
def unpacking(n):
    a, (b, *c) = 1, range(n)
    d = e = [n]
    d[0], f = f"{n:>3}", {**{"a": 1}, "b": e}
    for i, (j, k) in enumerate(zip(c, c[1:], strict=False)):
        d.append((i, j, k))
    return a, b, c, d, f


@cases((3,))
def decorated(n):
    @functools.lru_cache(None)
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n + 7), fib.cache_info().hits


@cases((4,), (1,))
def recursion(n):
    return 1 if n < 2 else n * recursion(n - 1)


@cases((0,), (1,))
def reraises(n):
    try:
        try:
            return 1 // n
        except ZeroDivisionError as error:
            if n == 0:
                raise ValueError("bad") from error
    except ValueError as error:
        return str(error), repr(error.__cause__)


@cases(())
def positional(a=1, /, b=2, *, c=3):
    return a, b, c


positional.cases = ((), (5,), (5, 6))


def closes_early():
    """A generator ends when the loop over it is left."""
    log = []

    def numbers():
        try:
            yield from range(5)
        finally:
            log.append("closed")

    for i in numbers():
        if i == 1:
            break
    log.append("after")
    return log


closes_early.cases = ((),)


def reads_locals(n):
    k = n
    return sorted(locals())


def runs_text(n):
    return eval("n + 1")


async def waits(n):
    return n


def two_lambdas():
    return (lambda x: x + 1), (lambda x: x + 3)
