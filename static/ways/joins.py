"""Where ways meet: the state of Python is compared, and what differs becomes parameters."""

import sys

from dygraph.static.ways.graph import Go, Meta, Restart, is_ours, name_of, short, spot
from dygraph.static.ways.numbers import Number, number
from dygraph.static.ways.state import State

_HIDDEN = "__ways"


def state_of(ways, values, puts):
    """The leaves of roots: ``{name: object}``, and what sets those that can be set."""
    ways.flush()
    state = State(ways.uid, ways.kept)
    for name, value in values.items():
        state.add(name, value, puts.get(name))
    if ways.outside.is_changed():
        state.leaves["outside",] = _never()
    for layer, names in ways.adopted.values():
        for group, name, _, face in names:
            if group != "_buffers":
                continue
            now = getattr(layer, group).get(name)
            if now is not face and (id(layer), name) not in ways.known.buffers:
                ways.known.buffers[id(layer), name] = layer
                raise ways.restart(f"the buffer {name}")
    for (number_, name), layer in ways.known.buffers.items():
        put = lambda v, n=name, o=layer: setattr(o, n, v)  # noqa: E731
        state.add(("buffer", number_, name), layer._buffers.get(name), put)
    ways.flush()
    return state.leaves


class _Never:
    kind, value, object, put, is_number = "never", None, None, None, False
    kind_of_number = None

    def equals(self, other):
        return False

    def light(self):
        return self

    def text(self):
        return "changed"


_never = _Never


def _first(pair):  # the order of names in a frame is that in which they were first looked at
    return pair[0]


def roots_of(ways, frame, place):
    """What the rest of a function can see, from its frame and those of its callers."""
    found = {}
    for name, value in sorted(frame.f_locals.items(), key=_first):
        if name.startswith(_HIDDEN):
            if name in place.kept:
                found[name] = value
        elif name in place.live:
            found[name] = value
    found.update(callers(ways, frame.f_back))
    return found


def callers(ways, frame):
    """Names of the frames below, up to where the exploring began."""
    found, depth = {}, 0
    while frame is not None and frame is not ways.root_frame:
        if not is_ours(frame):
            depth += 1
            for name, value in sorted(frame.f_locals.items(), key=_first):
                if not name.startswith(_HIDDEN) or name[6:].startswith(("_loop", "_with")):
                    found[depth, name] = value
        frame = frame.f_back
    return found


def join(ways, key, place_key, where, roots, names, whole=False):
    """At the end of a statement that asked: new values of `names`, or the end of this run.

    `whole`: all that stands under the names is a parameter, not only Variables bound to them.
    """
    if ways.finished is not None:
        raise ways.finished
    if sys.exc_info()[0] is not None:  # an exception waits, which no state shows
        return None
    ways.flush()
    end, new, state = ways.block.end, {}, None
    weak = ways.known.weak.get(place_key, ())
    is_replay = end is not None or ways.position < len(ways.block.ops)
    if (
        is_replay
        and not weak
        and (type(end) is not Go or all(len(p) == 1 for p in end.block.slots))
    ):
        pass
    else:
        values = roots()

        def putter(name):
            def put(value):
                new[name] = values[name] = value

            return put

        puts = {name: putter(name) for name in names}
        state = state_of(ways, values, puts)
        if _make_weak(ways, state, weak):
            state = state_of(ways, values, puts)
        end = ways.block.end
        is_replay = end is not None or ways.position < len(ways.block.ops)
    if is_replay:
        if type(end) is not Go or end.block.key != key or ways.position != len(ways.block.ops):
            raise ways.refuse(ways.not_twice(f"joined at {spot(short(where))}"))
        block = end.block
    else:
        for block, old in ways.memo.get(key, ()):
            if block in ways.path:
                continue
            args = match(ways, block, old, state, place_key, where)
            if args is not None:
                mark_aliases(ways, block, state, place_key)
                ways.block.end = Go(block, args)
                raise ways.done()
        extra = ways.known.extra.get(place_key, ())
        slots = {
            p: leaf
            for p, leaf in state.items()
            if leaf.kind in ("V", "N")
            and leaf.put is not None
            and (p in extra or (p[0] in names and (whole or len(p) == 1)))
        }
        block = make_block(ways, key, place_key, slots)
        light = {path: leaf.light() for path, leaf in state.items()}
        ways.memo.setdefault(key, []).append((block, light))
        mark_aliases(ways, block, state, place_key)
        uids = [leaf.uid for leaf in slots.values()]
        ways.hand_on(uids)
        ways.block.end = Go(block, uids)
    ways.enter_block(block)
    bind(ways, block, state, new)
    return new


def make_block(ways, key, place_key, slots):
    """A block whose parameters are what stands in these slots."""
    params = [ways.fresh() for _ in slots]
    block = ways.new_block(params=params, slots=list(slots), key=key)
    block.kinds = [leaf.value[0] if leaf.kind == "N" else None for leaf in slots.values()]
    for uid, (path, leaf) in zip(params, slots.items(), strict=True):
        meta = ways.metas[leaf.uid]
        wide = ways.known.widen.get((place_key, path))
        ways.metas[uid] = wide if wide is not None and wide.merged(meta) == wide else meta
        ways.made_at[uid] = ways.made_at.get(leaf.uid)
    return block


def bind(ways, block, state, new):
    """Have new variables stand in the slots of a block."""
    for uid, path, kind in zip(block.params, block.slots, block.kinds, strict=False):
        made = ways.declare(ways.metas[uid], "joined")
        ways.uids[made.name] = uid
        value = made if kind is None else Number(made, kind)
        if state is None:
            new[path[0]] = value
        else:
            state[path].put(value)


