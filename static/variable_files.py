"""Variables of programs in files: Fluid's stream of tensors, one file each or one for all."""

from dygraph import _core
from dygraph.core import files
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.static.executor import Executor
from dygraph.static.program import Program, default_main_program
from dygraph.static.scope import Scope, global_scope
from dygraph.static.variable import Parameter, Variable

__all__ = [
    "get_program_parameter", "get_program_persistable_vars", "load_params", "load_persistables",
    "load_vars", "save_params", "save_persistables", "save_vars",
]  # fmt: skip

_HOLDERS = ("FEED_MINIBATCH", "FETCH_LIST", "READER", "RAW", "STEP_SCOPES")


# What is saved ------------------------------------------------------------------------------------


def is_parameter(variable):
    """Whether training changes it."""
    return isinstance(variable, Parameter)


def is_persistable(variable):
    """Whether it outlives a run and holds a value."""
    return variable.persistable and variable.type not in _HOLDERS


def get_program_parameter(program):
    """The parameters of a program.

    Parameters
    ----------
    program : Program
        None: the default main program.

    Returns
    -------
    list of Parameter
        In the order of the program.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main, static.Program()):
    ...     w = static.create_parameter([2], "float32", name="w")
    >>> [p.name for p in static.io.get_program_parameter(main)]
    ['w']
    """
    return [
        v for v in require_program(program, "get_program_parameter").list_vars() if is_parameter(v)
    ]


def get_program_persistable_vars(program):
    """The variables of a program that outlive a run: parameters and states of optimizers.

    Parameters
    ----------
    program : Program
        None: the default main program.

    Returns
    -------
    list of Variable
        In the order of the program.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main, static.Program()):
    ...     steps = static.create_global_var([1], 0, "int64", persistable=True, name="steps")
    >>> [v.name for v in static.io.get_program_persistable_vars(main)]
    ['steps']
    """
    require_program(program, "get_program_persistable_vars")
    return [v for v in program.list_vars() if is_persistable(v)]


def require_program(program, what):
    """The program, or for None the default main program."""
    program = default_main_program() if program is None else program
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"{what}: main_program must be a static.Program, got {kind_of(program)}"
        )
    return program


def require_scope(scope, what):
    """The scope, or for None the global one."""
    scope = global_scope() if scope is None else scope
    if not isinstance(scope, Scope):
        raise ArgumentTypeError(f"{what}: scope must be a static.Scope, got {kind_of(scope)}")
    return scope


def require_executor(executor, what):
    """Fluid's argument; its place is not used."""
    if executor is not None and not isinstance(executor, Executor):
        raise ArgumentTypeError(
            f"{what}: executor must be a static.Executor, got {kind_of(executor)}"
        )


def _chosen(what, program, vars, predicate):
    """The variables by name."""
    program = require_program(program, what)
    if vars is None:
        if predicate is None:
            raise InvalidArgumentError(f"{what}: vars or predicate must be given, got neither")
        if not callable(predicate):
            raise ArgumentTypeError(f"{what}: predicate must be callable, got {kind_of(predicate)}")
        vars = [v for v in program.list_vars() if predicate(v)]
        if not vars and predicate is is_parameter and any(map(is_persistable, program.list_vars())):
            raise InvalidArgumentError(
                f"{what}: the program must have parameters, got none. A program read from bytes "
                f"does not record its parameters. Use the function for persistables"
            )
    elif isinstance(vars, (str, Variable)) or not hasattr(vars, "__iter__"):
        raise ArgumentTypeError(f"{what}: vars must be a list of variables, got {kind_of(vars)}")
    found = {}
    for v in vars:
        if isinstance(v, str):
            v = program.global_block().var(v)
        if not isinstance(v, Variable):
            raise ArgumentTypeError(
                f"{what}: vars must hold variables of a program, got {kind_of(v)}"
            )
        if v.type != "LOD_TENSOR":
            if v.type in _HOLDERS:
                continue
            raise InvalidArgumentError(f"{what}: '{v.name}' must be a tensor, got {v.type}")
        found[v.name] = v
    return found


# Values -------------------------------------------------------------------------------------------


def value_in(scope, name, what):
    """The value of a variable in a scope."""
    held = scope.find_var(name)
    if held is None or held.is_empty():
        raise PreconditionNotMetError(
            f"{what}: the variable '{name}' must hold a value to be saved, got nothing. Run the "
            "startup program first, in the same scope"
        )
    value = held.get()
    if _core.is_selected_rows(value):
        raise InvalidArgumentError(
            f"{what}: the variable '{name}' must hold a tensor, got selected rows"
        )
    return value


