"""Metrics over many runs of a program, counted by operators of it; Fluid's ``fluid.evaluator``.

An evaluator appends operators that count a batch and add the counts to variables that outlive the
run. The startup program sets these to 0, and `reset` sets them to 0 again. `static.metrics` counts
in Python instead.
"""

import numpy as np

from dygraph import initializer, metrics, unique_name
from dygraph.errors import ArgumentTypeError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static.parameters import fill_at_start
from dygraph.static.scope import global_scope
from dygraph.static.variable import Variable
from dygraph.static.variable_files import require_executor, require_scope

__all__ = ["Accuracy", "ChunkEvaluator", "EditDistance", "Evaluator"]


class Evaluator(Shown):
    """Base of the evaluators, which add up a metric over the runs of a program.

    Parameters
    ----------
    input, label : Variable
        What the program computes, and what is right.

    Attributes
    ----------
    metrics : list of Variable
        Metrics of the batch of a run, for its ``fetch_list``.
    states : list of Variable
        The sums, which live as long as the scope.

    Raises
    ------
    ArgumentTypeError
        One of them is no variable of a program.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, label = static.data("x", [None, 2]), static.data("label", [None, 1], "int64")
    ...     evaluator = static.evaluator.Evaluator(x, label)
    >>> evaluator.metrics, evaluator.states
    ([], [])
    """

    def __init__(self, input, label):
        for value, word in ((input, "input"), (label, "label")):
            if not isinstance(value, Variable):
                raise ArgumentTypeError(
                    f"{type(self).__name__}: {word} must be a variable of a program, "
                    f"got {kind_of(value)}"
                )
        self.metrics, self.states = [], []
        self._block = input.block
        self._name = unique_name.generate(unique_name.snake(type(self).__name__))

    def _call(self, kind, inputs, outputs, attrs=None):
        """Append an operator; returns its outputs, in the order of their slots' names."""
        made = {
            slot: self._block.create_var(
                name=unique_name.generate(f"{self._name}.{kind}"), stop_gradient=True
            )
            for slot in outputs
        }
        self._block.append_op(kind, inputs, made, attrs, stop_gradient=True)
        found = list(made.values())
        return found if len(found) > 1 else found[0]

    def _add(self, word, value, dtype):
        """A state, and the operators that add a count of this batch to it."""
        name = unique_name.generate(f"{self._name}.{word}")
        block = self._block.program.global_block()
        state = block.create_var(
            name=name, shape=value.shape, dtype=dtype, persistable=True, stop_gradient=True
        )
        fill_at_start(state, initializer.Constant(0.0))
        if str(value.dtype) != dtype:
            value = self._call("cast", {"X": value}, ["Out"], {"out_dtype": dtype})
        self._block.append_op("sum", {"X": [state, value]}, {"Out": state}, stop_gradient=True)
        self.states.append(state)

    def reset(self, executor=None, reset_program=None, scope=None):
        """Set the sums to 0. The first two arguments are Fluid's; not used."""
        require_executor(executor, f"{type(self).__name__}.reset")
        scope = require_scope(scope, f"{type(self).__name__}.reset")
        for state in self.states:
            zeros = np.zeros(state.shape, str(state.dtype))
            scope.var(state.name).set(zeros)

    def eval(self, executor=None, eval_program=None, scope=None):
        """The result over all batches since `reset`."""
        require_executor(executor, f"{type(self).__name__}.eval")
        scope = global_scope() if scope is None else require_scope(scope, "eval")
        numbers = []
        for state in self.states:
            held = scope.find_var(state.name)
            if held is None or held.is_empty():
                raise PreconditionNotMetError(
                    f"{type(self).__name__}: '{state.name}' must hold a value, got nothing. Run "
                    "the startup program or call reset()"
                )
            numbers.append(held.get().numpy().sum().item())
        return self._of(*numbers)


