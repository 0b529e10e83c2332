"""A program and its values under one name: ``path.pdmodel``, ``.pdparams``, ``.pdopt``."""

import os

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core import files
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    kind_of,
)
from dygraph.saving.states import chunks_of
from dygraph.static.variable import Variable
from dygraph.static.variable_files import (
    is_parameter,
    is_persistable,
    put,
    require_executor,
    require_fit,
    require_program,
    require_scope,
    value_in,
)

__all__ = ["load", "load_program_state", "save", "set_program_state"]


def _base(path, what):
    path = files.path_of(path, what)
    if not os.path.basename(path):
        raise InvalidArgumentError(f"{what}: model_path must end with a name, got '{path}'")
    for suffix in (".pdparams", ".pdopt", ".pdmodel"):
        path = path.removesuffix(suffix)
    return path


def save(program, model_path, scope=None):
    """Save a program with all its values.

    ``model_path + '.pdparams'`` gets the parameters, ``.pdopt`` the other persistable variables,
    ``.pdmodel`` the program's bytes. The first two are the files of `dygraph.save`; Fluid's were
    pickles, which are neither written nor read here. All three are replaced together.

    Parameters
    ----------
    program : Program
        The program whose values are saved.
    model_path : str or os.PathLike
        Directory and prefix of the names.
    scope : Scope, optional
        Where the values are; None: the global one.

    Examples
    --------
    >>> import os, tempfile
    >>> from dygraph import static
    >>> main, startup, folder = static.Program(), static.Program(), tempfile.mkdtemp()
    >>> with static.program_guard(main, startup):
    ...     w = static.create_parameter([2, 3], "float32", name="w_of_save")
    >>> _ = static.Executor().run(startup)
    >>> static.save(main, os.path.join(folder, "net"))
    >>> sorted(os.listdir(folder))
    ['net.pdmodel', 'net.pdopt', 'net.pdparams']
    """
    program = require_program(program, "save")
    base = _base(model_path, "save")
    scope = require_scope(scope, "save")
    states = {".pdparams": {}, ".pdopt": {}}
    for v in program.list_vars():
        if is_persistable(v):
            suffix = ".pdparams" if is_parameter(v) else ".pdopt"
            states[suffix][v.name] = value_in(scope, v.name, "save")
    folder, name = os.path.split(base)
    contents = {name + suffix: chunks_of(state) for suffix, state in states.items()}
    contents[f"{name}.pdmodel"] = [program.serialize_to_string()]
    files.write_together(folder, contents)


def load(program, model_path, executor=None, var_list=None, scope=None):
    """Load the values that `save` saved into a scope.

    Parameters
    ----------
    program : Program
        Declares the variables.
    model_path : str or os.PathLike
        As of `save`.
    executor : Executor, optional
        Fluid's; not used.
    var_list : list of Variable, optional
        Only these. Default: every persistable variable of the program.
    scope : Scope, optional
        Where the values go; None: the global one.

    Raises
    ------
    MissingFileError
        There is no such file.
    FormatError
        A file is damaged, or a variable is missing or has another shape or type. The scope is not
        changed then.

    Examples
    --------
    >>> import os, tempfile
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     w = static.create_parameter([2, 3], "float32", name="w_of_load")
    >>> _ = static.Executor().run(startup)
    >>> path = os.path.join(tempfile.mkdtemp(), "net")
    >>> static.save(main, path)
    >>> scope = static.Scope()
    >>> static.load(main, path, scope=scope)
    >>> scope.get_var("w_of_load").get().shape
    (2, 3)
    """
    require_executor(executor, "load")
    program = require_program(program, "load")
    scope = require_scope(scope, "load")
    state = load_program_state(model_path, var_list)
    wanted = _wanted(program, var_list)
    missing = [name for name in wanted if name not in state]
    if missing:
        raise FormatError(
            f"load: the files of '{_base(model_path, 'load')}' must hold every variable of the "
            f"program, but '{missing[0]}' is missing"
        )
    for name, v in wanted.items():
        require_fit(v, state[name], "load")
    put(scope, {name: state[name] for name in wanted})


def _wanted(program, var_list):
    if var_list is None:
        return {v.name: v for v in program.list_vars() if is_persistable(v)}
    found = {}
    for v in _list(var_list):
        found[v.name] = program.global_block().var(v.name)
    return found


def _list(var_list):
    if isinstance(var_list, (str, Variable)) or not hasattr(var_list, "__iter__"):
        raise ArgumentTypeError(
            f"load: var_list must be a list of variables, got {kind_of(var_list)}"
        )
    for v in var_list:
        if not isinstance(v, Variable):
            raise ArgumentTypeError(
                f"load: var_list must hold variables of a program, got {kind_of(v)}"
            )
    return list(var_list)


def load_program_state(model_path, var_list=None):
    """Values of a `save`, as arrays by name for `set_program_state`.

    Parameters
    ----------
    model_path : str or os.PathLike
        As of `save`; or a directory with a file for each variable, as `save_persistables` makes it.
    var_list : list of Variable, optional
        Only these.

    Returns
    -------
    dict of str to numpy.ndarray

    Examples
    --------
    >>> import os, tempfile
    >>> from dygraph import static
    >>> path = os.path.join(tempfile.mkdtemp(), "net")
    >>> static.save(static.Program(), path)
    >>> static.io.load_program_state(path)
    {}
    """
    path = files.path_of(model_path, "load_program_state")
    names = None if var_list is None else [v.name for v in _list(var_list)]
    if os.path.isdir(path):
        values = dygraph.load_fluid_params(path, names)
        return {name: value.numpy() for name, value in values.items()}
    base, state = _base(path, "load_program_state"), {}
    with files.reading(os.path.dirname(base)):
        state.update(_state(base + ".pdparams"))
        try:
            state.update(_state(base + ".pdopt"))
        except MissingFileError:
            pass  # Fluid writes no file without variables
    if names is not None:
        state = {name: value for name, value in state.items() if name in names}
    return {name: value.numpy() for name, value in state.items()}


def _state(path):
    state = dygraph.load(path)
    if not isinstance(state, dict) or not all(
        isinstance(v, _core.Variable) for v in state.values()
    ):
        raise FormatError(f"load: '{path}' must hold Variables by name, got other data")
    return state


def set_program_state(program, state_dict, scope=None):
    """Set the variables of a program to arrays.

    Parameters
    ----------
    program : Program
        The program whose values are set.
    state_dict : dict of str to array
        Names that the program does not have are left out.
    scope : Scope, optional
        Where the values go; None: the global one.

    Raises
    ------
    ValueError
        A shape or type differs from the declaration; no variable was set.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> main = static.Program()
    >>> w = main.global_block().create_parameter([2], "float32", "w")
    >>> scope = static.Scope()
    >>> static.io.set_program_state(main, {"w": np.ones(2, "float32")}, scope)
    >>> scope.get_var("w").get().numpy()
    array([1., 1.], dtype=float32)
    """
    program = require_program(program, "set_program_state")
    scope = require_scope(scope, "set_program_state")
    if not hasattr(state_dict, "items"):
        raise ArgumentTypeError(
            f"set_program_state: state_dict must be a dict, got {kind_of(state_dict)}"
        )
    variables = {v.name: v for v in program.list_vars() if is_persistable(v)}
    values = {}
    for name, value in state_dict.items():
        if name in variables:
            values[name] = value if isinstance(value, _core.Variable) else np.asarray(value)
            require_fit(variables[name], values[name], "set_program_state")
    put(scope, values)
