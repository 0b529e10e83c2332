"""Registry, custom functions, memory, flags, import, command line, examples in docstrings."""

import doctest
import gc
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest

import dygraph
from dygraph import _core


def var(values, dtype="float32", grad=False):
    x = dygraph.to_variable(np.asarray(values, dtype))
    if grad:
        x.stop_gradient = False
    return x


def python(code, **environment):
    env = {**os.environ, **environment}
    env["PYTHONPATH"] = os.path.dirname(os.path.dirname(dygraph.__file__))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120
    )


class TestRegistry:
    def test_op_info(self):
        info = dygraph.op_info("scale")
        assert info.type == "scale" and [s.name for s in info.inputs] == ["X", "ScaleTensor"]
        assert [s.name for s in info.outputs] == ["Out"]
        defaults = {a.name: a.default for a in info.attrs}
        assert defaults["scale"] == 1.0 and defaults["bias"] == 0.0
        assert all(a.help for a in info.attrs) and info.has_gradient and info.kernels
        text = repr(info)
        for part in ("scale", "X", "Out", "bias", "default 1.0", "gradient: scale", "kernels:"):
            assert part in text

    def test_unknown_names_come_with_near_ones(self):
        with pytest.raises(KeyError, match="relu"):
            dygraph.op_info("rellu")
        with pytest.raises(KeyError, match="relu"):
            dygraph.run_op("rellu", {"X": var([1.0])})
        with pytest.raises((KeyError, TypeError), match="scale"):
            dygraph.run_op("scale", {"X": var([1.0])}, {"scael": 2.0})
        with pytest.raises((KeyError, TypeError)):
            dygraph.run_op("relu", {"Y": var([1.0])})
        with pytest.raises(AttributeError, match="relu"):
            dygraph.ops.rellu  # noqa: B018
        with pytest.raises(AttributeError, match="to_variable"):
            dygraph.to_variabel  # noqa: B018

    def test_explain(self):
        text = repr(dygraph.explain("relu", {"X": var([1.0])}))
        assert "relu would run" in text and "float32" in text and "chosen" in text

    def test_run_op(self):
        out = dygraph.run_op("sum", {"X": [var([1.0]), var([2.0])]})
        assert out["Out"].numpy().tolist() == [3.0]
        out = dygraph.run_op("scale", {"X": var([1.0])}, {"scale": 2, "bias": 1})
        assert out["Out"].numpy().tolist() == [3.0]

    @pytest.mark.parametrize("call", [dygraph.run_op, dygraph.explain])
    def test_bad_input(self, call):
        for bad in (None, 3, ["relu"]):
            with pytest.raises(TypeError):
                call(bad, {})
        for bad in ([1], "X", 3):
            with pytest.raises(TypeError):
                call("relu", bad)
            with pytest.raises(TypeError):
                call("relu", {"X": var([1.0])}, bad)
        for bad in ("a", 3.0, np.ones(2), [None]):
            with pytest.raises(TypeError):
                call("relu", {"X": bad})
        with pytest.raises(TypeError):
            call("relu", {3: var([1.0])})
        with pytest.raises(ValueError):
            call("relu", {})
        with pytest.raises(ValueError):
            call("relu", {"X": []})
        with pytest.raises(TypeError):
            call("scale", {"X": var([1.0])}, {"scale": "a"})
        for bad in (None, 3):
            with pytest.raises(TypeError):
                dygraph.op_info(bad)
        with pytest.raises(TypeError):
            dygraph.run_op("relu", {"X": var([1.0])}, {}, 3)

    def test_functional_has_all_but_gradients(self):
        names = set(dygraph.ops.__all__)
        assert {"relu", "matmul_v2", "elementwise_add"} <= names
        assert not [n for n in names if "_grad" in n]
        composed = set(" ".join(dygraph.ops.COMPOSED.values()).split())
        composed |= set(dygraph.ops._LAZY_NAMES)
        assert {n.rstrip("_") for n in names - composed} <= set(dygraph.op_names())
        assert "relu" in dir(dygraph.ops) and "relu" not in dir(dygraph)


