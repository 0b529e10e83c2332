"""Calls that the examples in docstrings make: functions with arguments that are known to work."""

import contextlib
import doctest
import inspect
import io
import warnings

from dygraph import _core


class _Harvest:
    """Stands in the modules in the place of a function while its example runs."""

    def __init__(self, function, most):
        self._function, self._most, self.calls = function, most, []

    def __call__(self, *args, **kwargs):
        if len(self.calls) < self._most and any(
            isinstance(v, _core.Variable) for v in leaves((args, kwargs))
        ):
            self.calls.append((args, kwargs))
        return self._function(*args, **kwargs)


def leaves(value):
    """Everything in nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [value]


def rebuilt(value, change):
    """The same nested containers with `change` of each leaf."""
    if isinstance(value, (list, tuple)):
        return type(value)([rebuilt(item, change) for item in value])
    if isinstance(value, dict):
        return {k: rebuilt(item, change) for k, item in value.items()}
    return change(value)


def functions_of(module):
    """{name: function} of what a module offers."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {n: getattr(module, n) for n in names}
    return {n: f for n, f in found.items() if callable(f) and not inspect.isclass(f)}


def calls_of(name, function, modules, most=3):
    """[(args, kwargs)] of the calls with Variables in its own example."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(function) or "")
    harvest = _Harvest(function, most)
    held = [m for m in modules if getattr(m, name, None) is function]
    names = {}
    try:
        for m in held:
            setattr(m, name, harvest)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            for example in examples:
                try:
                    exec(compile(example.source, f"<{name}>", "exec"), names)
                except Exception:  # an example of an error
                    if not example.exc_msg:
                        break
    finally:
        for m in held:
            setattr(m, name, function)
    return harvest.calls
