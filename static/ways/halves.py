"""A program followed by its gradients: a call runs the first half, ``backward()`` the second."""

from dygraph import static

__all__ = ["Halves"]

_FLOATS = ("float16", "bfloat16", "float32", "float64")


class Halves:
    """The program of a captured function with gradients.

    Parameters
    ----------
    program : Program
        Without gradients; not changed.
    feeds, fetches : list of str
    wanted : list of str
        Inputs and weights whose gradients are wanted.

    Attributes
    ----------
    program : Program
    feeds, fetches : list of str
        Those of the second half follow those of the first: incoming gradients of results, outgoing
        gradients.
    sizes : tuple of int
        Operators, feeds and fetches of the first half.
    results : list of int
        Indices of the results with a gradient.
    reached : list of str
        Those of `wanted` on which the results depend.
    """

    def __init__(self, program, feeds, fetches, wanted):
        self.program = program.clone()
        self.program.held.update(program.held)
        self.fetches = self._apart(feeds, fetches)
        block = self.program.global_block()
        self.results, targets, seeds = [], [], []
        for i, name in enumerate(self.fetches):
            target = block.var(name)
            if not target.stop_gradient and str(target.dtype) in _FLOATS:
                self.results.append(i)
                targets.append(target)
                seeds.append(self._seed(target))
        count = len(block.ops)
        self.sizes = count, len(feeds), len(self.fetches)
        grads = [None] * len(wanted)
        if targets:
            with static.program_guard(self.program):
                grads = static.gradients(targets, [block.var(n) for n in wanted], seeds)
        self.reached = [n for n, g in zip(wanted, grads, strict=True) if g is not None]
        self.feeds = [*feeds, *(seed.name for seed in seeds)]
        self.fetches += [g.name for g in grads if g is not None]

    def _apart(self, feeds, fetches):
        """Make each result a separate variable, neither an argument nor a weight."""
        block, names = self.program.global_block(), []
        for name in fetches:
            if name in names or name in feeds or block.var(name).persistable:
                given = block.var(name)
                copy = block.create_var(
                    f"{name}@RESULT_{len(names)}", list(given.shape), str(given.dtype),
                    given.lod_level, stop_gradient=given.stop_gradient,
                )  # fmt: skip
                block.append_op("assign", {"X": given}, {"Out": copy})
                name = copy.name
            names.append(name)
        return names

    def _seed(self, target):
        return self.program.global_block().create_var(
            f"{target.name}@COMES", list(target.shape), str(target.dtype), stop_gradient=True
        )
