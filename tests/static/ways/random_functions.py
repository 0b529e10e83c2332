"""Random functions, each explored and compared with eager calls, bit for bit.

``python tests/static/ways/random_functions.py 0 100000`` runs them, ``... --reduce SEED`` makes a
function that fails as short as it can.
"""

import argparse
import ast
import collections
import itertools
import linecache
import random
import signal
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (1, 3)]

import numpy as np  # noqa: E402

import dygraph  # noqa: E402
from dygraph import jit  # noqa: E402
from dygraph.static.ways.explore import Input  # noqa: E402
from dygraph.static.ways.graph import Refused, reachable  # noqa: E402
from ways import graph_runner, program_runner  # noqa: E402

INPUTS = [
    np.random.default_rng(seed).normal(shift, 1.5, (rows, 3)).astype("float32")
    for seed, (rows, shift) in enumerate([(2, 0), (1, 1), (4, -1), (3, 0.5), (5, 0), (1, -2)])
]

HELPERS = """\
def h(v):
    if v.sum() > 0:
        return v * 0.5
    return v + 1

def pair(v, w=None):
    if w is None:
        return v, v * 2
    return (v + w, w) if v.max() > w.max() else (w, v)

class Box:
    def __init__(self, v):
        self.v, self.n = v, 0

    def put(self, v):
        if v.sum() > self.v.sum():
            self.v = v
            self.n += 1
        return self.v

"""


CONSTANT = "dygraph.to_variable(np.float32([[1, -1, 0.5]]))"


