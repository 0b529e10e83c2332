"""Type stubs: every public name, right signatures, and what mypy says about programs."""

import ast
import doctest
import functools
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dygraph
from dygraph import ops, stubs

ROOT = Path(dygraph.__file__).parents[1]
SAMPLES = Path(__file__).parent / "typing"


@pytest.fixture(scope="module")
def texts():
    return stubs.generate()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The sources with stubs beside them, as a wheel has them."""
    root = tmp_path_factory.mktemp("types")
    built = shutil.ignore_patterns("include", "libs", "*.so", "*.pyi", "__pycache__")
    shutil.copytree(ROOT / "dygraph", root / "dygraph", ignore=built)
    stubs.write(root / "dygraph")
    return root


def names_of(body):
    """Name -> node of what a stub defines or gives on."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update({a.name: node for a in node.names if a.name == a.asname})
        elif isinstance(node, ast.Assign):
            found[node.targets[0].id] = node
    return found


def public(names):
    return {n for n in names if not n.startswith("_")}


def test_every_name_is_there_and_no_other(texts):
    stub = {path: public(names_of(ast.parse(text).body)) for path, text in texts.items()}
    assert stub["__init__.pyi"] >= public(dir(dygraph))
    assert all(hasattr(dygraph, n) for n in stub["__init__.pyi"])
    assert stub["ops.pyi"] == set(ops.__all__)
    assert stub["nn/functional/__init__.pyi"] == set(dygraph.nn.functional.__all__)
    for module in ("callbacks", "metrics"):
        assert stub[f"{module}.pyi"] == set(getattr(dygraph, module).__all__)
    assert stub["training/model.pyi"] == {"History", "Model"}
    for package in ("io", "lr", "nn", "optimizer"):
        own = {"functional", "utils"} if package == "nn" else set()
        assert stub[f"{package}/__init__.pyi"] == {*getattr(dygraph, package).__all__, *own}
    assert stub["_core.pyi"] == public(dir(dygraph._core))


def test_variable_has_all_its_members(texts):
    variable = names_of(ast.parse(texts["_core.pyi"]).body)["Variable"]
    hints = dygraph.core.hints.HINTS.keys()
    stub, runtime = set(names_of(variable.body)), set(vars(dygraph.Variable)) - hints
    assert public(stub) == public(runtime)
    special = {"__new__", "__doc__", "__getattribute__", "__setattr__", "__delattr__"}
    special |= {"__repr__", "__delitem__"}
    special |= {"__cuda_array_interface__", "__cupy_override_elementwise_kernel__"}
    assert runtime - stub <= special
    assert {n for n in stub - runtime} == set()


def arguments(node):
    a = node.args
    return [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def test_signatures_are_those_of_the_run_time(texts):
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for name, node in names_of(ast.parse(texts["ops.pyi"]).body).items():
        if isinstance(node, ast.FunctionDef):
            found = inspect.signature(getattr(ops, name)).parameters.values()
            assert arguments(node) == [p.name for p in found if p.kind not in kinds], name


def test_types_known_from_elsewhere(texts):
    text = texts["ops.pyi"]
    for line in (
        "def relu(x: Variable) -> Variable: ...",
        "def scale(x: Variable, scale: _Float = 1.0, bias: _Float = 0.0, "
        "bias_after_scale: bool = True, scale_tensor: Variable | None = None) -> Variable: ...",
        "def sum(x: Variable | Sequence[Variable]) -> Variable: ...",
        "def softshrink(x: Variable, lambda_: _Float = 0.5) -> Variable: ...",
        "def topk(x: Variable, k: _Int | Variable, axis: _Int = -1, largest: bool = True, "
        "sorted: bool = True, **spellings: Any) -> tuple[Variable, Variable]: ...",
    ):
        assert line in text
    text = texts["_core.pyi"]
    assert re.search(r"def split\(self, sizes: .*\) -> list\[Variable\]: ...", text)
    assert "class InvalidArgumentError(DygraphError, ValueError): ..." in text
    assert "float32: dtype\n" in text


def test_command_writes_beside_the_modules(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "dygraph.stubs", str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=120, cwd=ROOT,
    )  # fmt: skip
    written = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.pyi"))
    assert written == sorted(stubs.generate()) and len(done.stdout.splitlines()) == len(written)


def test_results_are_of_the_types_written(texts):
    """The table of results in dygraph.stubs, against calls."""
    x = dygraph.to_variable([[3.0, 1.0], [2.0, 4.0]])
    F = ops
    lists = [F.split(x, num=2), F.unbind(x), F.chunk(x, 2), F.meshgrid(x[0], x[1])]
    assert isinstance(F.unstack(x), tuple)
    for parts in (*lists, F.broadcast_tensors([x, x[0]])):
        assert isinstance(parts, list) and all(isinstance(p, dygraph.Variable) for p in parts)
    assert [type(p) for p in F.topk(x, 1)] == [dygraph.Variable] * 2
    for one in (
        F.sort(x),
        F.argsort(x),
        F.median(x, mode="avg"),
        F.interpolate(x[None, None], [4, 4]),
    ):
        assert isinstance(one, dygraph.Variable)
    for one in (x.sum(), x.max(), x.T, x.astype("int32"), x.transpose(), x.clone(), x.cpu()):
        assert isinstance(one, dygraph.Variable)
    assert isinstance(x.matmul(x), dygraph.Variable) and x.backward.__name__ == "backward"


def mypy(tree, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"),
         "--cache-dir", str(tree / "cache"), *arguments],
        capture_output=True, text=True, timeout=280, cwd=tree,
    )  # fmt: skip


