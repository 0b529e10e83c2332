"""Programs and their values on disk, and readers; Fluid's ``fluid.io``.

This module has inference models; `static.variable_files` has single variables,
`static.program_state` whole programs with their values, `static.loaders` loaders for programs, and
`dygraph.io` readers.
"""

import os
import warnings

from dygraph import _core
from dygraph.core import files
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.io import (
    ComposeNotAligned,
    batch,
    buffered,
    cache,
    chain,
    compose,
    default_collate_fn,
    firstn,
    map_readers,
    multiprocess_reader,
    shuffle,
    xmap_readers,
)
from dygraph.static.executor import name_of
from dygraph.static.loaders import DataLoader, PyReader
from dygraph.static.paddle_forms import for_paddle, unknown_to_paddle
from dygraph.static.program import Program
from dygraph.static.program_state import load, load_program_state, save, set_program_state
from dygraph.static.variable_files import (
    get_program_parameter,
    get_program_persistable_vars,
    is_persistable,
    load_params,
    load_persistables,
    load_vars,
    put,
    read_values,
    require_executor,
    require_program,
    require_scope,
    save_params,
    save_persistables,
    save_vars,
    value_in,
)

__all__ = [
    "ComposeNotAligned", "DataLoader", "PyReader", "batch", "buffered", "cache", "chain", "compose",
    "default_collate_fn", "firstn", "for_paddle", "get_program_parameter",
    "get_program_persistable_vars", "load", "load_inference_model", "load_params",
    "load_persistables", "load_program_state", "load_vars", "map_readers", "multiprocess_reader",
    "save", "save_inference_model", "save_params", "save_persistables", "save_vars",
    "set_program_state", "shuffle", "unknown_to_paddle", "xmap_readers",
]  # fmt: skip

_MODEL, _WEIGHTS = "__model__", "__params__"


def save_inference_model(
    dirname, feeded_var_names, target_vars, executor=None, main_program=None, model_filename=None,
    params_filename=None, export_for_deployment=True, program_only=False, scope=None,
):  # fmt: skip
    """Save the part of a program that leads from the fed variables to the targets, and its weights.

    Operators of backward and update are left out, and ``dropout`` and ``batch_norm`` run as in
    inference. The directory holds ``__model__`` (ProgramDesc bytes that Netron and Fluid read) and
    ``__params__`` (Fluid's stream of tensors). A model is replaced in one step or, after an error,
    not at all.

    Parameters
    ----------
    dirname : str or path
        Made if it is not there.
    feeded_var_names : list of str
        Names of the inputs, in order.
    target_vars : list of Variable or str
        The outputs, in order.
    executor : Executor, optional
        Fluid's; not used.
    main_program : Program, optional
        What to save. Default: the default main program.
    model_filename, params_filename : str, optional
        Other names for the two files.
    export_for_deployment : bool
        False: save the whole program, as it is, to ``__model__.main_program``.
    program_only : bool
        True: save no weights.
    scope : Scope, optional
        Where the weights are. Default: ``global_scope()``.

    Returns
    -------
    list of str
        Names of the outputs.

    Raises
    ------
    ValueError
        A name is no variable of the program.
    RuntimeError
        A weight holds no value, a needed input is not among the fed names, or the model calls a
        Python function (`py_func`).

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from dygraph import static
    >>> main, startup, folder = static.Program(), static.Program(), tempfile.mkdtemp()
    >>> with static.program_guard(main, startup):
    ...     x = static.data("x", [None, 3], "float32")
    ...     y = static.layers.fc(x, size=2)
    ...     done = static.optimizer.SGD(0.1).minimize(static.layers.mean(y))
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> _ = static.save_inference_model(folder, ["x"], [y], executor, main)
    >>> sorted(os.listdir(folder))
    ['__model__', '__params__']
    """
    program = require_program(main_program, "save_inference_model")
    require_executor(executor, "save_inference_model")
    scope = require_scope(scope, "save_inference_model")
    dirname = os.fspath(dirname)
    if isinstance(feeded_var_names, str):
        feeded_var_names = [feeded_var_names]
    if not isinstance(target_vars, (list, tuple)):
        target_vars = [target_vars]
    fetches = [name_of(var) for var in target_vars]
    model = _file(model_filename, _MODEL, "model_filename")
    weights = _file(params_filename, _WEIGHTS, "params_filename")
    if model == weights:
        raise InvalidArgumentError(
            f"save_inference_model: model_filename and params_filename must differ, got '{model}'"
        )
    if not export_for_deployment:
        _refuse_functions(program)
        contents = {f"{model}.main_program": [program.serialize_to_string()]}
        if not program_only:
            variables = [v for v in get_program_persistable_vars(program) if v.type == "LOD_TENSOR"]
            held = {v.name: value_in(scope, v.name, "save_inference_model") for v in variables}
            contents[weights] = [held[name] for name in sorted(held)]
        files.write_together(dirname, contents)
        return fetches
    test = program.clone(for_test=True)
    options = {"feeds": list(feeded_var_names), "fetches": fetches}
    pruned = _core.apply_pass(test.desc, "prune", options)
    _refuse_functions(Program(pruned))
    if program_only:
        warnings.warn(
            "save_inference_model: program_only=True saves the program and no weights",
            stacklevel=2,
        )
        _core.write_file(dirname, model, [_bare(Program(pruned)).serialize_to_string()])
    else:
        _core.save_inference_model(dirname, pruned, scope, model, weights)
    return fetches


