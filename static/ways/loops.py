"""Loops while a function is explored: Python's own, or one that becomes a loop of the program."""

import copy
import sys

import numpy as np

from dygraph.static.variable import Variable
from dygraph.static.ways import joins
from dygraph.static.ways.arrays import Array
from dygraph.static.ways.graph import Go, name_of, short, spot
from dygraph.static.ways.hooks import PLACES, Loop
from dygraph.static.ways.numbers import SIZE, TYPES, Number, constant, number
from dygraph.static.ways.sequences import sequence_of
from dygraph.static.ways.state import Leaf

_PATIENCE = 40  # turns that asked, after which a loop that Python could run becomes one of values


class LoopKnowledge:
    """What the turns of a loop change, as earlier attempts found out."""

    def __init__(self):
        self.numbers = {}  # path: kind of number
        self.variables = {}  # path: type of the Variable that a number becomes
        self.lists = {}  # path: what the elements are; None: not known
        self.slots = set()


class LoopOfWays(Loop):
    """A loop of one activation. `source` and `count` are its state where Python runs it."""

    def __init__(self, activation, i, kind, iterable, key):
        self._ways, self._kind, self._key = activation.ways, kind, key
        self._place, self.ended, self._visits = PLACES[i], False, 0
        self.source, self.count, self._index, self._sequence = None, 0, None, None
        loops, before = self._ways.known.loops, (*key[:2], key[2] - 1)
        if key not in loops and before in loops:  # the same loop, begun again
            loops[key] = copy.deepcopy(loops[before])
        if kind == "for":
            self.source = iterable
            self._sequence = sequence_of(iterable)
            if self._sequence is None:
                self._iterator = iter(iterable)
            else:
                self._ways.known.loops.setdefault(key, LoopKnowledge())

    @property
    def _known(self):
        return self._ways.known.loops.get(self._key)

    @property
    def _where(self):
        return short(self._place.where)

    def walk_ways(self, state, path):
        """The state of a loop that Python runs: what it goes over, and how far it is."""
        state.leaf(path, "loop", (self._key[1:], self.count))
        if self.source is not None and self._sequence is None:
            state.walk(self.source, (*path, "source"), None)
        if self._sequence is not None:
            state.walk(self.source, (*path, "source"), lambda v: self._renew(v))
        if self._index is not None:
            put = lambda v: setattr(self, "_index", v)  # noqa: E731
            state.walk(self._index, (*path, "index"), put)

    def _renew(self, source):
        self.source, self._sequence = source, sequence_of(source)

    # Hooks ------------------------------------------------------------------------------------

    def head(self):
        ways = self._ways
        if ways.finished is not None:
            raise ways.finished
        self._visits += 1
        frame = sys._getframe(1)
        if self._known is None:
            if self._visits == 1:
                self._asked = ways.asked
            elif ways.asked > self._asked and (self._kind == "true" or self._visits > _PATIENCE):
                if self._kind != "for":
                    self._become("an iteration with a branch comes back")
            if self._visits > 100_000:
                raise ways.refuse(
                    f"the loop at {self._where} made 100,000 iterations while the function was "
                    "explored. Loop over a Variable, or over range(n) of one"
                )
            self._asked_at_head = ways.asked
            return None
        return self._begin(frame) if self._visits == 1 else self._turn(frame)

    def test(self, condition):
        ways = self._ways
        asks = isinstance(condition, Variable) or type(condition) is Number
        if self._kind == "while" and self._known is None:
            if asks or ways.asked > self._asked_at_head:
                self._become("its test asks")
        self.ended = not condition
        return not self.ended

    def more(self):
        if self._sequence is not None:
            self.ended = not (self._index < self._sequence.length())
            return not self.ended
        self.count += 1
        return super().more()

    def item(self):
        if self._sequence is None:
            return super().item()
        return self._sequence.get(Number(self._index.value, int, digits=SIZE))

    def _become(self, why):
        self._ways.known.loops[self._key] = LoopKnowledge()
        raise self._ways.restart(f"the loop at {self._where}: {why}")

    # The first head ---------------------------------------------------------------------------

    def _roots(self, frame):
        """Names that are live here; those that the loop touches can be set."""
        roots = joins.roots_of(self._ways, frame, self._place)
        mine = {n for n in self._place.names if n in roots}
        return roots, mine

    def _begin(self, frame):
        ways, known = self._ways, self._known
        if self._place.in_generator:
            raise ways.refuse(
                f"the loop at {self._where} cannot become a while: it is in a generator, and "
                "the program does not see the code that reads from it. Return a list, or loop "
                "where the values are read"
            )
        if self._sequence is not None and self._index is None:
            self._index = number(0)
        roots, mine = self._roots(frame)
        new: dict = {}

        def putter(name):
            def put(value):
                new[name] = roots[name] = value

            return put

        puts = {name: putter(name) for name in mine}
        roots["loop",] = self
        for _ in range(3):  # a list that became an array has other leaves
            state = joins.state_of(ways, roots, puts)
            if not self._promote(state, known):
                break
        slots = {
            p: leaf
            for p, leaf in state.items()
            if leaf.kind in ("V", "N")
            and leaf.put is not None
            and (p in known.slots or self._is_direct(p, mine))
        }
        key = ("head", self._key)
        end = ways.block.end
        if end is not None or ways.position < len(ways.block.ops):
            if type(end) is not Go or end.block.key != key:
                raise ways.refuse(ways.not_twice(f"began the loop at {self._where}"))
            block = end.block
        else:
            block = joins.make_block(ways, key, self._key, slots)
            block.loop = self._where
            for uid, (path, leaf) in zip(block.params, slots.items(), strict=True):
                self._check_merge(path, ways.metas[uid], leaf.uid)
            joins.mark_aliases(ways, block, state, self._key)
            uids = [leaf.uid for leaf in slots.values()]
            ways.hand_on(uids)
            ways.block.end = Go(block, uids)
        self._block = block
        ways.enter_block(block)
        joins.bind(ways, block, state, new)
        self._state = state = {path: leaf.light() for path, leaf in state.items()}
        for uid, path in zip(block.params, block.slots, strict=True):
            leaf = state[path]
            value = uid if leaf.kind == "V" else (leaf.value[0], uid)
            state[path] = Leaf(leaf.kind, value, None, leaf.put)
        ways.bound_in_loops.update(n for n in self._place.names if n not in roots)
        self._asked_at_head = ways.asked
        return new

    def _is_direct(self, path, mine):
        if path == (("loop",), "index"):
            return True
        return path[0] in mine and (len(path) == 1 or (len(path) == 2 and path[1] == "array"))

    def _promote(self, state, known):
        """Numbers that turns change become numbers of the program, lists arrays."""
        done = False
        for path, leaf in list(state.items()):
            if leaf.put is None:
                continue
            if leaf.kind_of_number is not None and path in known.variables:
                dtype = known.variables[path]
                if leaf.is_number:
                    leaf.put(self._as_variable(path, leaf, dtype))
                elif TYPES[leaf.value[0]] == dtype:
                    leaf.put(leaf.object.value)
                else:
                    continue
                done = True
            elif path in known.numbers and leaf.kind_of_number not in (None, known.numbers[path]):
                value = leaf.object if leaf.kind == "N" else number(leaf.object)
                kind = known.numbers[path]
                leaf.put(Number(value.as_kind(kind), kind))
                done = True
            elif path in known.numbers and leaf.is_number:
                leaf.put(number(leaf.object))
                done = True
            elif leaf.kind == "e" and path in known.slots:
                leaf.put(self._ways.symbolic(leaf.object))
                done = True
            elif leaf.kind == "list" and path in known.lists:
                array = Array.of(leaf.object, known.lists[path], (known.lists, path))
                others = [a for a in state.values() if a.kind == "ref" and a.value == path]
                if any(other.put is None for other in others):
                    raise self._ways.refuse(
                        f"the list '{name_of(path)}', which grows in the loop at {self._where}, "
                        "has a second name that cannot be updated. Keep it under one name"
                    )
                for other in (leaf, *others):
                    other.put(array)
                done = True
        return done

    def _as_variable(self, path, leaf, dtype):
        exact = np.asarray(leaf.object).astype(dtype)
        if exact != leaf.object:
            raise self._ways.refuse(
                f"the loop at {self._where} cannot become a while: '{name_of(path)}' is "
                f"{leaf.object!r} before it, which {dtype} cannot hold, and a Variable of {dtype} "
                "after an iteration. Make it a Variable before the loop"
            )
        return constant(leaf.object, dtype)

    # The other heads --------------------------------------------------------------------------

    def _turn(self, frame):
        """Back at the head: the next turn must be able to do what this one did."""
        ways = self._ways
        if self._sequence is not None:
            self._index = self._index + 1
        roots, mine = self._roots(frame)
        roots["loop",] = self
        now = joins.state_of(ways, roots, {n: (lambda v: None) for n in mine})
        known_roots = {p[0] for p in self._state}
        for path in now:
            if path not in self._state and path[0] in known_roots:
                around = (path[:n] for n in range(len(path) - 1, 0, -1))
                top = next((p for p in around if p in self._state), path)
                if top == path or self._state[top].equals(now.get(top, joins._never())):
                    self._cannot(path, None, now[path])
        slots = dict(zip(self._block.slots, self._block.params, strict=False))
        args, changes = {}, []
        for path, before in self._state.items():
            after = now.get(path)
            if path in slots and after is not None:
                args[path] = self._argument(path, before, after, slots[path])
            elif after is None or not before.equals(after):
                changes.append((path, before, after))
        self._learn(changes)
        ways.flush()
        uids = [a if isinstance(a, (int, str)) else ways.uid(a) for a in map(args.get, slots)]
        ways.hand_on(uids)
        block = ways.block
        joins.mark_aliases(ways, self._block, now, self._key)
        if block.end is None and ways.position == len(block.ops):
            block.end = Go(self._block, uids)
        elif type(block.end) is not Go or block.end.args != uids:
            raise ways.refuse(ways.not_twice(f"ended an iteration of the loop at {self._where}"))
        raise ways.done()

    def _argument(self, path, before, after, uid):
        """What a parameter is in the next turn: a uid, or a variable to be made."""
        ways, meta = self._ways, self._ways.metas[uid]
        if before.kind == "V" and after.kind in ("V", "e"):
            uid = after.uid if after.kind == "V" else ways.uid(ways.symbolic(after.object))
            self._check_merge(path, meta, uid)
            return uid
        if before.kind == "N" and after.kind_of_number is not None:
            kind, other = before.value[0], after.kind_of_number
            if kind is other or (kind is float and other is int):
                value = after.object if after.kind == "N" else number(after.object)
                return value.as_kind(kind)
            if (kind, other) == (int, float):
                self._known.numbers[path] = float
                raise ways.restart(f"'{name_of(path)}' becomes a float")
        if before.kind == "N" and after.kind == "V":
            self._to_variable(path, before, after)
        if before.kind == "V" and after.kind == "N" and not meta.shape:
            if meta.dtype == TYPES[after.value[0]]:
                return after.uid
        if before.kind == "V" and after.is_number and not meta.shape and meta.dtype != "array":
            return self._as_variable(path, after, meta.dtype)
        return self._cannot(path, before, after)

    def _to_variable(self, path, before, after):
        meta = self._ways.metas[after.uid]
        if meta.shape or meta.dtype == "array":
            return
        if (before.kind_of_number is bool) != (meta.dtype == "bool"):
            return
        if path in self._known.variables:
            return
        self._known.numbers.pop(path, None)
        self._known.variables[path] = meta.dtype
        raise self._ways.restart(f"'{name_of(path)}' becomes a Variable")

    def _learn(self, changes):
        """Whatever may change does so from the first head on, after a restart."""
        ways, known, learnt = self._ways, self._known, False
        grown = []
        for path, before, after in changes:
            if any(path[: len(p)] == p for p in grown):
                continue  # an element of a list that becomes an array
            settable = before.put is not None
            if after is not None and before.kind in ("V", "N") and before.kind == after.kind:
                if settable and path not in known.slots:
                    known.slots.add(path)
                    learnt = True
                    continue
            elif (
                after is not None
                and before.is_number
                and after.kind_of_number is not None
                and settable
            ):
                kinds = {before.value[0], after.kind_of_number}
                if len(kinds) == 1 or kinds == {int, float}:
                    known.numbers[path] = float if float in kinds else kinds.pop()
                    known.slots.add(path)
                    learnt = True
                    continue
            elif (
                before.kind == "N"
                and after is not None
                and after.is_number
                and settable
                and path not in known.slots
            ):
                known.slots.add(path)
                learnt = True
                continue
            elif before.kind == "e" and after is not None and after.kind in ("e", "V") and settable:
                known.slots.add(path)
                learnt = True
                continue
            elif after is not None and before.is_number and after.kind == "V" and settable:
                known.slots.add(path)
                self._to_variable(path, before, after)
            elif (
                before.kind == "list"
                and after is not None
                and after.kind in ("list", "list that the program fills")
                and settable
                and path not in known.lists
            ):
                known.lists[path] = self._element(after)
                known.slots.add((*path, "array"))
                grown.append(path)
                learnt = True
                continue
            self._cannot(path, before, after)
        if learnt:
            raise ways.restart(f"the loop at {self._where} changes more")

    def _element(self, leaf):
        if leaf.kind != "list":
            return leaf.value[0]
        ways, meta = self._ways, None
        for item in map(ways.symbolic, leaf.object):
            if isinstance(item, Variable):
                other = ways.meta_of(item)
                merged = other if meta is None else meta.merged(other)
                meta = meta if merged is None else merged
        return meta

    def _check_merge(self, path, meta, uid):
        other = self._ways.metas[uid]
        if meta.dtype == "array":
            return
        made = self._ways.made_at.get(uid)
        after = "after an iteration" + (f" (made at {made})" if made else "")
        if meta.dtype != other.dtype:
            raise self._ways.refuse(
                f"'{name_of(path)}' is {meta.dtype} before the loop at {spot(self._where)} and "
                f"{other.dtype} {after}. Give both one type with astype()"
            )
        merged = meta.merged(other)
        if merged is None:
            raise self._ways.refuse(
                f"'{name_of(path)}' has the shape {list(meta.shape)} before the loop at "
                f"{spot(self._where)} and {list(other.shape)} {after}, which differ in "
                "rank. Give both one rank with reshape()"
            )
        if merged != meta:
            self._ways.known.widen[self._key, path] = merged
            raise self._ways.restart(f"'{name_of(path)}' changes its shape")

    def _cannot(self, path, before, after):
        texts = ["not there" if leaf is None else leaf.text() for leaf in (before, after)]
        raise self._ways.refuse(
            f"the loop at {self._where} cannot become a while: an iteration changes "
            f"'{name_of(path)}' from {texts[0]} to {texts[1]}, neither a Variable nor a number. "
            "Bind it before the loop, or loop over Python values"
        )
