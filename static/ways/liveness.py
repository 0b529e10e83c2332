"""Names that a statement binds and names that are read after it, from the syntax tree.

A name is live if it may be read later in the text or, inside a loop, anywhere in the outermost
loop; names of inner functions are always live. A surplus name may prevent a join but never makes a
wrong one.
"""

import ast
import itertools

_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
_COMPREHENSIONS = ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp
_ASKERS = (
    ast.Call, ast.IfExp, ast.BoolOp, ast.Compare, ast.Assert, ast.If, ast.While, ast.For, ast.Try,
    ast.With, ast.Match, ast.Subscript, ast.BinOp, ast.Attribute, ast.Starred,
)  # fmt: skip
_NEVER = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Return, ast.Raise, ast.Import,
    ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue, ast.Delete,
)  # fmt: skip


def may_ask(statement):
    """Whether a statement that continues to the next one can test the truth of a variable."""
    if isinstance(statement, _NEVER):
        return False
    return any(
        isinstance(n, _ASKERS) or (isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not))
        for n in ast.walk(statement)
    )


class _Stores(ast.NodeVisitor):
    def __init__(self):
        self.found = {}

    def _add(self, name):
        if name is not None:
            self.found[name] = None

    def visit_FunctionDef(self, node):
        self._add(node.name)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node):
        pass

    def _comprehension(self, node):
        for child in ast.walk(node):  # which binds only by :=
            if isinstance(child, ast.NamedExpr):
                self._add(child.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self._add(node.id)

    def visit_ExceptHandler(self, node):
        self.generic_visit(node)

    def visit_Import(self, node):
        for alias in node.names:
            self._add((alias.asname or alias.name).split(".")[0])

    visit_ImportFrom = visit_Import

    def visit_MatchAs(self, node):
        self._add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node):
        self._add(node.name)

    def visit_MatchMapping(self, node):
        self._add(node.rest)
        self.generic_visit(node)


def stores(node):
    """Names that a node binds in its own scope, in order."""
    visitor = _Stores()
    visitor.visit(node)
    return list(visitor.found)


class Scope:
    """The facts on the names of one function."""

    def __init__(self, node):
        self.name, self.loops, self.kept = node.name, [], []
        # The reader of a generator may hold hidden state.
        self.is_generator = any(map(_yields, _own_parts(node)))
        self.pending = int(self.is_generator)
        self._at, self._captured = {}, set()
        self._loads = {}  # name: position of its last read
        order = itertools.count()
        for child in ast.iter_child_nodes(node):
            self._number(child, order, False)
        arguments = node.args
        given = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        given += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        self._own = {a.arg for a in given}
        for statement in node.body:
            self._own.update(stores(statement))
        self._own -= {n for s in declarations(node) for n in s.names}
        inner = {n for s in ast.walk(node) if isinstance(s, ast.Nonlocal) for n in s.names}
        self._bound_by_calls = sorted(inner & self._own)

    def _number(self, node, order, inner):
        start = next(order)
        if isinstance(node, ast.Name):
            if inner:
                self._captured.add(node.id)
            elif not isinstance(node.ctx, ast.Store):
                self._loads[node.id] = start
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._loads[node.target.id] = start
        elif isinstance(node, (ast.Nonlocal, ast.Global)):
            self._captured.update(node.names)
        inner = inner or isinstance(node, _SCOPES)
        for child in ast.iter_child_nodes(node):
            self._number(child, order, inner)
        self._at[node] = start, next(order)

    def same_place(self, node, other):
        """Give a node made by rewriting the position of `other`."""
        self._at[node] = self._at[other]

    def _live_from(self, place):
        return self._captured.union(n for n, at in self._loads.items() if at > place)

    def live_after(self, node):
        """Names that may be read after a statement."""
        end = self._at[node][1]
        return self._live_from(min(end, self._at[self.loops[0]][0]) if self.loops else end)

    def live_at_head(self, node):
        """Names that may be read after the head of a loop."""
        return self._live_from(self._at[self.loops[0] if self.loops else node][0])

    def touched(self, node):
        """Names of this function that a loop binds, or whose objects it may change in place."""
        found = dict.fromkeys(stores(node))
        for child in ast.walk(node):
            base = None
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute):
                base = child.func.value
            if isinstance(child, (ast.Subscript, ast.Attribute)):
                base = child.value if isinstance(child.ctx, ast.Store) else base
            if isinstance(base, ast.Name):
                found[base.id] = None
        found.update(dict.fromkeys(self._by_calls(node)))
        return [n for n in found if n in self._own]

    def bound(self, node):
        """Names that a statement binds, or that functions called in it may bind."""
        return list(dict.fromkeys([*stores(node), *self._by_calls(node)]))

    def _by_calls(self, node):
        if any(isinstance(child, ast.Call) for child in ast.walk(node)):
            return self._bound_by_calls
        return []


def _yields(node):
    return isinstance(node, (ast.Yield, ast.YieldFrom))


def _own_parts(node):
    """All nodes of a function, without those of inner ones."""
    todo = list(node.body)
    while todo:
        child = todo.pop()
        yield child
        if not isinstance(child, _SCOPES):
            todo.extend(ast.iter_child_nodes(child))


def declarations(node):
    """The ``global`` and ``nonlocal`` statements of a function, without those of inner ones."""
    return [child for child in _own_parts(node) if isinstance(child, (ast.Global, ast.Nonlocal))]