class Writer:
    """Writes one random function: `small` ones take a tenth of the time, those with `constants`
    begin with eager Variables of Python values."""

    def __init__(self, seed, small=False, constants=False):
        self.r, self.n, self.constants = random.Random(seed), 0, constants
        self.depth, self.most = (2, 3) if small else (3, 6)
        self.results = self.pick(
            ["x + y + z * k", "y", "x - st['v']", "z + len(lst)", "lst[-1] + x"],
            ["(x, z, k)", "(y, h(x), k + 1)"],
            ["{'a': box.v, 'n': box.n}", "{'a': x, 'n': k}"],
            ["x", "y", "z"],
        )

    def pick(self, *of):
        return self.r.choice(of)

    def result(self):
        return self.r.choice(self.results)

    def name(self):
        return self.pick("x", "y", "z")

    def expression(self):
        a, b = self.name(), self.name()
        return self.pick(
            f"{a} + {self.pick(1, 2, -1)}", f"{a} * 0.5", f"{a} - {b}", f"{b} + {a} * 0.25",
            f"-{a}", f"h({a})", f"({a} * 2 if {self.condition()} else {a} - 1)", f"{a} * k",
            f"pair({a})[1]", f"pair({a}, {b})[0]", f"box.put({a})", f"{a} / (k + 2)",
            f"{a} + x.shape[0]", f"dygraph.where({a} > 0, {a}, {b})", f"h({a}) - h({b})",
        )  # fmt: skip

    def condition(self):
        a = self.name()
        simple = [
            f"{a}.sum() > {self.pick(0, 1, -2)}", f"{a}.max() > {self.pick(0, 1)}",
            f"k > {self.pick(1, 2)}", "flag", f"x.shape[0] > {self.pick(1, 3)}",
            f"{self.pick(-1, 0)} < {a}.mean() < 1", "len(lst) > 2", "box.n > 1",
        ]  # fmt: skip
        text = self.r.choice(simple)
        if self.r.random() < 0.25:
            text += f" {self.pick('and', 'or')} {self.r.choice(simple)}"
        return f"not ({text})" if self.r.random() < 0.1 else text

    def block(self, depth, loop):
        out = []
        for _ in range(self.r.randint(1, 3)):
            out += self.statement(depth, loop)
        return indented(out)

    def simple(self):
        q = self.r.random()
        if q < 0.56:
            return f"{self.name()} = {self.expression()}"
        if q < 0.64:
            return "k = k + 1"
        if q < 0.70:
            return self.pick("flag = not flag", f"flag = {self.condition()}")
        if q < 0.77:
            return f"st['v'] = {self.expression()}"
        if q < 0.83:
            return f"{self.name()} = st['v'] + {self.name()}"
        if q < 0.87:
            return f"lst.append({self.name()})"
        if q < 0.91:
            return f"{self.name()} = " + self.pick("lst[-1] * 0.5", "lst[0] + len(lst)")
        if q < 0.94:
            return f"x, y = {self.pick('y, x', 'pair(x, y)')}"
        if q < 0.97:
            return f"{self.pick('t', 'u')} = ({self.name()}, k)\nz = z + t[0] * t[1]"
        return f"assert {self.condition()}, 'asserted'" if self.r.random() < 0.3 else "bump()"

    def statement(self, depth, loop):
        k, i = self.r.random(), self.n
        self.n += 1
        if depth >= self.depth or k < 0.42:
            return self.simple().split("\n")
        if k < 0.66:
            out = [f"if {self.condition()}:", *self.block(depth + 1, loop)]
            if self.r.random() < 0.2:
                out += [f"elif {self.condition()}:", *self.block(depth + 1, loop)]
            return out + (["else:", *self.block(depth + 1, loop)] if self.r.random() < 0.5 else [])
        if k < 0.70:
            out = ["try:", *self.block(depth + 1, loop)]
            kind = self.pick("except AssertionError:", "finally:")
            return [*out, kind, *indented([f"{self.name()} = {self.name()} * 0.5"])]
        if k < 0.78:
            more = [f"    x = x + i{i}"] if self.r.random() < 0.4 else []
            head = f"for i{i} in range({self.r.randint(1, 3)}):"
            return [head, *self.block(depth + 1, True), *more, *self.behind(loop)]
        if k < 0.85:
            return [*self.open_loop(i, depth), *self.behind(loop)]
        if k < 0.92:
            first = [f"c{i} += 1", f"if c{i} > {self.r.randint(1, 4)}:", "    break"]
            first.append(f"{self.name()} = {self.expression()}")
            head = f"while {self.name()}.sum() < {self.pick(5, 1, 20)}:"
            more = ["else:", f"    k = {self.pick(0, 3)}"] if self.r.random() < 0.2 else []
            return [f"c{i} = 0", head, *indented(first), *self.block(depth + 1, True), *more]
        if loop and k < 0.96:
            return [f"if {self.condition()}:", "    " + self.pick("break", "continue")]
        return [f"if {self.condition()}:", "    return " + self.result()]

    def behind(self, loop):
        """An ``else`` of a loop, which may leave the loop around it."""
        if self.r.random() > 0.2:
            return []
        what = f"{self.name()} = {self.expression()}"
        if loop and self.r.random() < 0.6:
            what = self.pick("break", "continue", f"return {self.result()}")
        elif self.r.random() < 0.2:
            what = f"return {self.result()}"
        return ["else:", f"    {what}"]

    def open_loop(self, i, depth):
        head, first = self.pick(
            (f"for r{i} in x:", f"z = z + r{i} * 0.1"),
            (f"for i{i} in range(x.shape[0]):", f"y = y + x[i{i}] * 0.1"),
            (f"for i{i}, r{i} in enumerate(x):", f"z = z + r{i} * i{i}"),
            (f"for a{i}, b{i} in zip(x, st['w']):", f"z = z + a{i} * b{i}"),
            (f"for v{i} in lst[0:]:", f"z = z + v{i} * 0.5"),
            (f"for v{i} in reversed(range(k)):", f"z = z + v{i} * 0.5"),
        )
        if head.startswith("for r") or "zip" in head or "enumerate" in head or "reversed" in head:
            head = head.replace(" x:", " st['w']:") if "zip" not in head else head
            head = head.replace("(x)", "(st['w'])").replace("zip(x,", "zip(st['w'],")
        if "x[i" in first:
            head, first = head.replace("x.", "st['w']."), first.replace("x[", "st['w'][")
        return [head, f"    {first}", *self.block(depth + 1, True)]

    def function(self):
        body = []
        for _ in range(self.r.randint(self.most // 2, self.most)):
            body += self.statement(0, False)
        first = [
            "y, z, k, flag, st, lst = x * 0.5, x - 1, 0, False, {'v': x, 'w': x}, [x]",
            "t, box = (x, 1), Box(y)",
            "def bump():",
            "    nonlocal k, x",
            "    if x.sum() > 0:",
            "        k += 1",
            "    x = x + 0.5",
        ]
        if self.constants:
            first.insert(1, f"y, z, st['v'] = {', '.join([CONSTANT] * 3)}")
        lines = indented([*first, *body, f"return {self.result()}"])
        return HELPERS + "def f(x):\n" + "\n".join(lines) + "\n"


def indented(lines):
    return ["    " + line for line in lines]


class Late(BaseException):
    pass


def _late(*_):
    raise Late


def made(source, name):
    """The function `f` of a text, whose source Python can find."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    variables = {"dygraph": dygraph, "np": np, "__name__": "random_function"}
    exec(compile(source, name, "exec"), variables)
    return variables["f"]


def outcome(function):
    """("gives", parts) or ("raises", type): results flattened to text and bits."""
    try:
        with dygraph.no_grad():
            return "gives", bits(function())
    except graph_runner.Endless:
        return ("endless",)
    except Refused:  # when the program is written
        raise
    except Exception as error:
        return "raises", type(error).__name__, str(error) if type(error) is AssertionError else ""


def bits(result):
    if isinstance(result, dygraph.Variable):
        array = result.numpy()
        return str(array.dtype), array.shape, array.tobytes()
    if isinstance(result, (list, tuple)):
        return [bits(r) for r in result]
    if isinstance(result, dict):
        return {k: bits(v) for k, v in result.items()}
    return type(result).__name__, result


def check(source, name, runners=(), seconds=30):
    """("right", (ways, loops)), ("refused", text), or what is wrong."""
    function = made(source, name)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(seconds)
    try:
        want = [outcome(lambda x=x: function(dygraph.to_variable(x))) for x in INPUTS]
        with dygraph.no_grad():
            explorer = graph_runner.explored(function, Input("x", [None, 3], "float32"))
        for run in (graph_runner.run, *runners):
            for x, expected in zip(INPUTS, want, strict=True):
                got = outcome(lambda x=x, r=run: r(explorer, {"x": dygraph.to_variable(x)}))
                alike = run in runners and got[0] == expected[0] == "raises"
                if got != expected and not alike:
                    return "wrong", f"{run.__name__}: {expected} {got}"[:400]
        blocks = reachable(explorer.root)
        return "right", (explorer.runs, sum(b.loop is not None for b in blocks))
    except Refused as error:
        return "refused", str(error)
    except Late:
        return "late", ""
    except Exception as error:
        if all(w[:2] == ("raises", type(error).__name__) for w in want):
            return "right", (0, 0)  # before any question
        return "error", f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)


def gradients(function, x):
    """("gives", results and the gradient of their sum) or ("raises", type)."""
    x = dygraph.to_variable(x)
    x.stop_gradient = False
    try:
        result = function(x)
        floats = [r for r in parts(result) if not r.stop_gradient]
        grad = None
        if floats:
            (grad,) = dygraph.grad(sum(r.sum() for r in floats), x, allow_unused=True)
        return "gives", bits(result), bits(grad)
    except Refused:
        raise
    except Exception as error:
        return "raises", type(error).__name__


def parts(result):
    if isinstance(result, dygraph.Variable):
        return [result]
    inner = list(result.values()) if isinstance(result, dict) else result
    return [p for r in inner for p in parts(r)] if isinstance(inner, (list, tuple)) else []


def check_gradients(source, name, seconds=30):
    """As `check`, of captured calls in training."""
    function = made(source, name)
    captured = jit.to_static(function, verify=False)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(seconds)
    try:
        for x in INPUTS:
            want, got = gradients(function, x), gradients(captured, x)
            if got != want and not (got[0] == want[0] == "raises"):
                return "wrong", f"{want} {got}"[:400]
        return "right" if captured._ready else "eager", (0, 0)
    except Refused as error:
        return "refused", str(error)
    except Late:
        return "late", ""
    finally:
        signal.alarm(0)


def one(seed, small=False, constants=False, **how):
    """The check of one random function."""
    source = Writer(seed, small, constants).function()
    return check(source, f"<random function {seed}>", **how)


def reduced(source, fails):
    """The shortest text found of which ``fails(text)`` is true, as it is of `source`."""
    changed = True
    while changed:
        changed = False
        spots = sum(len(b) for _, b in _bodies(ast.parse(source)))
        for spot in range(spots):
            for what in ("del", "body", "orelse"):
                shorter = _without(source, spot, what)
                if shorter is not None and len(shorter) < len(source) and fails(shorter):
                    source, changed = shorter, True
                    break
            if changed:
                break
    return source


def reduced_seed(seed, source, run):
    """The shortest function found that fails in ``run(source, name)`` as this one does."""
    tried = itertools.count()

    def kind(text):
        try:
            return run(text, f"<reduced {seed} {next(tried)}>")[0]
        except NameError:  # a class without its method's first line
            return None

    wanted = kind(source)
    return reduced(source, lambda text: kind(text) == wanted)


def _bodies(tree):
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, field, None), list):
                yield node, getattr(node, field)


def _without(source, spot, what):
    tree = ast.parse(source)
    for _, body in _bodies(tree):
        if spot < len(body):
            inside = [] if what == "del" else getattr(body[spot], what, None)
            if not isinstance(inside, list) or (what != "del" and not inside):
                return None
            body[spot : spot + 1] = inside
            if not body:
                body.append(ast.Pass())
            break
        spot -= len(body)
    try:
        text = ast.unparse(tree)
        compile(text, "reduced", "exec")
    except (SyntaxError, ValueError, AttributeError, TypeError):
        return None
    return text if "def f(x)" in text and text != source else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", type=int, nargs="*", default=[0, 500])
    parser.add_argument("--reduce", type=int)
    parser.add_argument("--all", action="store_true", help="show what is refused as well")
    parser.add_argument("--small", action="store_true", help="functions of a tenth of the time")
    parser.add_argument("--constants", action="store_true", help="begin with eager Variables")
    parser.add_argument("--programs", action="store_true", help="run the emitted programs as well")
    parser.add_argument(
        "--gradients", action="store_true", help="compare captured calls in training"
    )
    given = parser.parse_args()
    runners = [program_runner.run] if given.programs else []

    def run(source, name):
        return check_gradients(source, name) if given.gradients else check(source, name, runners)

    def written(seed):
        return Writer(seed, given.small, given.constants).function()

    if given.reduce is not None:
        print(reduced_seed(given.reduce, written(given.reduce), run))
        return
    counts, loops, start = collections.Counter(), 0, time.time()
    for seed in range(*given.seeds):
        source = written(seed)
        kind, detail = run(source, f"<random function {seed}>")
        counts[kind] += 1
        if kind == "right":
            loops += detail[1]
        elif kind not in ("refused", "eager") or given.all:
            print(seed, kind, detail, flush=True)
    print(dict(counts), f"{loops} loops, {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
