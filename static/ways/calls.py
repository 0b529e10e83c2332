"""Calls while a function is explored: what is called gets hooks, Layers their stand-ins."""

import dis
import functools
import os
import re
import sys
import types

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core.sizes import is_library
from dygraph.inspect.watch import is_own_file
from dygraph.nn.layer import Layer
from dygraph.static.variable import Variable
from dygraph.static.ways import joins
from dygraph.static.ways.answers import Answers
from dygraph.static.ways.graph import first_line, here
from dygraph.static.ways.hooks import PLACES, Hooks
from dygraph.static.ways.loops import LoopOfWays
from dygraph.static.ways.source import convert, has_hooks
from dygraph.static.ways.standins import STANDINS

__all__ = ["Calls"]


class Calls(Answers):
    """What converted functions call."""

    # Hooks ------------------------------------------------------------------------------------

    def enter(self, name):
        return Activation(self, name) if modes.ways is self else Hooks()

    def call(self, function):
        if modes.ways is not self:
            return function
        try:
            standin = STANDINS.get(function)
        except TypeError:
            standin = None
        if standin is not None:
            return standin
        if isinstance(function, Layer):
            self.adopt(function)
            return function
        if hasattr(type(function), "captured_function"):
            return self.call(function.captured_function)
        if isinstance(function, functools.partial):
            inner = self.call(function.func)
            return functools.partial(inner, *function.args, **function.keywords)
        plain = function.__func__ if isinstance(function, types.MethodType) else function
        if isinstance(plain, types.FunctionType):
            new = self._converted(plain)
            if new is None:
                return function
            if plain is not function:
                owner = function.__self__
                if isinstance(owner, Layer):
                    self.adopt(owner)
                new = types.MethodType(new, owner)
            return joins.joined(self, new)
        call = vars(type(function)).get("__call__")
        if isinstance(call, types.FunctionType) and not isinstance(function, type):
            new = self._converted(call)  # an object that can be called
            if new is not None:
                return joins.joined(self, types.MethodType(new, function))
        return function

    def _converted(self, function):
        if has_hooks(function):
            return function
        file = function.__code__.co_filename
        if is_own_file(file) or is_library(file):
            return None
        self.outside.note_globals(function)
        self.converted[id(function.__code__), id(function.__globals__)] = function
        return convert(function, self)

    def line_of(self, name, changes=False):
        """``model.py:12``: where converted code reads, or changes, what has a name like
        ``self.count``; None where that is not seen."""
        words, found = re.findall(r"[^\W\d]\w*", name), None
        for called in self.converted.values():
            line = None
            for step in dis.get_instructions(called.__code__):
                line = step.starts_line or line
                if not words or step.argval not in words or line is None:
                    continue
                place = f"{os.path.basename(called.__code__.co_filename)}:{line}"
                if step.argval == words[-1] and step.opname.startswith("STORE") == changes:
                    return place
                found = found or place
        return found

    def changing_line(self, name):
        """Where what has a name is changed, or at least where the function begins."""
        return self.line_of(name, changes=True) or first_line(self.function)

    def same(self, a, b):
        if modes.ways is self and isinstance(a, Variable) and isinstance(b, Variable):
            self.minds_aliases = True
            if self.uid(a) in self.shared or self.uid(b) in self.shared:
                raise self.refuse(
                    f"`is` at {here()} compares two Variables that are the same on some paths "
                    "only. Compare values, or keep a bool"
                )
        return a is b

    # Layers -----------------------------------------------------------------------------------

    def adopt(self, layer):
        """Have variables of the program in the place of a Layer's parameters and buffers."""
        if id(layer) in self.adopted:
            return
        for part in [layer, *layer.sublayers()]:
            if id(part) in self.adopted:
                continue
            self.outside.note(part, "self")
            names = []
            for group in ("_parameters", "_buffers"):
                for name, variable in list(getattr(part, group).items()):
                    if variable is None or isinstance(variable, Variable):
                        continue
                    face = self.program.face_of_eager(variable, name)
                    getattr(part, group)[name] = part.__dict__[name] = face
                    names.append((group, name, variable, face))
            self.adopted[id(part)] = part, names
            self.layers[id(part)] = part
            own = part.__dict__.get("forward")
            if own is not None:
                self.own_forwards.append((part, own))
                part.__dict__["forward"] = self.call(own)
                continue
            plain = getattr(type(part).forward, "captured_function", type(part).forward)
            new = self._converted(plain) if isinstance(plain, types.FunctionType) else None
            if new is not None:
                part.__dict__["forward"] = joins.joined(self, types.MethodType(new, part))

    def _keep_buffers(self):
        """A buffer that was bound to another value is written, all at once."""
        writes = []
        for layer, names in self.adopted.values():
            for group, name, _, face in names:
                now = self.symbolic(getattr(layer, group).get(name))
                if now is face:
                    continue
                if group != "_buffers" or not isinstance(now, Variable):
                    raise self.refuse(
                        f"the function changes self.{name} at {self.changing_line(name)}, which "
                        "lives on after the call; a program cannot. Return it, or keep it with "
                        "register_buffer"
                    )
                # Another buffer is memory, which may be written before it is read.
                writes.append((_core.ops.assign(now) if now.name in self.held else now, face))
        self.flush()
        self.keeping = True
        for now, face in writes:
            self.scratch.append_op("assign", {"X": now}, {"Out": face})
        self.flush()
        self.keeping = False


class Activation:
    """A call of a converted function: joins happen within one."""

    def __init__(self, ways, name):
        ways.flush()
        self.ways = ways
        self.origin = ways.block.number, ways.position, ways.activations
        self.key = name, ways.activations
        ways.activations += 1
        self._seen, self._begins, self._loops = ways.asked, {}, {}

    def begin(self, i):
        if self.ways.speaking:
            self.ways.went_on()
        self._begins[i] = self.ways.asked

    def speaks(self):
        """The text of an error follows."""
        self.ways.speaking = True

    def mark(self, i):
        ways = self.ways
        if modes.ways is not ways:
            return None
        if ways.speaking:
            ways.went_on()
        if ways.asked == self._begins.get(i, self._seen):
            return None
        self._seen = ways.asked
        place, frame = PLACES[i], sys._getframe(1)
        return joins.join(
            ways, (self.origin, i), (self.key, i), place.where,
            lambda: joins.roots_of(ways, frame, place),
            [n for n in place.names if n in place.live],
        )  # fmt: skip

    def manager(self, i, manager):
        return manager

    def same(self, a, b):
        return self.ways.same(a, b)

    def gives(self, value):
        if sys._getframe(2) is not None:
            self.ways.gave_at = here()
        return value

    def loop(self, i, kind, iterable=None):
        n = self._loops[i] = self._loops.get(i, -1) + 1
        return LoopOfWays(self, i, kind, iterable, (self.key, i, n))