def save_captured(dirname, program, feeds, fetches, scope, verified):
    """The same for a program of `dygraph.jit.to_static`, which is saved unchanged.

    Its writes of state are kept. If it was not compared with eager calls, its fetch operators have
    ``verified`` False.
    """
    _refuse_training(program)
    written = {n for block in program.blocks for op in block.ops for n in op.output_arg_names}
    states = sorted(written.intersection(program.held))
    options = {"feeds": feeds, "fetches": fetches, "states": states}
    pruned = Program(_core.apply_pass(program.clone(for_test=True).desc, "prune", options))
    _refuse_functions(pruned)
    if not verified:
        for op in pruned.global_block().ops:
            if op.type == "fetch":
                op.set_attr("verified", False, "BOOLEAN")
    _core.save_inference_model(os.fspath(dirname), pruned.desc, scope)


# Operators that take the statistics of the batch in training. Others carry is_test without effect,
# unless they drop values.
_NORMS = ("batch_norm", "fused_batch_norm_act", "fused_bn_add_activation")


def _refuse_training(program):
    """Refuse operators in training mode, since a file holds those of evaluation."""
    for block in program.blocks:
        for op in block.ops:
            attrs = op.desc.attrs
            trains = op.type in _NORMS or attrs.get("dropout_prob")
            if trains and attrs.get("is_test") is False:
                line = (attrs.get("op_callstack") or [""])[-1]
                raise PreconditionNotMetError(
                    f"save: {op.type} is that of training here{line and f', made at {line}'}, and "
                    "a file holds what is computed in evaluation. Call eval() on the Layer before"
                )


def _file(name, default, what):
    if name is None:
        return default
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{what} must be the name of a file, got {kind_of(name)}")
    if os.path.basename(name) != name or name in ("", ".", ".."):
        raise InvalidArgumentError(f"{what} must be the name of a file without '/', got {name!r}")
    return name


def _refuse_functions(program):
    """Refuse a Python function, which exists only in its process."""
    for block in program.blocks:
        for op in block.ops:
            if op.type in ("py_func", "py_func_grad"):
                raise PreconditionNotMetError(
                    "save_inference_model: a model must run in other processes, but this one calls "
                    f"a Python function: py_func, made at {op.attr('op_callstack')[-1]}. Save a "
                    "part of the "
                    "program without it"
                )


def _bare(program):
    """The program without lines of Python, so a model has no paths of the machine that made it."""
    for block in program.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    program.desc.verify()
    return program


def _weights_of(program):
    return {v.name: v for v in program.global_block().vars.values() if is_persistable(v)}


