"""IPython and Jupyter: a cell that failed does not keep its tensors.

After an error IPython keeps the traceback for ``%debug``, and with it the locals of every function
on the way: variables, and the tape behind them. With ``%load_ext dygraph`` those locals go as soon
as the cell has failed, where a Variable is among them; the frames of other errors stay, and under
``%pdb on`` all do. Importing dygraph changes nothing.
"""

import gc
import sys
import traceback
import types

from dygraph import _core, memory

__all__ = ["release"]

Variable = _core.Variable
_LAST = ("last_exc", "last_value")
_OPTIMIZED = 1  # code flag of functions: module code's locals are the user's own names
_LEADING_FAR = type, types.ModuleType, types.FrameType, types.TracebackType, types.CodeType
_MOST_LOOKED_AT = 100_000


def release(history=True):
    """Let go of what the last error and the history of outputs keep alive.

    The frames of the last traceback lose their locals (the traceback itself stays readable), the
    history of IPython loses the entries that hold a `Variable` (``_``, ``Out[3]``, ``_3``), and the
    blocks that are free go back to the system. Names you gave are yours: they stay.

    Parameters
    ----------
    history : bool
        False: leave the history of outputs.

    Returns
    -------
    int
        How many variables were freed.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.release() >= 0
    True
    """
    before = _core.live_variables()
    for name in _LAST:
        clear_error(getattr(sys, name, None))
    clear_traceback(getattr(sys, "last_traceback", None))
    shell = _shell()
    if shell is not None:
        result = getattr(shell, "last_execution_result", None)
        clear_error(getattr(result, "error_in_exec", None))
        if history:
            _clear_history(shell)
    gc.collect()
    memory.release_free()
    return max(before - _core.live_variables(), 0)


def _parts_of(error):
    """An exception, its causes and its members, each once."""
    waiting, seen = [error], {}
    while waiting:
        error = waiting.pop()
        if isinstance(error, BaseException) and id(error) not in seen:
            seen[id(error)] = error
            waiting += [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]
    return list(seen.values())


def clear_error(error):
    """Empty the frames an exception passed through, and those of its causes and members."""
    for part in _parts_of(error):
        clear_traceback(part.__traceback__)
        if isinstance(getattr(part, "obj", None), Variable):  # AttributeError keeps whom it asked
            part.obj = None


def clear_traceback(tb):
    """As ``traceback.clear_frames``; copies of locals that a debugger has made go as well."""
    traceback.clear_frames(tb)
    while tb is not None:
        if tb.tb_frame.f_code.co_flags & _OPTIMIZED:
            tb.tb_frame.f_locals  # noqa: B018 - up to Python 3.12 reading renews the copy
        tb = tb.tb_next


def holds_variables(error, shell=None):
    """Whether a function that an exception passed through can reach a Variable.

    Neither modules and globals count nor what belongs to the shell: those names are the user's.
    """
    left = {id(shell), id(getattr(shell, "user_ns", None))}
    left.update(id(vars(module)) for module in list(sys.modules.values()) if module is not None)
    waiting, seen = [], set()
    for part in _parts_of(error):
        waiting += [part.args, vars(part), getattr(part, "obj", None)]
        tb = part.__traceback__
        while tb is not None:
            frame, tb = tb.tb_frame, tb.tb_next
            module = str(frame.f_globals.get("__name__")).partition(".")[0]
            left.add(id(frame.f_globals))
            if frame.f_code.co_flags & _OPTIMIZED and module not in ("IPython", "ipykernel"):
                waiting += frame.f_locals.values()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        value = waiting.pop()
        if issubclass(type(value), Variable):
            return True
        if id(value) not in seen and id(value) not in left:
            seen.add(id(value))
            waiting += _reached(value)
    return False


def _reached(value):
    """What an object refers to, without the ways that lead to everything."""
    if isinstance(value, types.FunctionType):
        return [value.__closure__, value.__defaults__, value.__kwdefaults__]
    if isinstance(value, types.GeneratorType):
        return [] if value.gi_frame is None else list(value.gi_frame.f_locals.values())
    if isinstance(value, _LEADING_FAR) or not gc.is_tracked(value):
        return []
    return [v for v in gc.get_referents(value) if issubclass(type(v), Variable) or gc.is_tracked(v)]


def _holds_variable(value, depth=3):
    if isinstance(value, Variable):
        return True
    if depth and isinstance(value, dict):
        value = list(value.values())
    return (
        depth > 0
        and isinstance(value, (list, tuple, set, frozenset))
        and any(_holds_variable(v, depth - 1) for v in value)
    )


def _clear_history(shell):
    names, hidden, hook = shell.user_ns, shell.user_ns_hidden, shell.displayhook
    outputs = names.get("_oh", {})
    for number in [n for n, value in outputs.items() if _holds_variable(value)]:
        value, key = outputs.pop(number), f"_{number}"
        for table in (names, hidden):
            if table.get(key) is value:
                del table[key]
    for name in ("_", "__", "___"):
        value = getattr(hook, name, None)
        if not _holds_variable(value):
            continue
        setattr(hook, name, "")
        for table in (names, hidden):
            if table.get(name) is value:  # a name the user has bound himself is his
                table[name] = ""


# The hook -----------------------------------------------------------------------------------------


class Hook:
    """What one shell runs after its cells."""

    def __init__(self, shell):
        self.shell = shell
        shell.events.register("post_run_cell", self.after)

    def after(self, result=None):
        """A cell has ended: empty the frames of its error; under %pdb they stay."""
        error = getattr(result, "error_in_exec", None)
        if error is not None and not self.shell.call_pdb and holds_variables(error, self.shell):
            clear_error(error)

    def remove(self):
        """Take the hook away."""
        if self.after in self.shell.events.callbacks["post_run_cell"]:
            self.shell.events.unregister("post_run_cell", self.after)


def _shell():
    """The shell that runs, without importing IPython."""
    module = sys.modules.get("IPython")
    get = getattr(module, "get_ipython", None)
    return get() if get is not None else None


def install(shell):
    """Register the hook with a shell, once; gives it, or None for what is no shell."""
    if not hasattr(shell, "events"):
        return None
    hook = getattr(shell, "_dygraph_hook", None)
    if hook is None:
        hook = shell._dygraph_hook = Hook(shell)
    return hook


def uninstall(shell):
    """Take the hook of a shell away."""
    hook = getattr(shell, "_dygraph_hook", None)
    if hook is not None:
        hook.remove()
        shell._dygraph_hook = None
