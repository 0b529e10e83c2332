"""What a layer, a function, a traced layer or a program is, seen as a program in test mode."""

import os

import dygraph
from dygraph import _core
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.jit.input_spec import InputSpec
from dygraph.jit.traced import TracedLayer, load, to_static

__all__ = ["folded", "source_of"]


def source_of(owner, model, input_spec=None, feeds=None, fetches=None, scope=None):
    """(program in test mode, scope, names of inputs, names of outputs, sizes) of a model.

    `sizes` has for each input a number, a name or None for each axis, as far as they were given.
    `owner` begins the messages. For the arguments see `dygraph.onnx.export`.
    """
    from dygraph import static
    from dygraph.static.ways.function import Captured

    sizes = {}
    if isinstance(model, (str, os.PathLike)):
        model = load(model)
    if not isinstance(model, static.Program):
        for name, given in (("feeds", feeds), ("fetches", fetches), ("scope", scope)):
            if given is not None:
                raise ArgumentTypeError(
                    f"{owner}: {name} is for a static.Program, got {kind_of(model)}"
                )
    if isinstance(model, TracedLayer):
        if input_spec is not None:
            raise ArgumentTypeError(
                f"{owner}: a traced layer has its inputs already; give no input_spec"
            )
        program, scope = model.program, model.scope
        feeds, fetches = model.feed_names, model.fetch_names
    elif isinstance(model, static.Program):
        if input_spec is not None:
            raise ArgumentTypeError(f"{owner}: a Program takes feeds and fetches, no input_spec")
        program, scope = model, static.global_scope() if scope is None else scope
        feeds = _names(owner, feeds, model, "feeds", "feed_names")
        fetches = _names(owner, fetches, model, "fetches", "fetch_names")
    elif callable(model):
        entry = _captured(owner, model, input_spec, Captured)
        program, scope, feeds, fetches = entry.program, entry.scope, entry.feeds, entry.fetches
        sizes = dict(zip(feeds, entry.open_sizes, strict=True))
        static.io._refuse_training(program)
    else:
        raise ArgumentTypeError(
            f"{owner}: model must be a Layer, a function, a traced layer, a Program or the "
            f"directory of a saved model, got {kind_of(model)}"
        )
    test = program.clone(for_test=True)
    desc = _core.apply_pass(test.desc, "prune", {"feeds": list(feeds), "fetches": list(fetches)})
    if not sizes:
        block = program.global_block()
        sizes = {n: getattr(block.var(n).desc, "size_names", None) or () for n in feeds}
    return static.Program(desc), scope, list(feeds), list(fetches), sizes


def _captured(owner, model, input_spec, captured):
    if input_spec is not None:
        specs = input_spec if isinstance(input_spec, (list, tuple)) else [input_spec]
        specs = [InputSpec.from_tensor(s) if isinstance(s, _core.Variable) else s for s in specs]
        model = to_static(getattr(model, "captured_function", None) or model, specs, verify=False)
    elif not isinstance(model, captured) or not model._spec:
        raise ArgumentTypeError(
            f"{owner}: input_spec must be given for a Layer or a function: "
            'input_spec=[dygraph.jit.InputSpec(["batch", 3])]'
        )
    with dygraph.no_grad():
        return model.entry(*model._examples())


def _names(owner, given, program, what, attribute):
    if given is None:
        found = list(getattr(program.desc, attribute))
        if not found:
            raise InvalidArgumentError(
                f"{owner}: {what} must be given, since the program has no {what[:-1]} operators: "
                f"{what}=['name', ...]"
            )
        return found
    given = given if isinstance(given, (list, tuple)) else [given]
    names = []
    for item in given:
        name = item if isinstance(item, str) else getattr(item, "name", None)
        if not isinstance(name, str) or not program.global_block().has_var(name):
            raise InvalidArgumentError(
                f"{owner}: {what} must name variables of the program, got {item!r}"
            )
        names.append(name)
    return names


def folded(program, scope):
    """The program with batch_norm folded into weights: `static.fold_inference`."""
    from dygraph import static

    return static.fold_inference(program, scope)