def _make_weak(ways, state, paths):
    found = [state[p] for p in paths if p in state and state[p].is_number and state[p].put]
    for leaf in found:
        leaf.put(number(leaf.object))
    return bool(found)


def match(ways, block, old, new, place_key, where):
    """The values of a block's parameters on a way that comes there; None where it may not."""
    known, fixes, args = ways.known, [], {}

    def apart(path, a, b):
        texts = [leaf.text() if leaf else "not there" for leaf in (a, b)]
        if texts[0] != texts[1]:
            ways.apart[spot(short(where))] = (
                f"'{name_of(path)}' is {texts[0]} on one and {texts[1]} on another"
            )

    if old.keys() != new.keys():
        path = next(iter(old.keys() ^ new.keys()))
        apart(path, old.get(path), new.get(path))
        return None
    slots = dict(zip(block.slots, block.params, strict=False))
    for path, a in old.items():
        b = new[path]
        if path in slots:
            if a.kind == "N" and b.is_number and b.value[0] is a.value[0]:
                args[path] = b
                continue
            if a.kind != b.kind or (a.kind == "N" and a.value[0] is not b.value[0]):
                apart(path, a, b)
                return None
            args[path] = b
            meta = ways.metas[slots[path]]
            merged = meta.merged(ways.metas[b.uid])
            if merged is None:
                apart(path, a, b)
                return None
            if merged != meta:
                fixes.append((known.widen, (place_key, path), merged))
        elif a.equals(b):
            continue
        elif a.kind == b.kind and a.kind in ("V", "N") and b.put is not None and a.put is not None:
            if a.kind == "N" and a.value[0] is not b.value[0]:
                apart(path, a, b)
                return None
            fixes.append((known.extra, place_key, path))
        elif a.kind_of_number is b.kind_of_number is not None and b.put and a.put:
            if "N" not in (a.kind, b.kind) and not known.weakening:
                ways.could_weaken = True
                apart(path, a, b)
                return None
            fixes.append((known.weak, place_key, path))
        else:
            apart(path, a, b)
            return None
    if fixes:
        for table, at, value in fixes:
            if isinstance(value, Meta):
                table[at] = value
            else:
                table.setdefault(at, set()).add(value)
        raise ways.restart(f"{len(fixes)} slots at {where}")
    args = {p: number(b.object).value if b.kind == "c" else b for p, b in args.items()}
    uids = [ways.uid(args[p]) if hasattr(args[p], "desc") else args[p].uid for p in block.slots]
    ways.hand_on(uids)
    return uids


def mark_aliases(ways, block, state, place_key):
    """Note Variables that are one on this way and may be two on another."""
    slots = dict(zip(block.slots, block.params, strict=False))
    groups: dict = {}
    known = ways.known.shared
    for path, leaf in state.items():
        if leaf.kind == "V":
            if (place_key, path) in known:
                ways.shared[slots.get(path, leaf.value)] = known[place_key, path]
            groups.setdefault(id(leaf.object), []).append((path, leaf))
    for members in groups.values():
        if len(members) < 2 or not any(path in slots for path, _ in members):
            continue
        names = [name_of(path) for path, _ in members]
        for i, (path, leaf) in enumerate(members):
            is_new = (place_key, path) not in known
            known[place_key, path] = names[i], names[1 if i == 0 else 0]
            ways.shared[slots.get(path, leaf.value)] = known[place_key, path]
            if is_new and ways.minds_aliases:
                raise ways.restart("two names of one Variable")


def joined(ways, function):
    """A function whose ways meet where it returns."""

    def call(*args, **kwargs):
        ways.flush()
        asked = ways.asked
        origin = ways.block.number, ways.position, ways.activations, asked
        result = function(*args, **kwargs)
        if ways.asked == asked or ways.finished is not None:
            if ways.finished is not None:
                raise ways.finished
            return result
        frame = sys._getframe(1)
        while frame is not None and frame is not ways.root_frame and is_ours(frame):
            frame = frame.f_back
        if frame is None or frame is ways.root_frame:
            return result
        new = join(
            ways, (origin, "return"), (origin[2:], "return"), ways.gave_at or "?",
            lambda: {"return": result, **callers(ways, frame)}, ["return"], whole=True,
        )  # fmt: skip
        return result if new is None else new.get("return", result)

    return call


def weaken(ways):
    """After many ways: numbers that alone keep ways apart become numbers of the program."""
    if ways.could_weaken and not ways.known.weakening:
        ways.known.weakening = True
        raise Restart("numbers keep paths apart")


# Results ------------------------------------------------------------------------------------------


def result_numbers(a, b, path=()):
    """Paths of plain numbers that differ between two structures; None where more does."""
    if a == b:
        return set()
    if a[0] in ("constant", "number") and b[0] in ("constant", "number"):
        return {path} if a[1] is b[1] in (bool, int, float) else None
    if a[0] is not b[0] or not isinstance(a[0], type) or len(a[1]) != len(b[1]):
        return None
    found = set()
    for i, (x, y) in enumerate(zip(a[1], b[1], strict=True)):
        key = i
        if issubclass(a[0], dict):
            if x[0] != y[0]:
                return None
            key, x, y = x[0], x[1], y[1]
        inner = result_numbers(x, y, (*path, key))
        if inner is None:
            return None
        found |= inner
    return found


def structure_text(structure):
    """``(Variable, Variable)``, for messages."""
    if structure[0] == "Variable":
        return "Variable"
    if structure[0] == "number":
        return structure[1].__name__
    if structure[0] == "constant":
        return structure[2]
    if issubclass(structure[0], dict):
        return "{" + ", ".join(f"{k!r}: {structure_text(v)}" for k, v in structure[1]) + "}"
    inner = ", ".join(map(structure_text, structure[1]))
    return f"[{inner}]" if issubclass(structure[0], list) else f"({inner})"
