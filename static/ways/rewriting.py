"""Puts hooks into the syntax tree of a function.

`begin` and `mark` surround statements that may test values, every ``f(...)`` is ``call(f)(...)``,
and loops are ``while True: head(); if not test(C): break; B``. With idle hooks the function runs
unchanged.
"""

import ast

from dygraph.static.ways.hooks import FRAME, HOOKS, NEW, PLACES, Place
from dygraph.static.ways.liveness import Scope, declarations, may_ask

__all__ = ["Rewriter", "reads_its_frame"]

_AS_IT_IS = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
_FRAME_READERS = {"locals", "vars", "dir", "eval", "exec"}


def _name(name, store=False):
    return ast.Name(name, ast.Store() if store else ast.Load())


def _call(name, method, *args):
    return ast.Call(ast.Attribute(_name(name), method, ast.Load()), list(args), [])


def _at(made, node):
    """`made` on the first line of `node`."""
    made.lineno = made.end_lineno = node.lineno
    made.col_offset = made.end_col_offset = node.col_offset
    return made


class Rewriter(ast.NodeTransformer):
    """Inserts the hooks into one function and its inner functions."""

    def __init__(self, file):
        self._file, self._scopes = file, []

    def function(self, node):
        """A function, changed in place."""
        node.decorator_list, node.returns = [], None
        if reads_its_frame(node):
            return node
        self._scopes.append(Scope(node))
        body = list(node.body)
        first = body[0] if body else None
        is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        kept = [body.pop(0)] if is_doc else []
        kept += declarations(node)  # hooks stand before the place where they were
        enter = ast.Assign([_name(FRAME, True)], _call(HOOKS, "enter", ast.Constant(node.name)))
        place = body[0] if body else node
        last = body[-1] if body else node
        ends = _at(ast.Expr(_call(FRAME, "gives", ast.Constant(None))), last)
        node.body = [*kept, _at(enter, place), *self._block(body), ends]
        self._scopes.pop()
        return node

    # Places -----------------------------------------------------------------------------------

    def _place(self, node, names, head=False):
        scope = self._scopes[-1]
        where = f"{self._file}:{node.lineno} in {scope.name}"
        live = scope.live_at_head(node) if head else scope.live_after(node)
        PLACES.append(Place(live, tuple(names), where, tuple(scope.kept), scope.is_generator))
        return len(PLACES) - 1

    @staticmethod
    def _rebind(call, names, node):
        """``new = call``; if it returned new values, they are bound to these names."""
        if not names:
            return [_at(ast.Expr(call), node)]
        assign = ast.Assign([_name(NEW, True)], call)
        each = [
            ast.If(
                ast.Compare(ast.Constant(n), [ast.In()], [_name(NEW)]),
                [
                    ast.Assign(
                        [_name(n, True)],
                        ast.Subscript(_name(NEW), ast.Constant(n), ast.Load()),
                    )
                ],
                [],
            )
            for n in names
        ]
        test = ast.If(ast.Compare(_name(NEW), [ast.IsNot()], [ast.Constant(None)]), each, [])
        return [_at(s, node) for s in (assign, test)]

    def _block(self, statements):
        out, scope = [], self._scopes[-1]
        for statement in statements:
            after = []
            if not scope.pending and may_ask(statement):
                names = scope.bound(statement)
                number = ast.Constant(self._place(statement, names))
                after = self._rebind(_call(FRAME, "mark", number), names, statement)
                begin = ast.Expr(_call(FRAME, "begin", number))
                out.append(_at(begin, statement))
            made = self.visit(statement)
            out.extend(made if isinstance(made, list) else [made])
            out.extend(after)
        return out

    def _pending_block(self, statements):
        """In handlers and ``finally`` a result or an exception may be pending, outside the
        state."""
        scope = self._scopes[-1]
        scope.pending += 1
        out = self._block(statements)
        scope.pending -= 1
        return out

    # Statements -------------------------------------------------------------------------------

    def visit_FunctionDef(self, node):
        node.args = self.visit(node.args)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        decorators, returns = node.decorator_list, node.returns
        self.function(node)
        node.decorator_list, node.returns = decorators, returns
        return node

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_Global(self, node):
        return _at(ast.Pass(), node)

    visit_Nonlocal = visit_Global

    def visit_ClassDef(self, node):
        node.body = [self.visit(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node

    def visit_If(self, node):
        node.test = self.visit(node.test)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        return node

    def visit_Match(self, node):
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.guard = case.guard and self.visit(case.guard)
            case.body = self._block(case.body)
        return node

    def visit_Try(self, node):
        node.body = self._block(node.body)
        for handler in node.handlers:
            handler.type = handler.type and self.visit(handler.type)
            handler.body = self._pending_block(handler.body)
        node.orelse = self._block(node.orelse)
        node.finalbody = self._pending_block(node.finalbody)
        return node

    visit_TryStar = visit_Try

    def visit_With(self, node):
        """A context manager is kept in a hidden name, since its exit is part of the state."""
        before, kept = [], self._scopes[-1].kept
        count = len(kept)
        if len(node.items) > 1:
            inner = _at(ast.With(node.items[1:], node.body), node)
            self._scopes[-1].same_place(inner, node)
            node.items, node.body = node.items[:1], [inner]
        (item,) = node.items
        hidden = f"__ways_with_{len(PLACES)}__"
        number = ast.Constant(self._place(node, ()))
        made = _call(FRAME, "manager", number, self.visit(item.context_expr))
        before.append(_at(ast.Assign([_name(hidden, True)], made), node))
        item.context_expr = _at(_name(hidden), item.context_expr)
        kept.append(hidden)
        node.body = self._block(node.body)
        del kept[count:]
        return [*before, node, self._forget(hidden, node)]

    def _loop(self, node, kind, start, test, first):
        scope = self._scopes[-1]
        names = scope.touched(node)
        number = self._place(node, names, head=True)
        hidden = f"__ways_loop_{number}__"
        begin = _call(FRAME, "loop", ast.Constant(number), ast.Constant(kind), *start)
        out = [_at(ast.Assign([_name(hidden, True)], begin), node)]
        scope.kept.append(hidden)
        scope.loops.append(node)
        body = self._block(node.body)
        scope.loops.pop()
        scope.kept.pop()
        head = self._rebind(_call(hidden, "head"), names, node)
        leave = ast.If(ast.UnaryOp(ast.Not(), test(hidden)), [ast.Break()], [])
        body = [*head, _at(leave, node), *first(hidden), *body]
        out.append(_at(ast.While(ast.Constant(True), body, []), node))
        if node.orelse:
            ended = ast.Attribute(_name(hidden), "ended", ast.Load())
            out.append(_at(ast.If(ended, self._block(node.orelse), []), node))
        return [*out, self._forget(hidden, node)]

    @staticmethod
    def _forget(hidden, node):
        """Drop values that only the statement held."""
        empty = ast.Assign([_name(hidden, True)], ast.Constant(None))
        return _at(empty, node)

    def visit_While(self, node):
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        question = self.visit(node.test)
        return self._loop(
            node,
            "true" if endless else "while",
            [],
            lambda hidden: _call(hidden, "test", question),
            lambda hidden: [],
        )

    def visit_For(self, node):
        iterable = self.visit(node.iter)
        return self._loop(
            node,
            "for",
            [iterable],
            lambda hidden: _call(hidden, "more"),
            lambda hidden: [_at(ast.Assign([node.target], _call(hidden, "item")), node.target)],
        )

    def visit_Return(self, node):
        """Record the end of a path, for messages."""
        self.generic_visit(node)
        if node.value is not None:
            node.value = _at(_call(FRAME, "gives", node.value), node)
        return node

    def visit_Raise(self, node):
        """The message of an error may contain values."""
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = self._spoken(node.exc)
        return node

    def visit_Assert(self, node):
        self.generic_visit(node)
        if node.msg is not None:
            node.msg = self._spoken(node.msg)
        return node

    @staticmethod
    def _spoken(value):
        return _at(ast.BoolOp(ast.Or(), [_call(FRAME, "speaks"), value]), value)

    # Expressions ------------------------------------------------------------------------------

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _AS_IT_IS:
            return node
        node.func = _at(_call(HOOKS, "call", node.func), node)
        return node

    def visit_Compare(self, node):
        """``a is b`` of two values may differ between paths."""
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return node
        if any(isinstance(side, ast.Constant) for side in (node.left, node.comparators[0])):
            return node
        same = _at(_call(HOOKS, "same", node.left, node.comparators[0]), node)
        if isinstance(node.ops[0], ast.Is):
            return same
        return _at(ast.UnaryOp(ast.Not(), same), node)


def reads_its_frame(node):
    return any(isinstance(n, ast.Name) and n.id in _FRAME_READERS for n in ast.walk(node))
