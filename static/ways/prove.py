"""A program is compared with eager calls, bit for bit, before it is used."""

from dygraph import _core
from dygraph.tracing import Input as Sample
from dygraph.tracing import Moment
from static.ways.arguments import replaced, variables_in
from static.ways.graph import Refused

__all__ = ["Proof", "prove"]


class Proof:
    """What was compared.

    Attributes
    ----------
    questions : list of str
        Lines at which the program decides.
    shapes : list of list
        Shapes of the inputs of each comparison.
    compared : int
        Results that had eager's bits.
    not_compared : str
        What no comparison reached.
    """

    def __init__(self, questions):
        self.questions, self.shapes, self.compared = questions, [], 0
        self.not_compared = "ways that no sample takes, gradients"

    def __repr__(self):
        lines = ", ".join(self.questions) or "none"
        return (
            f"<Proof: {self.compared} results have eager's bits for inputs of {self.shapes}; "
            f"questions: {lines}; not compared: {self.not_compared}>"
        )


def prove(function, entry, args, kwargs):
    """Compare on the arguments given, on one row, one row more and twice as many.

    Raises
    ------
    Refused
        A result, or a Variable that the function writes, differs.
    """
    proof = Proof(entry.questions)
    variables = variables_in((args, kwargs), [])
    samples = [Sample(v, f"input_{i}") for i, v in enumerate(variables)]
    batch = next((s.batch for s in samples if s.batch is not None), None)
    sizes = [batch] if not batch else list(dict.fromkeys([batch, 1, batch + 1, 2 * batch]))
    held = list(entry.held.values())
    moment = Moment(held, [])
    try:
        for size in sizes:
            pairs = zip(samples, variables, strict=True)
            given = [v if size is None else s.at(batch, size) for s, v in pairs]
            _compare(function, entry, replaced((args, kwargs), iter(given)), given, moment, proof)
    finally:
        moment.restore()
    return proof


def _compare(function, entry, call, given, moment, proof):
    shapes = [list(v.shape) for v in given]
    moment.restore()
    want = _outcome(lambda: function(*call[0], **call[1]), entry.held)
    moment.restore()
    got = _outcome(lambda: entry.run(given), entry.held)
    proof.shapes.append(shapes)
    if want[0] == got[0] == "raises":
        return
    what = "one of them raises" if want[0] != got[0] else None
    if what is None:
        wrong = [i for i, (a, b) in enumerate(zip(want[1], got[1], strict=False)) if not same(a, b)]
        if wrong or len(want[1]) != len(got[1]):
            what = f"output {wrong[0] if wrong else len(want[1])} differs"
        elif want[2] != got[2]:
            what = "a Variable that it writes differs"
    if what is not None:
        raise Refused(
            f"the program must give the bits of eager calls, but {what} for inputs of shapes "
            f"{shapes}"
        )
    proof.compared += len(want[1])


def _outcome(call, held):
    try:
        results = _parts(call(), [])
    except Exception as error:
        return "raises", type(error).__name__
    return "gives", results, {name: repr(_core.digest(v)) for name, v in held.items()}


def _parts(result, out):
    """(value, type) of what is in a result: a number and a Variable without axes have the first."""
    if isinstance(result, _core.Variable):
        kind = str(result.dtype)
        scalar = result.ndim == 0
        out.append((result.item(), kind) if scalar else (repr(_core.digest(result)), kind))
    elif isinstance(result, (list, tuple)):
        for item in result:
            _parts(item, out)
    elif isinstance(result, dict):
        for key, item in result.items():
            out.append((key, "key"))
            _parts(item, out)
    else:
        out.append((result, None))
    return out


def same(a, b):
    """Whether two parts are equal. What is a number where no turn was made is a Variable else."""
    numbers = None in (a[1], b[1])
    equal = a[0] == b[0] or (a[0] != a[0] and b[0] != b[0])
    return equal and (numbers or (a[1] == b[1] and repr(a[0]) == repr(b[0])))
