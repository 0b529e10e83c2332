"""Every function and class of the Fluid room says what it takes and gives, with an example.

`shortcomings` lists what a docstring lacks; ``python tests/docs/test_fluid_room.py`` counts.
"""

import ast
import collections
import doctest
import importlib
import inspect
import re
import sys
import textwrap
import types

import pytest

from dygraph.static import layers

# The modules of `dygraph.static` whose names Fluid's scripts write, and those behind them.
MODULES = """
dygraph.static dygraph.static.clip dygraph.static.contrib.layers dygraph.static.core
dygraph.static.data_feeder
dygraph.static.debugger dygraph.static.evaluator dygraph.static.framework
dygraph.static.initializer dygraph.static.install_check dygraph.static.io
dygraph.static.layer_helper dygraph.static.layers dygraph.static.metrics dygraph.static.nets
dygraph.static.optimizer dygraph.static.passes dygraph.static.profiler dygraph.static.reader
dygraph.static.regularizer dygraph.static.unique_name dygraph.static.dygraph
dygraph.fluid.layers dygraph.fluid.schedules dygraph.functions.fluid_functions
dygraph.functions.fluid_images dygraph.functions.pools dygraph.functions.unpools
""".split()
# Programs make them; their constructors take objects of the core.
MADE_BY_THE_LIBRARY = {
    "Block", "Operator", "OpRole", "Parameter", "Program", "TracedLayer", "Variable", "VarDesc",
}  # fmt: skip


def room():
    """{name with its module: function or class}, each once."""
    found, seen = {}, set()
    for name in MODULES:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", None) or vars(module):
            value = getattr(module, public)
            known = id(value) in seen or public.startswith("_")
            if callable(value) and not known and not isinstance(value, types.ModuleType):
                seen.add(id(value))
                found[f"{name.removeprefix('dygraph.')}.{public}"] = value
    return found


def sections(text):
    """The lines of each underlined section of a NumPy-style docstring."""
    found, lines = {}, text.splitlines()
    for line, under in zip(lines, [*lines[1:], ""], strict=False):
        if re.fullmatch("-{3,}", under) and len(under) == len(line):
            here = found.setdefault(line, [])
        elif found and not re.fullmatch("-{3,}", line):
            here.append(line)
    return found


def described(lines):
    """{name: (type, description)} of the entries of a section of parameters."""
    entries, here = {}, []
    for line in lines:
        if line and not line[0].isspace():
            names, _, kind = line.partition(" : ")
            here = [name.strip().lstrip("*") for name in names.split(",")]
            entries.update(dict.fromkeys(here, (kind, "")))
        else:
            for name in here:
                kind, text = entries[name]
                entries[name] = kind, f"{text} {line.strip()}".strip()
    return entries


def returns_nothing(function):
    """Whether the function has a body without a value to return."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    (definition,) = ast.parse(source).body
    if len(definition.body) == 1:  # the docstring of an operator
        return False
    waiting = list(definition.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.Return)) and node.value is not None:
            return False
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return True


def arguments(value):
    try:
        return list(inspect.signature(value).parameters)
    except ValueError:  # a class of the core
        return []


def shortcomings(name, value):
    """What the docstring lacks: undescribed arguments, sections, an example with a result."""
    text = inspect.cleandoc(value.__doc__ or "")
    parts, lacks = sections(text), []
    if name.rpartition(".")[2] not in MADE_BY_THE_LIBRARY:
        entries = described(parts.get("Parameters", []))
        lacks += [f"argument {a}" for a in arguments(value) if not any(entries.get(a, ()))]
    if inspect.isfunction(value) and not {"Returns", "Yields"} & parts.keys():
        lacks += [] if returns_nothing(value) else ["Returns"]
    examples = doctest.DocTestParser().get_examples("\n".join(parts.get("Examples", [])))
    of_core = getattr(value, "__module__", "") == "dygraph._core"  # its text stands in C++
    return lacks if examples or of_core else [*lacks, "Examples"]


ROOM = room()


def test_the_room_is_large():
    assert len(ROOM) > 450
    assert {"static.layers.fc", "static.data", "static.nets.glu"} <= ROOM.keys()


@pytest.mark.parametrize("name", ROOM)
def test_documentation_is_complete(name):
    assert shortcomings(name, ROOM[name]) == []


@pytest.mark.parametrize("name", ROOM)
def test_defaults_are_those_of_the_signature(name):
    """``axis : int, default -1``; ``low, high : float, default 0.0 and 1.0``."""
    for line in sections(inspect.cleandoc(ROOM[name].__doc__ or "")).get("Parameters", []):
        names, _, kind = line.partition(" : ")
        said = re.search(", default (.+)", "" if line.startswith(" ") else kind)
        if said:
            parameters = inspect.signature(ROOM[name]).parameters
            true = [parameters[n.strip()].default for n in names.split(",")]
            texts = re.split(", | and ", said[1]) if " and " in said[1] else [said[1]] * len(true)
            assert [ast.literal_eval(text) for text in texts] == true, line


def test_examples_are_run():
    """tests/static/test_examples.py and tests/dygraph/test_rest.py run what doctest finds."""
    values = [v for v in ROOM.values() if v.__module__ != "dygraph._core"]
    modules = {v.__module__ for v in values}
    found = {
        test.name
        for name in modules
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
    }
    assert {f"{v.__module__}.{v.__qualname__}" for v in values} <= found


def test_functions_of_layers_show_results():
    """An example of a function asserts at least one value."""
    parser = doctest.DocTestParser()
    for name in layers.__all__:
        examples = parser.get_examples(getattr(layers, name).__doc__)
        assert any(example.want for example in examples), name


def test_a_shortcoming_is_noticed():
    def bare(x, axis=0):
        """Sum."""
        return x

    def full(x, axis=0):
        """Sum.

        Parameters
        ----------
        x : Variable
        axis : int

        Returns
        -------
        Variable

        Examples
        --------
        >>> 1 + 1
        2
        """
        return x

    def silent(x):
        """Print."""
        print(x)

    assert shortcomings("bare", bare) == ["argument x", "argument axis", "Returns", "Examples"]
    assert shortcomings("full", full) == []
    assert shortcomings("silent", silent) == ["argument x", "Examples"]
    full.__doc__ = full.__doc__.replace("axis : int", "axis")
    assert shortcomings("full", full) == ["argument axis"]


def count():
    """Complete ones and all, by module."""
    table = collections.defaultdict(list)
    for name, value in ROOM.items():
        table[name.rpartition(".")[0]].append(not shortcomings(name, value))
    for module, complete in table.items():
        print(f"{module}: {sum(complete)} of {len(complete)}")
    print(f"all: {sum(map(sum, table.values()))} of {len(ROOM)}")


if __name__ == "__main__":
    count()
    for name, value in ROOM.items():
        if any(name.startswith(wanted) for wanted in sys.argv[1:]) and shortcomings(name, value):
            print(name, value.__module__, shortcomings(name, value))
