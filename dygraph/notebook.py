"""IPython and Jupyter: release of the tensors of a failed cell.

After an error IPython keeps the traceback for ``%debug``, and with it the locals of all its
functions: variables and their tape. With ``%load_ext dygraph`` these locals are cleared as soon as
the cell has failed, if they hold a Variable; the frames of other errors are kept, and under
``%pdb on`` all frames. Importing dygraph has no effect on IPython.
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
    """Release the objects that the last error and the output history keep alive.

    The frames of the last traceback lose their locals (the traceback itself stays readable), the
    history of IPython loses the entries that hold a `Variable` (``_``, ``Out[3]``, ``_3``), and
    free blocks are returned to the system. Names that you bound are kept.

    Parameters
    ----------
    history : bool
        False: keep the output history.

    Returns
    -------
    int
        The number of freed variables.

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
    """Clear the frames of an exception, and those of its causes and members."""
    for part in _parts_of(error):
        clear_traceback(part.__traceback__)
        if isinstance(getattr(part, "obj", None), Variable):  # AttributeError keeps the object
            part.obj = None


def clear_traceback(tb):
    """As ``traceback.clear_frames``; also clears copies of locals that a debugger made."""
    traceback.clear_frames(tb)
    while tb is not None:
        if tb.tb_frame.f_code.co_flags & _OPTIMIZED:
            tb.tb_frame.f_locals  # noqa: B018 - up to Python 3.12 reading renews the copy
        tb = tb.tb_next


def holds_variables(error, shell=None):
    """Whether a frame of an exception refers to a Variable.

    Modules, globals and objects of the shell do not count: those names are the user's.
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
    """The referents of an object, without modules and other references to all objects."""
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
            if table.get(name) is value:  # names that the user bound are kept
                table[name] = ""


# The hook -----------------------------------------------------------------------------------------


class Hook:
    """The hook that one shell runs after its cells."""

    def __init__(self, shell):
        self.shell = shell
        shell.events.register("post_run_cell", self.after)

    def after(self, result=None):
        """After a cell: clear the frames of its error, but not under %pdb."""
        error = getattr(result, "error_in_exec", None)
        if error is not None and not self.shell.call_pdb and holds_variables(error, self.shell):
            clear_error(error)

    def remove(self):
        """Remove the hook."""
        if self.after in self.shell.events.callbacks["post_run_cell"]:
            self.shell.events.unregister("post_run_cell", self.after)


def _shell():
    """The running shell, without importing IPython."""
    module = sys.modules.get("IPython")
    get = getattr(module, "get_ipython", None)
    return get() if get is not None else None


def install(shell):
    """Register the hook with a shell once; returns it, or None without a shell."""
    if not hasattr(shell, "events"):
        return None
    hook = getattr(shell, "_dygraph_hook", None)
    if hook is None:
        hook = shell._dygraph_hook = Hook(shell)
    return hook


def uninstall(shell):
    """Remove the hook of a shell."""
    hook = getattr(shell, "_dygraph_hook", None)
    if hook is not None:
        hook.remove()
        shell._dygraph_hook = None
