"""The hooks that converted functions call, and the facts on each place."""

__all__ = ["FRAME", "HOOKS", "NEW", "PLACES", "Hooks", "Loop", "Place"]

HOOKS, FRAME, NEW = "__ways__", "__ways_frame__", "__ways_new__"
PLACES: list = []  # the statement of hook i


class Place:
    """A statement or loop with a hook: where it is, names that are live after it, names it binds.

    `kept` are hidden names of loops and managers around it, which are state as well.
    """

    __slots__ = ("live", "names", "where", "kept", "in_generator")

    def __init__(self, live, names, where, kept, in_generator):
        self.live, self.names, self.where, self.kept = live, names, where, kept
        self.in_generator = in_generator


class Hooks:
    """The functions that converted code calls. This class has no effect: Python runs as written."""

    def enter(self, name):
        return self

    def call(self, function):
        return function

    def begin(self, i):
        pass

    def mark(self, i):
        return None

    def manager(self, i, manager):
        return manager

    def same(self, a, b):
        return a is b

    def speaks(self):
        pass

    def gives(self, value):
        return value

    def loop(self, i, kind, iterable=None):
        return Loop(iterable if kind == "for" else ())


class Loop:
    """A loop that Python runs."""

    def __init__(self, iterable):
        self._iterator, self._next, self.ended = iter(iterable), None, False

    def head(self):
        return None

    def test(self, condition):
        self.ended = not condition
        return not self.ended

    def more(self):
        try:
            self._next = next(self._iterator)
        except StopIteration:
            self.ended = True
        return not self.ended

    def item(self):
        item, self._next = self._next, None
        return item