def require_fit(variable, value, what):
    """FormatError if a value differs from the declaration."""
    if variable.dtype is not None and str(value.dtype) != str(variable.dtype):
        raise FormatError(
            f"{what}: '{variable.name}' must be {variable.dtype} as the program says, "
            f"got {value.dtype}"
        )
    want = variable.shape
    fits = want is None or (
        len(want) == len(value.shape)
        and all(w in (-1, s) for w, s in zip(want, value.shape, strict=True))
    )
    if not fits:
        raise FormatError(
            f"{what}: '{variable.name}' must have the shape {list(want)} as the program says, "
            f"got {list(value.shape)}"
        )


def read_values(dirname, variables, filename, what):
    """Variables by name -> values by name, all read and checked."""
    names = sorted(variables)
    if filename is not None:
        values = dict(zip(names, _core.read_tensors(dirname, filename, len(names)), strict=True))
    else:
        values = dict(zip(names, _core.read_tensor_files(dirname, names), strict=True))
    for name, value in values.items():
        require_fit(variables[name], value, what)
    return values


def put(scope, values):
    """Set variables of a scope."""
    for name, value in values.items():
        scope.var(name).set(value)


# Saving and loading -------------------------------------------------------------------------------


def save_vars(
    executor, dirname, main_program=None, vars=None, predicate=None, filename=None, scope=None
):
    """Save variables of a program, in the files that Fluid writes.

    Values are read before any file is written, and all files are replaced together: a killed
    process leaves the old values or the new ones. (With `filename` None, other libraries may read
    both while the files are renamed.)

    Parameters
    ----------
    executor : Executor or None
        Fluid's; not used.
    dirname : str or os.PathLike
        Made if it does not exist.
    main_program : Program, optional
        Default: the default main program.
    vars : list of Variable or str, optional
        What to save.
    predicate : callable, optional
        Without `vars`: selects the variables of the program.
    filename : str, optional
        None: a file for each, named like its variable. Else one file, sorted by name.
    scope : Scope, optional
        The scope of the values. Default: ``global_scope()``.

    Raises
    ------
    PreconditionNotMetError
        A variable holds no value.
    InvalidArgumentError
        A variable is no tensor, or its name is not valid for a file.

    Examples
    --------
    >>> import os, numpy as np, tempfile
    >>> from dygraph import static
    >>> main, scope, folder = static.Program(), static.Scope(), tempfile.mkdtemp()
    >>> w = main.global_block().create_var(name="w", shape=[2], dtype="float32")
    >>> scope.var("w").set(np.ones(2, "float32"))
    >>> static.io.save_vars(None, folder, main, vars=[w], scope=scope)
    >>> os.listdir(folder)
    ['w']
    """
    _save("save_vars", executor, dirname, main_program, vars, predicate, filename, scope)


def _save(what, executor, dirname, main_program, vars, predicate, filename, scope):
    require_executor(executor, what)
    dirname = files.path_of(dirname, what)
    scope = require_scope(scope, what)
    variables = _chosen(what, main_program, vars, predicate)
    values = {name: value_in(scope, name, what) for name in sorted(variables)}
    if filename is not None:
        _core.write_tensors(dirname, _name(filename, what), list(values.values()))
        return
    for name in values:
        _name(name, what)
    files.write_together(dirname, {name: [value] for name, value in values.items()})


def _name(name, what):
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{what}: filename must be a name, got {kind_of(name)}")
    if not name or "/" in name or "\0" in name or name in (".", "..") or len(name.encode()) > 240:
        raise InvalidArgumentError(
            f"{what}: the name of a file must be 1 to 240 bytes without '/', got {name!r}. "
            "With filename='...' one file holds all variables"
        )
    return name


def load_vars(
    executor, dirname, main_program=None, vars=None, predicate=None, filename=None, scope=None
):
    """Load what `save_vars` or Fluid saved.

    All values are read and checked before the first variable of the scope is changed.

    Parameters
    ----------
    executor : Executor or None
        Fluid's; not used.
    dirname, main_program, vars, predicate, filename, scope
        As of `save_vars`. One file does not hold names: it must have been saved with the same
        variables.

    Raises
    ------
    MissingFileError
        A file is missing (a FileNotFoundError).
    FormatError
        A file is damaged, or holds other variables, shapes or types than declared (a ValueError).

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from dygraph import static
    >>> main, scope, folder = static.Program(), static.Scope(), tempfile.mkdtemp()
    >>> w = main.global_block().create_var(name="w", shape=[2], dtype="float32")
    >>> scope.var("w").set(np.ones(2, "float32"))
    >>> static.io.save_vars(None, folder, main, [w], filename="all", scope=scope)
    >>> other = static.Scope()
    >>> static.io.load_vars(None, folder, main, [w], filename="all", scope=other)
    >>> other.get_var("w").get().numpy()
    array([1., 1.], dtype=float32)
    """
    _load("load_vars", executor, dirname, main_program, vars, predicate, filename, scope)