def load_inference_model(
    dirname, executor=None, model_filename=None, params_filename=None, pserver_endpoints=None,
    scope=None,
):  # fmt: skip
    """Load what :func:`save_inference_model`, a traced layer, Fluid or Paddle 2 saved.

    All data are verified before use: on any bytes this works or raises.

    Parameters
    ----------
    dirname : str or path
        The directory of the model; or, as in Paddle 2, the path of its two files without
        ``.pdmodel`` and ``.pdiparams``.
    executor : Executor, optional
        Fluid's argument, for its place; not used.
    model_filename : str, optional
        Default: ``__model__``. Without a file of this name, the name with ``.pdmodel`` appended.
    params_filename : str, optional
        Default: ``__params__``; where there is no such file, one for each weight. Without a file of
        the given name, the name with ``.pdiparams`` appended.
    pserver_endpoints : None
        Fluid's; not used.
    scope : Scope, optional
        Where the weights go. Default: ``global_scope()``.

    Returns
    -------
    program : Program
    feed_names : list of str
    fetch_targets : list of Variable
        For ``fetch_list`` of ``Executor.run``.

    Raises
    ------
    FileNotFoundError
        There is no such model.
    FormatError
        A file is damaged, does not fit the other one or is a symbolic link (a ValueError).
    KeyError
        The program has an operator that this library does not know.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from dygraph import static
    >>> main, startup, folder = static.Program(), static.Program(), tempfile.mkdtemp()
    >>> with static.program_guard(main, startup):
    ...     x = static.data("x", [None, 3], "float32")
    ...     y = static.layers.fc(x, size=2)
    ...     done = static.optimizer.SGD(0.1).minimize(static.layers.mean(y))
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> _ = static.save_inference_model(folder, ["x"], [y], executor, main)
    >>> program, feeds, fetches = static.load_inference_model(folder, executor)
    >>> executor.run(program, {feeds[0]: np.ones((4, 3), "float32")}, fetches)[0].shape
    (4, 2)
    """
    require_executor(executor, "load_inference_model")
    scope = require_scope(scope, "load_inference_model")
    dirname = os.fspath(dirname)
    model = _file(model_filename, _MODEL, "model_filename")
    weights = _file(params_filename, _WEIGHTS, "params_filename")
    if model_filename is params_filename is None and _is_prefix(dirname):
        dirname, name = os.path.split(dirname)
        params_filename = weights = f"{name}.pdiparams"
        model = f"{name}.pdmodel"
    model = _or_with_suffix(dirname, model, ".pdmodel")
    weights = _or_with_suffix(dirname, weights, ".pdiparams")
    path = os.path.join(dirname, model)
    if params_filename is not None or not _is_split(dirname, model, weights):
        program = Program(_core.load_inference_model(dirname, scope, model, weights))
    else:
        program = _verified(path)
        values = read_values(dirname, _weights_of(program), None, "load_inference_model")
        put(scope, values)
    desc = program.desc
    block = program.global_block()
    return program, desc.feed_names, [block.var(name) for name in desc.fetch_names]


def _is_prefix(path):
    """Whether it is a path of Paddle 2: the common part of its files' names."""
    return not os.path.isdir(path) and os.path.lexists(f"{path}.pdmodel")


def _or_with_suffix(dirname, name, suffix):
    other = name + suffix
    there = [os.path.lexists(os.path.join(dirname, file)) for file in (name, other)]
    return other if there == [False, True] else name


def _verified(path):
    """The program of a model that has a file for each weight."""
    with files.open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST:
            raise FormatError(
                f"damaged inference model: the program in '{path}' must have at most {_MOST} "
                f"bytes, got {size}"
            )
        desc = _core.program_from_bytes(file.readall())
    desc.verify()
    desc.check_size(size)
    _ = desc.feed_names, desc.fetch_names  # raise where they are no list
    return Program(desc)


def _is_split(dirname, model, weights):
    """Whether it is Fluid's model with a file for each weight."""
    combined = os.path.lexists(os.path.join(dirname, weights))
    if combined or not os.path.isfile(os.path.join(dirname, model)):
        return False
    with files.open_regular(os.path.join(dirname, model)) as file:
        return file.read(len(_MANIFEST)) != _MANIFEST


# The first bytes of a model with the size and checksum of its weights, in one file.
_MANIFEST = b"\xc2\x3e\x20"
_MOST = 64 << 20  # bytes of a program