class Accuracy(Evaluator):
    """The share of right predictions.

    Parameters
    ----------
    input : Variable
        ``[N, classes]``, scores.
    label : Variable
        ``[N, 1]``, int64.
    k : int
        A prediction is right if the label is among the k best.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     score = static.data("score", [None, 3], "float32")
    ...     label = static.data("label", [None, 1], "int64")
    ...     accuracy = static.evaluator.Accuracy(input=score, label=label)
    >>> executor = static.Executor()
    >>> done = executor.run(startup)
    >>> for labels in ([[0], [1]], [[1], [1]]):
    ...     feed = {"score": np.eye(3, dtype="float32")[:2], "label": np.array(labels)}
    ...     print(executor.run(main, feed, accuracy.metrics)[0])
    1.0
    0.5
    >>> accuracy.eval(executor)
    array([0.75], dtype=float32)
    """

    def __init__(self, input, label, k=1):
        super().__init__(input, label)
        values, places = self._call("top_k", {"X": input}, ["Out", "Indices"], {"k": k})
        inputs = {"Out": values, "Indices": places, "Label": label}
        accuracy, correct, total = self._call("accuracy", inputs, ["Accuracy", "Correct", "Total"])
        self.metrics.append(accuracy)
        self._add("total", total, "int64")
        self._add("correct", correct, "int64")

    def _of(self, total, correct):
        if not total:
            raise PreconditionNotMetError("Accuracy: eval() needs a batch since reset(), got none")
        return np.array([correct / total], "float32")


class ChunkEvaluator(Evaluator):
    """Precision, recall and F1 of chunks, as in named entities or semantic roles.

    Parameters
    ----------
    input, label : Variable
        Tags with LoD, ``[total, 1]``, int64.
    chunk_scheme : str
        IOB, IOE, IOBES or plain.
    num_chunk_types : int
        The number of types of chunks.
    excluded_chunk_types : list of int, optional
        Types that do not count.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     tags = static.data("tags", [None, 1], "int64", lod_level=1)
    ...     label = static.data("label", [None, 1], "int64", lod_level=1)
    ...     chunks = static.evaluator.ChunkEvaluator(tags, label, "IOB", 2)
    >>> len(chunks.metrics), len(chunks.states)
    (3, 3)
    """

    def __init__(self, input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None):
        super().__init__(input, label)
        counts = ["NumInferChunks", "NumLabelChunks", "NumCorrectChunks"]
        attrs = {
            "num_chunk_types": num_chunk_types, "chunk_scheme": chunk_scheme,
            "excluded_chunk_types": list(excluded_chunk_types or []),
        }  # fmt: skip
        made = self._call(
            "chunk_eval", {"Inference": input, "Label": label},
            ["Precision", "Recall", "F1-Score", *counts], attrs,
        )  # fmt: skip
        self.metrics += made[:3]
        for word, value in zip(counts, made[3:], strict=True):
            self._add(unique_name.snake(word), value, "int64")

    def _of(self, infer, label, correct):
        """(precision, recall, F1)."""
        counts = metrics.ChunkEvaluator()
        counts.update(infer, label, correct)
        return tuple(np.array([value], "float32") for value in counts.eval())


class EditDistance(Evaluator):
    """The mean edit distance of sequences, and the share of those that have one above 0.

    Parameters
    ----------
    input, label : Variable
        Tokens with LoD, ``[total, 1]``, int64.
    ignored_tokens : list of int, optional
        Removed from both first.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     tokens = static.data("tokens", [None, 1], "int64", lod_level=1)
    ...     label = static.data("label", [None, 1], "int64", lod_level=1)
    ...     distance = static.evaluator.EditDistance(tokens, label, ignored_tokens=[0])
    >>> len(distance.metrics), len(distance.states)
    (2, 3)
    """

    def __init__(self, input, label, ignored_tokens=None):
        super().__init__(input, label)
        if ignored_tokens:
            attrs = {"tokens": list(ignored_tokens)}
            input, label = (
                self._call("sequence_erase", {"X": v}, ["Out"], attrs) for v in (input, label)
            )
        inputs = {"Hyps": input, "Refs": label}
        distances, count = self._call("edit_distance", inputs, ["Out", "SequenceNum"])
        zeros = self._call("fill_any_like", {"X": distances}, ["Out"], {"value": 0.0})
        wrong = self._call("greater_than", {"X": distances, "Y": zeros}, ["Out"])
        wrong = self._call("cast", {"X": wrong}, ["Out"], {"out_dtype": "float32"})
        everywhere = {"reduce_all": True}
        total, errors = (
            self._call("reduce_sum", {"X": v}, ["Out"], everywhere) for v in (distances, wrong)
        )
        self.metrics += [distances, count]
        self._add("total_distance", total, "float64")
        self._add("seq_num", count, "int64")
        self._add("instance_error", errors, "float64")

    def _of(self, total, count, errors):
        """(mean distance, share of sequences with an error)."""
        if not count:
            raise PreconditionNotMetError("EditDistance: eval() needs a batch, got none")
        return np.array([total / count], "float32"), np.array([errors / count], "float32")
