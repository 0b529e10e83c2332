"""Notebook use with a real IPython shell: tensors of failed cells, history, completion."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import dygraph
from dygraph import notebook

CELL = """
def fails():
    x = dygraph.to_variable([1.0, 2.0])
    x.stop_gradient = False
    watch(x)
    y = dygraph.tanh(x * x)
    loss = [y.sum(), {"deep": y}]
    loss[0].missing_function()
"""


@pytest.fixture
def shell():
    gc.collect()  # what other tests left would be counted
    shell = InteractiveShell.instance()
    InteractiveShell.clear_instance()
    shell = InteractiveShell()
    shell.refs = []
    shell.user_ns.update(dygraph=dygraph, watch=lambda x: shell.refs.append(weakref.ref(x)))
    shell.run_cell(CELL)
    yield shell
    notebook.uninstall(shell)
    InteractiveShell.clear_instance()
    for name in ("last_exc", "last_value", "last_traceback", "last_type"):
        if hasattr(sys, name):
            delattr(sys, name)


def run(shell, text):
    """Run a cell as a user does, keeping nothing of the result. True: it worked."""
    return shell.run_cell(text, store_history=True).success


def alive(shell):
    gc.collect()
    return [r() is not None for r in shell.refs]


def test_without_the_hook_a_failing_cell_pins_its_tensors(shell):
    before = dygraph._core.live_variables()
    assert not run(shell, "fails()")
    assert alive(shell) == [True]
    assert dygraph._core.live_variables() > before


def test_load_ext_frees_them_at_once(shell):
    before = dygraph._core.live_variables()
    shell.run_line_magic("load_ext", "dygraph")
    for _ in range(3):
        assert not run(shell, "fails()")
    assert alive(shell) == [False] * 3
    assert dygraph._core.live_variables() == before


@pytest.mark.parametrize("mode", ["Context", "Verbose"])
def test_all_kinds_of_traceback(shell, mode, capsys):
    shell.run_line_magic("load_ext", "dygraph")
    shell.run_line_magic("xmode", mode)
    assert not run(shell, "fails()")
    assert alive(shell) == [False]
    shell.run_line_magic("tb", "")
    assert "missing_function" in capsys.readouterr().out  # the traceback stays readable
    shell.run_line_magic("xmode", "Context")


def test_names_of_the_user_stay(shell):
    shell.run_line_magic("load_ext", "dygraph")
    assert not run(shell, "mine = dygraph.to_variable([5.0])\nwatch(mine)\nfails()")
    assert alive(shell) == [True, False]
    assert shell.user_ns["mine"].numpy().tolist() == [5.0]


def test_chained_errors(shell):
    shell.run_line_magic("load_ext", "dygraph")
    text = "def outer():\n    try:\n        fails()\n    except Exception as e:\n"
    assert not run(shell, text + "        raise ValueError('second') from e\nouter()")
    assert alive(shell) == [False]


def test_pdb_keeps_the_frames(shell):
    shell.run_line_magic("load_ext", "dygraph")
    shell._call_pdb = True  # what %pdb on sets; the debugger itself would wait for a terminal
    hook = shell._dygraph_hook
    shell.events.unregister("post_run_cell", hook.after)
    shell._call_pdb = False
    result = shell.run_cell("fails()")
    shell._call_pdb = True
    hook.after(result)
    assert alive(shell) == [True]
    shell._call_pdb = False
    hook.after(result)
    assert alive(shell) == [False]


OTHERS = """
import collections, json, types
def of_another_library(depth=3):
    kept = {"depth": depth, "deep": [collections.OrderedDict(a=object()), json, types]}
    kept["self"] = kept
    if depth:
        return of_another_library(depth - 1)
    return json.loads("{")
"""


def locals_of(error):
    """Names of the locals that the functions of a traceback still have."""
    names, tb = set(), error.__traceback__
    while tb is not None:
        names |= set(tb.tb_frame.f_locals) if tb.tb_frame.f_code.co_flags & 1 else set()
        tb = tb.tb_next
    return names


def test_errors_of_other_libraries_keep_their_frames(shell):
    """Whatever Variables the user's own names hold."""
    shell.run_line_magic("load_ext", "dygraph")
    assert run(shell, OTHERS + "mine = dygraph.to_variable([5.0]); net = dygraph.nn.Linear(2, 2)")
    result = shell.run_cell("of_another_library()")
    assert {"depth", "kept"} <= locals_of(result.error_in_exec)
    result = shell.run_cell("fails()")
    assert not {"x", "y", "loss"} & locals_of(result.error_in_exec)


WAYS = {
    "a list in a dict": "held = {'a': [1, {'b': x}]}",
    "a layer": "held = dygraph.nn.Linear(1, 1)",
    "an object": "held = type('Own', (), {})(); held.x = x",
    "a closure": "held = lambda: x",
    "a default": "held = lambda a=x: a",
    "a bound method": "held = x.numpy",
    "a generator": "held = (a * i for i in range(3) for a in [x]); next(held)",
    "an optimizer": "held = dygraph.optimizer.SGD(0.1, [dygraph.Parameter([1.0])])",
}


@pytest.mark.parametrize("way", WAYS)
def test_however_a_function_holds_them(shell, way):
    shell.run_line_magic("load_ext", "dygraph")
    lines = "\n    ".join(WAYS[way].split("; "))
    maker = f"def maker():\n    x = dygraph.to_variable([1.0])\n    {lines}\n    return held\n"
    assert run(shell, maker + "def last(held):\n    1 / 0\n")
    result = shell.run_cell("last(maker())")
    assert "held" not in locals_of(result.error_in_exec)