def _load(what, executor, dirname, main_program, vars, predicate, filename, scope):
    require_executor(executor, what)
    dirname = files.path_of(dirname, what)
    scope = require_scope(scope, what)
    variables = _chosen(what, main_program, vars, predicate)
    if filename is not None:
        _name(filename, what)
    put(scope, read_values(dirname, variables, filename, what))


def save_params(executor, dirname, main_program=None, filename=None, scope=None):
    """Save the parameters of a program, in Fluid's format.

    Parameters
    ----------
    executor : Executor
        That has run the startup program.
    dirname : str or os.PathLike
        The folder, which is made if it is missing.
    main_program : Program, optional
        None: the default main program.
    filename : str, optional
        One file for all; None: a file for each, of its name.
    scope : Scope, optional
        Where the values are; None: the global one.

    Raises
    ------
    PreconditionNotMetError
        A parameter has no value yet.

    Examples
    --------
    >>> import os, tempfile
    >>> from dygraph import static
    >>> main, startup, folder = static.Program(), static.Program(), tempfile.mkdtemp()
    >>> with static.program_guard(main, startup):
    ...     w = static.create_parameter([2, 3], "float32", name="w")
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> static.io.save_params(executor, folder, main)
    >>> os.listdir(folder)
    ['w']
    """
    _save("save_params", executor, dirname, main_program, None, is_parameter, filename, scope)


def load_params(executor, dirname, main_program=None, filename=None, scope=None):
    """Load the parameters of a program, as `save_params` saved them.

    Parameters
    ----------
    executor : Executor
        On whose place the values go.
    dirname : str or os.PathLike
        The folder.
    main_program : Program, optional
        None: the default main program.
    filename : str, optional
        The file of all; None: a file for each, of its name.
    scope : Scope, optional
        Where the values go; None: the global one.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> import tempfile
    >>> main, startup, folder = static.Program(), static.Program(), tempfile.mkdtemp()
    >>> with static.program_guard(main, startup):
    ...     one = static.initializer.Constant(1.0)
    ...     w = static.create_parameter([2], "float32", name="w", default_initializer=one)
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> static.io.save_params(executor, folder, main)
    >>> with static.scope_guard(static.Scope()) as _:
    ...     static.io.load_params(executor, folder, main)
    ...     np.array(static.global_scope().find_var("w").get_tensor()).tolist()
    [1.0, 1.0]
    """
    _load("load_params", executor, dirname, main_program, None, is_parameter, filename, scope)


def save_persistables(executor, dirname, main_program=None, filename=None, scope=None):
    """Save parameters and the state of optimizers and batch_norm, in Fluid's format.

    Parameters
    ----------
    executor : Executor
        That has run the startup program.
    dirname : str or os.PathLike
        The folder, which is made if it is missing.
    main_program : Program, optional
        None: the default main program.
    filename : str, optional
        One file for all; None: a file for each, of its name.
    scope : Scope, optional
        Where the values are; None: the global one.

    Raises
    ------
    PreconditionNotMetError
        A variable has no value yet.

    Examples
    --------
    >>> import tempfile
    >>> from dygraph import static
    >>> main, startup, folder = static.Program(), static.Program(), tempfile.mkdtemp()
    >>> with static.program_guard(main, startup):
    ...     x = static.data("x", [None, 3], "float32")
    ...     loss = static.layers.mean(static.layers.fc(x, size=1))
    ...     done = static.optimizer.Adam(0.1).minimize(loss)
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> static.io.save_persistables(executor, folder, main, filename="all")
    >>> with static.scope_guard(static.Scope()):
    ...     static.io.load_persistables(executor, folder, main, filename="all")
    """
    _save(
        "save_persistables", executor, dirname, main_program, None, is_persistable, filename, scope
    )


def load_persistables(executor, dirname, main_program=None, filename=None, scope=None):
    """Load what `save_persistables` saved.

    Parameters
    ----------
    executor : Executor
        On whose place the values go.
    dirname : str or os.PathLike
        The folder.
    main_program : Program, optional
        None: the default main program.
    filename : str, optional
        The file of all; None: a file for each, of its name.
    scope : Scope, optional
        Where the values go; None: the global one.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> import tempfile
    >>> main, startup, folder = static.Program(), static.Program(), tempfile.mkdtemp()
    >>> with static.program_guard(main, startup):
    ...     steps = static.create_global_var([1], 3, "int64", persistable=True, name="steps")
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> static.io.save_persistables(executor, folder, main)
    >>> with static.scope_guard(static.Scope()) as _:
    ...     static.io.load_persistables(executor, folder, main)
    ...     np.array(static.global_scope().find_var("steps").get_tensor()).tolist()
    [3]
    """
    _load(
        "load_persistables", executor, dirname, main_program, None, is_persistable, filename, scope
    )
