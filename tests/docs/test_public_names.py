"""What test_fluid_room.py asks of Fluid's names, of the modern ones.

``PYTHONPATH=tests python tests/docs/test_public_names.py`` lists what each name lacks.
"""

import importlib
import inspect
import sys
import types

import pytest

import dygraph
from docs.test_fluid_room import ROOM as FLUID
from docs.test_fluid_room import sections, shortcomings

# Their public functions and classes have their sections.
MODULES = """
dygraph dygraph.ops dygraph.nn dygraph.nn.functional dygraph.nn.utils dygraph.jit dygraph.errors
dygraph.saving dygraph.notebook dygraph.profiler dygraph.reader dygraph.safetensors
dygraph.optimizer dygraph.io dygraph.training.model dygraph.callbacks dygraph.metrics
dygraph.initializer dygraph.regularizer dygraph.autograd dygraph.checkpoint dygraph.memory
dygraph.nets dygraph.distribution dygraph.geometric dygraph.lr dygraph.special
dygraph.text dygraph.inference dygraph.quantization dygraph.distributed.checkpoint
dygraph.distributed.clip dygraph.distributed.sharded dygraph.distributed.sync_batch_norm
""".split()
# What these hold is refused, or is another name of an argument.
OF_OTHER_LIBRARIES = {f"argument {name}" for name in ("places", "spellings", "others", "unnamed")}


def names_of(modules):
    """{name with its module: function or class}, each once, without those of the Fluid room."""
    found, seen = {}, {id(value) for value in FLUID.values()} | {id(dygraph.Variable)}
    for name in modules:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, public, None)
            ours = str(getattr(value, "__module__", "")).startswith("dygraph")
            known = (
                public.startswith("_") or id(value) in seen or isinstance(value, types.ModuleType)
            )
            if ours and callable(value) and not known:
                seen.add(id(value))
                found[f"{name}.{public}"] = value
    return found


def lacks(name, value):
    """Undescribed arguments and sections; an error needs an explanation alone."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return [] if inspect.getdoc(value) else ["a docstring"]
    return [lack for lack in shortcomings(name, value) if lack not in OF_OTHER_LIBRARIES]


NAMES = names_of(MODULES)


def test_the_names_are_many():
    assert len(NAMES) > 750
    assert {"dygraph.zeros", "dygraph.ops.pad", "dygraph.jit.to_static"} <= NAMES.keys()


@pytest.mark.parametrize("name", NAMES)
def test_documentation_is_complete(name):
    assert lacks(name, NAMES[name]) == []


def test_sections_stand_in_order():
    order = ["Parameters", "Returns", "Yields", "Raises", "Notes", "Examples"]
    for name, value in NAMES.items():
        found = [s for s in sections(inspect.cleandoc(value.__doc__ or "")) if s in order]
        assert found == sorted(found, key=order.index), name


if __name__ == "__main__":
    for name, value in NAMES.items():
        if lacks(name, value) and name.startswith(tuple(sys.argv[1:]) or ""):
            print(name, value.__module__, lacks(name, value))
