"""Functions with hooks: compiled again from their syntax trees, same lines, cells and globals."""

import ast
import copy
import linecache
import types

from dygraph.static.ways.hooks import HOOKS
from dygraph.static.ways.rewriting import Rewriter, reads_its_frame

__all__ = ["convert", "has_hooks"]

_files: dict = {}  # name of a file: its lines, its functions, and their compiled code
_made: dict = {}  # id of a code object: itself, and its code with hooks. Equal ones are separate
_UNCONVERTED = 0x80 | 0x200  # co_flags: coroutines and asynchronous generators
_FUTURE = 0x1FF0000


def _functions(code, out):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            out.setdefault((constant.co_name, constant.co_firstlineno), []).append(constant)
            _functions(constant, out)
    return out


def _nodes(tree):
    """{(name, first line): [(function, names of the classes around it)]} of a file."""
    found: dict = {}

    def walk(node, classes):
        for child in ast.iter_child_nodes(node):
            is_function = isinstance(child, (ast.FunctionDef, ast.Lambda))
            if is_function:
                name = getattr(child, "name", "<lambda>")
                lines = [d.lineno for d in getattr(child, "decorator_list", ())]
                first = min([child.lineno, *lines])
                found.setdefault((name, first), []).append((child, classes))
            inside = [*classes, child.name] if isinstance(child, ast.ClassDef) else classes
            walk(child, [] if is_function else inside)

    walk(tree, [])
    return found


def _parsed(code, variables):
    """(nodes, code objects) of the file of a code object; None if it cannot be read."""
    lines = linecache.getlines(code.co_filename, variables)
    known = _files.get(code.co_filename)
    if known is None or known[0] is not lines:
        text, flags = "".join(lines), code.co_flags & _FUTURE
        try:
            tree = ast.parse(text)
            compiled = compile(text, code.co_filename, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):  # a cell of a notebook
            return None
        known = _files[code.co_filename] = (lines, _nodes(tree), _functions(compiled, {}))
    return known[1:]


def _compiled(function):
    """The code with hooks; None if the source is missing or has changed."""
    code = function.__code__
    if code.co_flags & _UNCONVERTED:
        return None
    known, place = _parsed(code, function.__globals__), (code.co_name, code.co_firstlineno)
    if known is None or code not in known[1].get(place, ()):
        return None
    found = known[0].get(place, ())
    if len(found) != 1 or reads_its_frame(found[0][0]):
        return None  # two lambdas on one line: which is it?
    node, classes = copy.deepcopy(found[0][0]), found[0][1]
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
    rewriter = Rewriter(code.co_filename)
    if isinstance(node, ast.Lambda):
        node.body = rewriter.visit(node.body)
        inner = ast.Expr(node)
    else:
        inner = rewriter.function(node)
    for name in reversed(classes):  # private names contain the name of their class
        inner = ast.ClassDef(name, [], [], [inner], [])
        if "type_params" in ast.ClassDef._fields:
            inner.type_params = []
    free = [ast.arg(v) for v in (HOOKS, *code.co_freevars)]
    arguments = ast.arguments([], free, None, [], [], None, [])
    body = [inner]
    own = getattr(inner, "name", None)
    if own is not None and own not in code.co_freevars:
        body.insert(0, ast.Global([own]))  # or what it calls by this name were a cell
    outer = ast.FunctionDef("__ways_outer__", arguments, body, [])
    if "type_params" in ast.FunctionDef._fields:
        outer.type_params = []
    module = ast.fix_missing_locations(ast.Module([outer], []))
    whole = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
    return _functions(whole, {})[code.co_name, node.lineno][0]


def convert(function, hooks):
    """The function with hooks; None if its source cannot be read."""
    code = function.__code__
    if id(code) not in _made:
        _made[id(code)] = code, _compiled(function)
    made = _made[id(code)][1]
    if made is None:
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[HOOKS] = types.CellType(hooks)
    new = types.FunctionType(
        made,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in made.co_freevars),
    )
    new.__kwdefaults__, new.__qualname__ = function.__kwdefaults__, function.__qualname__
    new.__module__, new.__dict__ = function.__module__, dict(function.__dict__)
    return new


def has_hooks(function):
    """Whether a function was made with hooks."""
    return HOOKS in function.__code__.co_freevars
