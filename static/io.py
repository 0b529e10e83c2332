"""Inference models on disk: a program and its weights, no code."""

import os

from dygraph import _core
from static.executor import Executor, _name
from static.program import Program
from static.scope import global_scope

__all__ = ["load_inference_model", "save_inference_model"]


def save_inference_model(
    dirname, feeded_var_names, target_vars, executor=None, main_program=None, scope=None
):
    """Save the part of a program that leads from the fed variables to the targets, with its weights.

    The directory holds ``__model__`` (ProgramDesc bytes that Netron and Fluid read) and ``__params__`` (Fluid's stream of
    tensors). A model in it is replaced at once or, if anything fails, not at all.

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
    main_program : Program
        What to save.
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
        A weight holds no value, or a needed input is not among the fed names.
    """
    if not isinstance(main_program, Program):
        raise _core.ArgumentTypeError(
            f"main_program must be a static.Program, got {type(main_program).__name__}"
        )
    if isinstance(feeded_var_names, str):
        feeded_var_names = [feeded_var_names]
    if not isinstance(target_vars, (list, tuple)):
        target_vars = [target_vars]
    fetches = [_name(var) for var in target_vars]
    pruned = _core.prune(main_program.desc, list(feeded_var_names), fetches)
    _core.save_inference_model(
        os.fspath(dirname), pruned, global_scope() if scope is None else scope
    )
    return fetches


def load_inference_model(dirname, executor=None, scope=None):
    """Load what :func:`save_inference_model` or a traced layer saved.

    Everything is verified before it is used: on any bytes this works or raises.

    Parameters
    ----------
    dirname : str or path
        The directory of the model.
    executor : Executor, optional
        Fluid's argument, for its place; not used.
    scope : Scope, optional
        Where the weights go. Default: ``global_scope()``.

    Returns
    -------
    program : Program
    feed_names : list of str
    fetch_targets : list of Variable
        To be given to ``Executor.run`` as ``fetch_list``.

    Raises
    ------
    FileNotFoundError
        There is no such model.
    FormatError
        A file is damaged, does not fit the other one or is a symbolic link (a ValueError).
    KeyError
        The program has an operator that this library does not know.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise _core.ArgumentTypeError(
            f"executor must be a static.Executor, got {type(executor).__name__}"
        )
    desc = _core.load_inference_model(
        os.fspath(dirname), global_scope() if scope is None else scope
    )
    program = Program(desc)
    block = program.global_block()
    return program, desc.feed_names, [block.var(name) for name in desc.fetch_names]