class Cube(dygraph.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_variables
        return grad * x * x * 3.0


class Inverse(dygraph.PyLayer):
    """1 / x; its gradient reads the output."""

    @staticmethod
    def forward(ctx, x):
        y = 1.0 / x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_variables
        return grad * y * y * -1.0


class TestCustom:
    def test_three_orders(self):
        x = var([2.0], "float64", grad=True)
        (g,) = dygraph.grad(Cube.apply(x), x, create_graph=True)
        (h,) = dygraph.grad(g, x, create_graph=True)
        (k,) = dygraph.grad(h, x)
        assert (g.item(), h.item(), k.item()) == (12.0, 12.0, 6.0)

    def test_second_order_through_a_saved_output(self):
        x = var([2.0], "float64", grad=True)
        (g,) = dygraph.grad(Inverse.apply(x), x, create_graph=True)
        (h,) = dygraph.grad(g, x)
        assert np.isclose(g.item(), -1 / 4) and np.isclose(h.item(), 2 / 8)

    def test_saved_output_makes_no_cycle(self):
        x = var([2.0], grad=True)
        y = Inverse.apply(x)
        before = dygraph._core.live_variables()
        gc.disable()
        try:
            del y
            assert dygraph._core.live_variables() == before - 1
            for _ in range(10):
                Inverse.apply(x)
            assert dygraph._core.live_variables() == before - 1
        finally:
            gc.enable()

    def test_several_in_and_out_and_other_arguments(self):
        class Mix(dygraph.PyLayer):
            @staticmethod
            def forward(ctx, a, factor, b, bias=0.0):
                assert ctx.needs_input_grad == (True, False, False)
                ctx.factor = factor
                return a * factor + bias, a + b

            @staticmethod
            def backward(ctx, ga, gb):
                assert gb is None
                return ga * ctx.factor, None

        a, b = var([1.0, 2.0], grad=True), var([3.0, 4.0])
        first, second = Mix.apply(a, 5.0, b, bias=1.0)
        assert first.numpy().tolist() == [6.0, 11.0] and second.numpy().tolist() == [4.0, 6.0]
        first.backward()
        assert a.gradient().tolist() == [5.0, 5.0]

    def test_input_given_back(self):
        class Same(dygraph.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 10.0

        x = var([1.0], grad=True)
        y = Same.apply(x)
        assert y is not x
        y.backward()
        assert x.gradient().tolist() == [10.0] and x.is_leaf

    def test_nothing_is_recorded_without_need(self):
        assert Cube.apply(var([1.0])).stop_gradient
        with dygraph.no_grad():
            assert Cube.apply(var([1.0], grad=True)).stop_gradient

    @pytest.mark.parametrize(
        "result, error",
        [
            ("a", TypeError),
            (3.0, TypeError),
            ((None, None, None), ValueError),
            ((), ValueError),
            (np.ones(1), TypeError),
        ],
        ids=str,
    )
    def test_bad_gradients(self, result, error):
        class Bad(dygraph.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1.0

            @staticmethod
            def backward(ctx, grad):
                return result

        with pytest.raises(error, match="Bad"):
            Bad.apply(var([1.0], grad=True)).backward()

    def test_gradient_of_another_shape(self):
        class Bad(dygraph.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1.0

            @staticmethod
            def backward(ctx, grad):
                return var([1.0, 2.0])

        with pytest.raises(ValueError, match=r"\[1\], got \[2\]"):
            Bad.apply(var([1.0], grad=True)).backward()

    def test_errors_pass_through(self):
        class Bad(dygraph.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1.0

            @staticmethod
            def backward(ctx, grad):
                raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            Bad.apply(var([1.0], grad=True)).backward()

    def test_bad_calls(self):
        with pytest.raises(TypeError):
            Cube.apply(x=var([1.0]))
        with pytest.raises(NotImplementedError):
            dygraph.PyLayer.apply(var([1.0]))

        class Wrong(dygraph.PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(3)

        with pytest.raises(TypeError):
            Wrong.apply(var([1.0]))


def test_hook_cycles_are_collected():
    class Holder:
        pass

    w, holder = var([1.0], grad=True), Holder()
    holder.w = w
    w.register_hook(lambda g, h=holder: None)
    gone = weakref.ref(holder)
    del w, holder
    gc.collect()
    assert gone() is None


class TestMemory:
    def test_figures(self):
        memory = dygraph.memory
        gc.collect()
        memory.reset_peak()
        before = memory.used()
        x = var(np.zeros(1 << 18))
        held = memory.used() - before
        assert (1 << 20) <= held < (1 << 20) * 1.1
        del x
        assert memory.used() == before and memory.peak() >= before + held
        memory.reset_peak()
        assert memory.peak() == before
        stats = memory.stats(dygraph.CPUPlace())
        assert stats["used"] == before and stats["live_blocks"] >= 0
        memory.release_free()
        assert "in use" in memory.summary()

    def test_pages_that_hold_nothing_go_back(self):
        """One variable in the middle keeps the arena, not the memory around it."""
        code = """
import gc, dygraph
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
parts = [dygraph.ones([1 << 20]) for _ in range(16)]
kept = parts[7]
del parts
gc.collect()
full, reserved = resident(), dygraph.memory.stats()["reserved"]
dygraph.memory.release_free()
assert dygraph.memory.stats()["reserved"] == reserved == 64 << 20
assert full - resident() > 50 << 20, (full, resident())
assert float(kept.sum()) == 1 << 20
fresh = [dygraph.full([1 << 20], i) for i in range(15)]
assert [float(x.mean()) for x in fresh] == list(range(15))
"""
        subprocess.run([sys.executable, "-c", code], check=True)

    @pytest.mark.parametrize(
        "name", ["used", "peak", "stats", "reset_peak", "release_free", "summary"]
    )
    def test_bad_place(self, name):
        for bad in (3, "cpu", [1]):
            with pytest.raises(TypeError):
                getattr(dygraph.memory, name)(bad)


class TestFolderNamedStatic:
    """Of any web project, in the working directory; ours is `dygraph.static` alone."""

    def run(self, code, folder):
        root = os.path.dirname(os.path.dirname(dygraph.__file__))
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONSAFEPATH")}
        code = f"import sys; sys.path.append({root!r})\n{code}"
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, env=env, timeout=120, cwd=folder,
        )  # fmt: skip

    @pytest.mark.parametrize(
        "code",
        [
            "import dygraph\nstatic = dygraph.static\n",
            "from dygraph import static\n",
            "from dygraph.static import layers\nfrom dygraph import static\n",
            "import dygraph.static.optimizer\nstatic = dygraph.static\n",
            "import dygraph\n"
            "traced = dygraph.jit.trace(dygraph.nn.Linear(2, 2), [dygraph.ones([2, 2])])[-1]\n"
            "traced.program\nfrom dygraph import static\n",
        ],
    )
    @pytest.mark.parametrize("file", ["style.css", "__init__.py"])
    def test_it_hides_nothing(self, tmp_path, code, file):
        (tmp_path / "static").mkdir()
        (tmp_path / "static" / file).write_text("")
        code += (
            "static.Program()\nimport dygraph\nimport dygraph.static as again\n"
            "assert again is dygraph.static is static is sys.modules['dygraph.static']\n"
            "assert 'static' not in sys.modules\n"
        )
        done = self.run(code, tmp_path)
        assert done.returncode == 0, done.stderr

    def test_a_package_of_the_user_stays_his(self, tmp_path):
        (tmp_path / "static").mkdir()
        (tmp_path / "static" / "__init__.py").write_text("mine = 3")
        code = "import dygraph.static, static; assert static.mine == 3"
        done = self.run(code, tmp_path)
        assert done.returncode == 0, done.stderr

    def test_an_editable_install_leaves_it_alone(self, tmp_path):
        """What stands beside dygraph/ in the sources is not importable: static, tests, docs."""
        for name in ("static", "docs"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "mine.py").write_text("mine = 3")
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONSAFEPATH")}
        code = (
            "import dygraph.static, static.mine, docs.mine\n"
            "assert static.mine.mine == docs.mine.mine == 3\n"
            "assert len(static.__path__) == len(docs.__path__) == 1"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, env=env, timeout=120, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def test_its_old_name_says_what_to_write(self, tmp_path):
        """The sources have the folder; as `static` it is refused."""
        root = os.path.dirname(os.path.dirname(os.path.realpath(dygraph.static.__file__)))
        done = self.run(f"sys.path.insert(0, {root!r})\nimport static", tmp_path)
        assert "ImportError: the module 'static' is dygraph.static: write `from" in done.stderr
        assert "`import dygraph.static as fluid` in a script for Fluid" in done.stderr

    def test_no_finder_is_installed(self, tmp_path):
        code = "before = [*sys.meta_path]\nimport dygraph.static\nassert sys.meta_path == before"
        done = self.run(code, tmp_path)
        assert done.returncode == 0, done.stderr


class TestFlags:
    def test_set_and_get(self):
        old = dygraph.get_flags()
        dygraph.set_flags({"FLAGS_kernel_library": "plain"})
        assert dygraph.get_flags(["FLAGS_kernel_library"]) == {"FLAGS_kernel_library": "plain"}
        dygraph.set_flags({"kernel_library": old["FLAGS_kernel_library"]})
        assert dygraph.get_flags() == old

    def test_all_or_none(self):
        old = dygraph.get_flags()
        with pytest.raises(TypeError):
            dygraph.set_flags({"FLAGS_kernel_library": "plain", "FLAGS_use_pinned_memory": "maybe"})
        assert dygraph.get_flags() == old

    def test_bad_input(self):
        with pytest.raises(ValueError, match="FLAGS_kernel_library"):
            dygraph.set_flags({"FLAGS_kernel_libary": ""})
        with pytest.raises(ValueError, match="FLAGS_kernel_library"):
            dygraph.get_flags("FLAGS_kernel_libary")
        for bad in (None, "a", [1]):
            with pytest.raises(TypeError):
                dygraph.set_flags(bad)
        for bad in (3, [3], [None]):
            with pytest.raises(TypeError):
                dygraph.get_flags(bad)
        with pytest.raises(TypeError):
            dygraph.set_flags({"FLAGS_kernel_library": None})

    @pytest.mark.parametrize(
        "name, value, match",
        [
            ("kernel_library", "foo", "must be one of '', 'plain', 'onednn', 'cudnn', got 'foo'"),
            ("kernel_library", "oneDNN", "Did you mean 'onednn'"),
            ("cpu_level", 2, "must be one of 0, 1, 3, 4, got 2"),
            ("matrix_product", "mkl", "must be one of '', 'own', 'panels', 'onednn', got 'mkl'"),
            ("num_threads", -1, "must be in"),
            ("fraction_of_cpu_memory_to_use", 1.5, "must be in"),
        ],
    )
    def test_a_value_that_the_flag_does_not_take(self, name, value, match):
        old = dygraph.get_flags()
        with pytest.raises(ValueError, match=match):
            dygraph.set_flags({"FLAGS_use_pinned_memory": True, name: value})
        assert dygraph.get_flags() == old
        code = f"import dygraph; print(dygraph.get_flags('{name}')['{name}'])"
        done = python(code, **{f"FLAGS_{name}": str(value)})
        assert re.search(match, done.stderr) and "The default is kept" in done.stderr
        default = _core.all_flags()[f"FLAGS_{name}"][1]
        assert done.stdout.strip() == str(default) and done.returncode == 0

    def test_environment(self):
        done = python("import dygraph", FLAGS_kernel_libary="plain")
        assert (
            "FLAGS_kernel_libary" in done.stderr
            and "Did you mean FLAGS_kernel_library" in done.stderr
        )
        done = python("import dygraph", FLAGS_use_pinned_memory="perhaps")
        assert "use_pinned_memory" in done.stderr and done.returncode == 0


class TestImport:
    def test_little_is_loaded(self):
        code = (
            "import sys, numpy; before = set(sys.modules); import dygraph; "
            "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('dygraph')))"
        )
        done = python(code)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == []

    def test_the_environment_is_left_alone(self):
        code = "import os; before = dict(os.environ); import dygraph; print(before == os.environ)"
        assert python(code).stdout.strip() == "True"

    def test_public_names(self):
        for name in (
            "float32",
            "int64",
            "bool",
            "Layer",
            "ParamAttr",
            "Function",
            "nn",
            "optimizer",
        ):
            assert name in dir(dygraph)
        assert dygraph.float32 == "float32" and dygraph.float32 == np.float32


class TestCommandLine:
    def run(self, *arguments):
        env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(dygraph.__file__))}
        return subprocess.run(
            [sys.executable, "-m", "dygraph", *arguments],
            capture_output=True,
            text=True,
            env=env,
            timeout=120,
        )

    def test_info(self):
        done = self.run("info")
        assert done.returncode == 0
        for part in (dygraph.__version__, "CPUPlace", "threads", "processor"):
            assert part in done.stdout

    def test_check(self):
        done = self.run("check")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "all is well" in done.stdout

    def test_usage(self):
        for arguments in ((), ("chek",), ("info", "x")):
            done = self.run(*arguments)
            assert done.returncode == 2 and "usage" in done.stderr


def modules():
    yield "dygraph"
    for found in pkgutil.walk_packages(dygraph.__path__, "dygraph."):
        if not found.name.startswith(("dygraph._core", "dygraph.__main__", "dygraph.static")):
            yield found.name  # those of programs: tests/static/test_examples.py


def examples_of(name):
    """Doctests of a module; operators are run by tests/docs/test_operator_examples.py."""
    module = importlib.import_module(name)
    tests = [t for t in doctest.DocTestFinder().find(module) if t.examples]
    return [t for t in tests if module is not dygraph.ops or t.name == name]


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings(name):
    runner = doctest.DocTestRunner()
    assert sum(runner.run(test).failed for test in examples_of(name)) == 0


def test_every_example_is_run():
    """A module's doctests are those of what it defines: nothing public may lie in between."""
    run = {test.docstring for name in modules() for test in examples_of(name)}
    missed, shown = [], set()
    for name in modules():
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            if inspect.isfunction(value) or inspect.isclass(value):
                text = value.__doc__ or ""
                if ">>>" in text:
                    shown.add(text)
                    missed += [f"{name}.{public}"] * (text not in run)
    assert missed == [] and len(shown) > 350
