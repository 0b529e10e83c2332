"""The structure of an explored graph: order, loops, joins and nesting."""

from dygraph.static.ways.graph import Block, Give, Go, reachable


class Flow:
    """Predecessors and successors of blocks.

    Attributes
    ----------
    last : Block
        The end of all paths with a result; its parameters are the results.
    order : list of Block
        Each after its predecessors, except for loops.
    at : dict
        Position in the order.
    loops : dict
        Blocks of a loop by the block where it begins.
    meets : set
        Blocks with several predecessors.
    kids : dict
        Joins by the block whose code they follow.
    """

    def __init__(self, root, metas, fresh):
        self.root = root
        blocks = reachable(root)
        gives = [b for b in blocks if isinstance(b.end, Give)]
        self.last = Block(-1)
        self._ends = {b: b.end for b in blocks}
        if gives:
            self.last.params = [fresh() for _ in gives[0].end.uids]
        for block in gives:
            for uid, value in zip(self.last.params, block.end.uids, strict=True):
                merged = metas[value] if uid not in metas else metas[uid].merged(metas[value])
                metas[uid] = merged or metas[value]
            self._ends[block] = Go(self.last, block.end.uids)
        self.order = self._ordered()
        self.at = {b: i for i, b in enumerate(self.order)}
        self.before = {b: [] for b in self.order}
        for block in self.order:
            for after in self.next(block):
                self.before[after].append(block)
        self.loops = {b: self._loop(b) for b in self.order if self._turns(b)}
        self.meets = {b for b in self.order if b is self.last or len(self._ways_to(b)) > 1}
        self._stand()

    def end(self, block):
        """The end of a block; results go to `last`."""
        return self._ends.get(block)

    def next(self, block):
        """Blocks that may follow."""
        end = self.end(block)
        return [] if end is None else end.next()

    def is_back(self, block, after):
        """Whether the edge from a block starts the next iteration of a loop."""
        return self.at[after] <= self.at[block]

    def _ordered(self):
        seen, out, todo = {self.root}, [], [(self.root, iter(reversed(self.next(self.root))))]
        while todo:
            block, rest = todo[-1]
            for after in rest:
                if after not in seen:
                    seen.add(after)
                    todo.append((after, iter(reversed(self.next(after)))))
                    break
            else:
                out.append(block)
                todo.pop()
        return out[::-1]

    def _turns(self, block):
        return [b for b in self.before[block] if self.at[b] >= self.at[block]]

    def _ways_to(self, block):
        return [b for b in self.before[block] if self.at[b] < self.at[block]]

    def _loop(self, head):
        found, todo = {head}, self._turns(head)
        while todo:
            block = todo.pop()
            if block not in found:
                found.add(block)
                todo += self.before[block]
        return found

    def _dominators(self):
        nearest = {self.root: self.root}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                ways = [b for b in self.before[block] if b in nearest]
                new = ways[0]
                for other in ways[1:]:
                    new = self._common(nearest, new, other)
                if nearest.get(block) is not new:
                    nearest[block], changed = new, True
        return nearest

    def _common(self, nearest, a, b):
        while a is not b:
            while self.at[a] > self.at[b]:
                a = nearest[a]
            while self.at[b] > self.at[a]:
                b = nearest[b]
        return a

    def _stand(self):
        """Code after a loop is not written inside it."""
        stands = self._dominators()
        if self.last in stands:
            stands[self.last] = self.root
        for block in self.order:
            for head, inside in self.loops.items():
                where = stands[block]
                if block in self.meets and block not in inside and where in inside:
                    stands[block] = head
        self.kids = {b: [] for b in self.order}
        for block in self.order[1:]:
            if block in self.meets:
                self.kids[stands[block]].append(block)
        if self.last in self.kids[self.root]:  # paths that raise come before those with results
            self.kids[self.root].remove(self.last)
            self.kids[self.root].append(self.last)

    # Which meeting places need a flag, because a way may come there or go elsewhere ---------------

    def needing_flags(self):
        """Blocks that paths reach unevenly."""
        self._needed = set()
        self._exits(self.root)
        return self._needed

    def is_target(self, block, after):
        """Whether the code of `after` is not directly after the edge to it."""
        return after in self.meets or self.is_back(block, after)

    def _exits(self, x):
        """The targets of a block and the code after it."""
        found = set()
        for after in self.next(x):
            found |= {after} if self.is_target(x, after) else self._exits(after)
        for y in self.kids[x]:
            if y in found and found != {y}:
                self._needed.update(found)
            found = (found - {y}) | self._exits(y)
        inside = self.loops.get(x)
        if inside is None:
            return found
        found -= {x}
        if sum(s not in inside for b in inside for s in self.next(b)) > 1:
            self._needed.update(found)
        return found