def test_layers_give_what_is_written(texts):
    """The result of each layer's forward, in the example of its docstring."""
    body = ast.parse(texts["nn/__init__.pyi"]).body
    results = {
        node.name: ast.unparse(method.returns)
        for node in body
        if isinstance(node, ast.ClassDef) and hasattr(dygraph.nn, node.name)
        for method in node.body
        if getattr(method, "name", "") == "forward"
    }
    seen, wrong = set(), []

    def watched(name, forward, result):
        def run(self, *args, **kwargs):
            out = forward(self, *args, **kwargs)
            if type(self).__name__ == name:
                masked = getattr(self, "_options", {}).get("return_mask")
                pooled = "tuple[Variable, Variable]" if masked else "Variable"
                written = pooled if result == "_Pooled" else result
                parts = out if written.startswith("tuple") else [out]
                kinds = re.findall(r"Any|Variable", written)
                fits = len(parts) == len(kinds) and all(
                    isinstance(part, dygraph.Variable) or kind == "Any"
                    for part, kind in zip(parts, kinds, strict=True)
                )
                wrong.extend([] if fits else [(name, result, type(out))])
                seen.add(name)
            return out

        return run

    with pytest.MonkeyPatch.context() as patch:
        for name, result in results.items():
            kind = getattr(dygraph.nn, name)
            patch.setattr(kind, "forward", watched(name, kind.forward, result))
        for name in dygraph.nn.__all__:
            for example in doctest.DocTestFinder(recurse=False).find(getattr(dygraph.nn, name)):
                doctest.DocTestRunner(verbose=False).run(example, out=lambda text: None)
    assert not wrong and len(seen) > 80, sorted(set(results) - seen)


def revealed(tree, name):
    """(line, type) of the comments of a sample, the same as mypy finds them, and its output."""
    path = SAMPLES / name
    done = mypy(tree, str(path))
    found = re.findall(rf'{name}:(\d+): note: Revealed type is "(.*)"', done.stdout)
    lines = enumerate(path.read_text().splitlines(), 1)
    wanted = [
        (str(i), n[1]) for i, line in lines if (n := re.match(r"reveal_type.*  # (.*)", line))
    ]
    return wanted, found, done.stdout


def test_functions_give_what_is_written(texts):
    """The results of `nn.functional` in the examples of its docstrings."""
    written = {}
    for node in ast.parse(texts["nn/functional/__init__.pyi"]).body:
        if isinstance(node, ast.FunctionDef):
            written.setdefault(node.name, set()).add(ast.unparse(node.returns))
    functional, wrong, seen = dygraph.nn.functional, [], set()

    def watched(name, function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            out = function(*args, **kwargs)
            pair = isinstance(out, tuple) and [type(part) for part in out] == [dygraph.Variable] * 2
            result = "tuple[Variable, Variable]" if pair else type(out).__name__
            wrong.extend([] if result in written[name] else [(name, result)])
            seen.add(name)
            return out

        return run

    with pytest.MonkeyPatch.context() as patch:
        for name in written:
            patch.setattr(functional, name, watched(name, getattr(functional, name)))
        for name in written:
            for example in doctest.DocTestFinder(recurse=False).find(getattr(functional, name)):
                doctest.DocTestRunner(verbose=False).run(example, out=lambda text: None)
    assert not wrong and len(seen) > 85, sorted(written.keys() - seen)


@pytest.mark.slow
def test_the_package_itself(tree):
    done = mypy(tree)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_right_program(tree):
    done = mypy(tree, "--disallow-untyped-decorators", str(SAMPLES / "right.py"))
    assert done.returncode == 0, done.stdout
    subprocess.run([sys.executable, str(SAMPLES / "right.py")], check=True, timeout=120)


@pytest.mark.slow
def test_revealed_types(tree):
    """Each line of revealed.py says in a comment what mypy must find: no Any for want of a type."""
    wanted, found, text = revealed(tree, "revealed.py")
    assert len(wanted) > 8 and found == wanted, text


@pytest.mark.slow
def test_an_editable_install_is_found(tmp_path):
    """By the line of its .pth file, from any folder."""
    shutil.copy(SAMPLES / "revealed.py", tmp_path)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MYPYPATH")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "revealed.py"],
        capture_output=True, text=True, timeout=280, cwd=tmp_path, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert 'Revealed type is "dygraph._core.Variable"' in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wrong.py", "training.py"])
def test_wrong_program(tree, name):
    """Each line says in a comment which error mypy must find in it."""
    path = SAMPLES / name
    done = mypy(tree, str(path))
    found = set(re.findall(rf"{name}:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.M))
    lines = path.read_text().splitlines()
    wanted = {
        (str(i), code)
        for i, line in enumerate(lines, 1)
        for code in re.findall(r"# error: ([\w-]+)", line)
    }
    assert len(wanted) > 12 and found == wanted, done.stdout


@pytest.mark.slow
def test_types_of_training(tree):
    wanted, found, text = revealed(tree, "training.py")
    assert len(wanted) > 20 and found == wanted, text