def test_what_an_error_itself_holds(shell):
    shell.run_line_magic("load_ext", "dygraph")
    text = "def last():\n    here = 3\n    raise ValueError('bad', dygraph.to_variable([1.0]))\n"
    assert run(shell, text)
    assert "here" not in locals_of(shell.run_cell("last()").error_in_exec)


def test_install_twice_is_once(shell):
    first = notebook.install(shell)
    assert notebook.install(shell) is first
    assert shell.events.callbacks["post_run_cell"].count(first.after) == 1
    notebook.uninstall(shell)
    assert first.after not in shell.events.callbacks["post_run_cell"]
    assert notebook.install(object()) is None


def test_release_by_hand(shell, monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: shell)
    assert not run(shell, "fails()")
    assert run(shell, "kept = dygraph.to_variable([1.0])")
    assert run(shell, "v = dygraph.to_variable([2.0]); watch(v); [v]")
    assert run(shell, "del v")
    assert run(shell, "'text'")
    assert alive(shell) == [True, True]
    assert dygraph.release(history=False) >= 2
    assert alive(shell) == [False, True]
    assert dygraph.release() == 1
    assert alive(shell) == [False, False]
    assert shell.user_ns["kept"].numpy().tolist() == [1.0]
    assert "text" in shell.user_ns["_oh"].values()
    assert dygraph.release() == 0


def test_importing_changes_nothing_inside_ipython():
    code = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\nbefore = list(shell.events.callbacks.values())\n"
        "before = [list(b) for b in before]\nimport dygraph\n"
        "assert [list(b) for b in shell.events.callbacks.values()] == before\n"
        "assert not hasattr(shell, '_dygraph_hook') and 'dygraph.notebook' not in sys.modules\n"
        "shell.run_cell('def f():\\n    x = dygraph.ones([2])\\n    1 / 0')\n"
        "error = shell.run_cell('f()').error_in_exec\nshell.run_cell('1 + 1')\n"
        "tb = error.__traceback__\n"
        "while tb.tb_next: tb = tb.tb_next\n"
        "assert 'x' in tb.tb_frame.f_locals\n"
        "shell.user_ns['dygraph'] = dygraph\n"
        "assert shell.run_cell('%load_ext dygraph').success and shell._dygraph_hook\n"
        "assert shell.run_cell('%unload_ext dygraph').success and shell._dygraph_hook is None\n"
    )
    code = code.replace(
        "import dygraph\n", "import dygraph\nshell.user_ns['dygraph'] = dygraph\n", 1
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    code = "import sys, dygraph; assert not {'IPython', 'dygraph.notebook'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# Completion ---------------------------------------------------------------------------------------


def completions(shell, text):
    with provisionalcompleter():
        return [c.text for c in shell.Completer.completions(text, len(text))]


def net():
    class Net(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.hidden = dygraph.nn.Linear(2, 3)
            self.own_scale = dygraph.Parameter(np.ones(1, "float32"))
            self.register_buffer("running", dygraph.to_variable([0.0]))

    return Net()


def test_names_of_the_package():
    names = dir(dygraph)
    assert set(dygraph.__all__) <= set(names)
    assert {"Layer", "exp", "static", "checkpoint", "nn", "summary", "jit"} <= set(names)
    noise = [n for n in names if n.startswith("_")]
    assert noise == ["__array_api_version__", "__array_namespace_info__", "__version__"]
    assert not {"base", "exchange", "printing", "manipulation"} & set(names)
    for name in names:
        assert getattr(dygraph, name) is not None or name == "newaxis"
    for module in ("ops", "nn", "optimizer", "lr", "io", "initializer", "metrics"):
        module = getattr(dygraph, module)
        assert set(module.__all__) <= set(dir(module))
        for name in module.__all__:
            assert getattr(module, name) is not None


def test_layer_attributes(shell):
    shell.user_ns["net"] = net()
    found = completions(shell, "net.")
    for name in ("hidden", "own_scale", "running", "parameters", "state_dict"):
        assert name in found
    names = dir(shell.user_ns["net"])
    assert len(names) == len(set(names)) and "_made" not in names


def test_keys():
    Linear = dygraph.nn.Linear
    sequential = dygraph.nn.Sequential(("first", Linear(1, 2)), ("second", Linear(2, 1)))
    assert sequential._ipython_key_completions_() == ["first", "second"]
    assert sequential["second"] is sequential[1]
    layers = dygraph.nn.LayerDict({"a": Linear(1, 2), "b": Linear(2, 1)})
    assert layers._ipython_key_completions_() == ["a", "b"]
    parameters = dygraph.nn.ParameterDict({"w": dygraph.Parameter([1.0])})
    assert parameters._ipython_key_completions_() == ["w"]


@pytest.mark.parametrize("kind", ["Sequential", "LayerDict", "state"])
def test_key_completion_in_the_shell(shell, kind):
    Linear = dygraph.nn.Linear
    pairs = [("encoder", Linear(1, 2)), ("decoder", Linear(2, 1))]
    value = {
        "Sequential": lambda: dygraph.nn.Sequential(*pairs),
        "LayerDict": lambda: dygraph.nn.LayerDict(pairs),
        "state": lambda: dygraph.nn.Sequential(*pairs).state_dict(),
    }[kind]()
    shell.user_ns["value"] = value
    found = completions(shell, 'value["enc')
    assert any("encoder" in f for f in found)
    assert not any("decoder" in f for f in found)
