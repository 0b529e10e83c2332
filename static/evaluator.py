"""Metrics over many runs of a program, counted by operators of it; Fluid's ``fluid.evaluator``.

An evaluator appends operators that count a batch and add the counts to variables that outlive the
run. The startup program sets these to 0, and `reset` sets them to 0 again. `static.metrics` counts
in Python instead.
"""

import numpy as np

from dygraph import initializer, metrics, unique_name
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static.parameters import fill_at_start
from dygraph.static.scope import global_scope
from dygraph.static.variable import Variable
from dygraph.static.variable_files import require_executor, require_scope

__all__ = ["Accuracy", "ChunkEvaluator", "DetectionMAP", "EditDistance", "Evaluator"]


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


class DetectionMAP(Evaluator):
    """The mean average precision of detections, of a batch and of all batches.

    Parameters
    ----------
    input : Variable
        Detections ``[rows, 6]`` with LoD, as `layers.detection_output` gives them.
    gt_label : Variable
        Classes of the labelled boxes, ``[rows, 1]`` with LoD.
    gt_box : Variable
        The labelled boxes, ``[rows, 4]`` with LoD, in parts of the image.
    gt_difficult : Variable, optional
        Whether they are difficult, 0 or 1, ``[rows, 1]`` with LoD.
    class_num : int
        The number of classes, with the background.
    background_label : int, default 0
        The class that does not count; -1: all count.
    overlap_threshold : float, default 0.5
        Right detections overlap by more.
    evaluate_difficult : bool, default True
        False: difficult boxes do not count.
    ap_version : str, default "integral"
        ``"integral"`` or ``"11point"``; see `dygraph.ops.detection_map`.

    Raises
    ------
    ArgumentTypeError
        `class_num` is not given.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     found = static.data("found", [None, 6], lod_level=1)
    ...     label = static.data("label", [None, 1], "int64", lod_level=1)
    ...     box = static.data("box", [None, 4], lod_level=1)
    ...     metric = static.metrics.DetectionMAP(found, label, box, class_num=21)
    ...     of_batch, of_all = metric.get_map_var()
    >>> of_batch.shape, of_all.shape
    ((), ())
    """

    def __init__(
        self, input, gt_label, gt_box, gt_difficult=None, class_num=None, background_label=0,
        overlap_threshold=0.5, evaluate_difficult=True, ap_version="integral",
    ):  # fmt: skip
        super().__init__(input, gt_label)
        classes = check.integer(class_num, "DetectionMAP: class_num", 1)
        parts = [gt_label, gt_box] if gt_difficult is None else [gt_label, gt_difficult, gt_box]
        parts = [
            v if v is gt_box else self._call("cast", {"X": v}, ["Out"], {"out_dtype": gt_box.dtype})
            for v in parts
        ]
        label = self._call("concat", {"X": parts}, ["Out"], {"axis": 1})
        attrs = {
            "class_num": classes, "background_label": background_label, "ap_type": ap_version,
            "overlap_threshold": overlap_threshold, "evaluate_difficult": bool(evaluate_difficult),
        }  # fmt: skip
        inputs = {"DetectRes": input, "Label": label}
        outputs = ["AccumPosCount", "AccumTruePos", "AccumFalsePos"]
        self.cur_map = self._call("detection_map", inputs, [*outputs, "MAP"], attrs)[3]
        state = [
            self._state(word, shape, dtype)
            for word, shape, dtype in (
                ("has_state", [1], "int32"), ("accum_pos_count", [classes, 1], "int32"),
                ("accum_true_pos", [1, 2], input.dtype), ("accum_false_pos", [1, 2], input.dtype),
            )
        ]  # fmt: skip
        self.has_state = state[0]
        slots = ("HasState", "PosCount", "TruePos", "FalsePos")
        inputs.update(zip(slots, state, strict=True))
        made = dict(zip(outputs, state[1:], strict=True))
        self.accum_map = made["MAP"] = self._block.create_var(
            name=unique_name.generate(f"{self._name}.accum_map"), stop_gradient=True
        )
        self._block.append_op("detection_map", inputs, made, attrs, stop_gradient=True)
        one = {"shape": [1], "dtype": "int32", "value": 1.0}
        self._block.append_op("fill_constant", {}, {"Out": self.has_state}, one)
        self.metrics += [self.cur_map, self.accum_map]
        self.states = [self.has_state]

    def _state(self, word, shape, dtype):
        state = self._block.program.global_block().create_var(
            name=unique_name.generate(f"{self._name}.{word}"), shape=shape, dtype=dtype,
            persistable=True, stop_gradient=True,
        )  # fmt: skip
        fill_at_start(state, initializer.Constant(0.0))
        return state

    def get_map_var(self):
        """The variables of the batch's and of all batches' mean average precision."""
        return self.cur_map, self.accum_map

    def eval(self, executor=None, eval_program=None, scope=None):
        """Not there: fetch the variables of `get_map_var`."""
        raise PreconditionNotMetError(
            "DetectionMAP.eval: a run of the program computes the value. Fetch get_map_var()[1]"
        )


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
