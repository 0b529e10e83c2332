"""IPython and Jupyter: a cell that failed does not keep its tensors.

After an error IPython keeps the traceback for ``%debug``, and with it the locals of every function
on the way: variables, and the tape behind them. Where dygraph is imported inside IPython those
locals are let go when the next cell starts, unless that cell is ``%debug``. With
``%load_ext dygraph`` they go as soon as the cell has failed. Under ``%pdb on`` they stay.
"""

import gc
import sys
import traceback

from dygraph import _core, memory

__all__ = ["release"]

Variable = _core.Variable
_LAST = ("last_exc", "last_value")
_OPTIMIZED = 1  # code flag of functions: module code's locals are the user's own names


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


def clear_error(error):
    """Empty the frames an exception passed through, and those of its causes and members."""
    waiting, seen = [error], set()
    while waiting:
        error = waiting.pop()
        if not isinstance(error, BaseException) or id(error) in seen:
            continue
        seen.add(id(error))
        clear_traceback(error.__traceback__)
        if isinstance(getattr(error, "obj", None), Variable):  # AttributeError keeps whom it asked
            error.obj = None
        waiting += [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]


def clear_traceback(tb):
    """As ``traceback.clear_frames``; copies of locals that a debugger has made go as well."""
    traceback.clear_frames(tb)
    while tb is not None:
        if tb.tb_frame.f_code.co_flags & _OPTIMIZED:
            tb.tb_frame.f_locals  # noqa: B018 - up to Python 3.12 reading renews the copy
        tb = tb.tb_next


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
    """What one shell runs before and after its cells."""

    def __init__(self, shell, at_once):
        self.shell, self.at_once = shell, at_once
        self.failed = None  # the error of the last cell that failed
        shell.events.register("pre_run_cell", self.before)
        shell.events.register("post_run_cell", self.after)

    def before(self, info=None):
        """A cell starts: the last failure is over, unless this is where it is looked at."""
        text = (getattr(info, "raw_cell", None) or "").lstrip()
        if not text.startswith(("%debug", "debug", "%tb", "%pdb", "import pdb")):
            self.clear()

    def after(self, result=None):
        """A cell has ended, perhaps with an error."""
        error = getattr(result, "error_in_exec", None)
        if error is not None:
            self.failed = error
            if self.at_once:
                self.clear()

    def clear(self):
        """Empty the frames of the last failure; under %pdb they stay."""
        error, self.failed = self.failed, None
        if error is not None and not self.shell.call_pdb:
            clear_error(error)

    def remove(self):
        """Take the hook away."""
        self.failed = None
        for event, function in (("pre_run_cell", self.before), ("post_run_cell", self.after)):
            if function in self.shell.events.callbacks[event]:
                self.shell.events.unregister(event, function)


def _shell():
    """The shell that runs, without importing IPython."""
    module = sys.modules.get("IPython")
    get = getattr(module, "get_ipython", None)
    return get() if get is not None else None


def install(shell=None, at_once=False):
    """Register the hook with a shell, once; gives it, or None outside IPython."""
    shell = _shell() if shell is None else shell
    if shell is None or not hasattr(shell, "events"):
        return None
    hook = getattr(shell, "_dygraph_hook", None)
    if hook is None:
        hook = shell._dygraph_hook = Hook(shell, at_once)
    hook.at_once = hook.at_once or at_once
    return hook


def uninstall(shell):
    """Take the hook of a shell away."""
    hook = getattr(shell, "_dygraph_hook", None)
    if hook is not None:
        hook.remove()
        shell._dygraph_hook = None
