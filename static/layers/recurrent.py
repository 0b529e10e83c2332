"""Recurrent layers over sequences, and conditional random fields."""

import math

from dygraph import ParamAttr, initializer
from dygraph.core import check
from dygraph.errors import InvalidArgumentError, NotFoundError
from dygraph.static.layers.learnt import fc, known, parameter
from dygraph.static.layers.making import layer, run
from dygraph.static.layers.manipulation import concat
from dygraph.static.layers.sequence import with_levels
from dygraph.static.program import default_main_program

__all__ = [
    "crf_decoding", "dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "gru_unit",
    "linear_chain_crf", "lstm", "lstm_unit",
]  # fmt: skip

_BY_NUMBER = ("identity", "sigmoid", "tanh", "relu")


def _units(size, gates, owner):
    if check.integer(size, f"{owner}: size", 1) % gates:
        raise InvalidArgumentError(
            f"{owner}: size must be divisible by {gates}, for its gates, got {size}"
        )
    return size // gates


@layer(parameters=True)
def dynamic_lstm(
    input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, use_peepholes=True,
    is_reverse=False, gate_activation="sigmoid", cell_activation="tanh",
    candidate_activation="tanh", dtype="float32", name=None,
):  # fmt: skip
    """An LSTM along each sequence (Hochreiter and Schmidhuber, 1997).

    From the state ``h`` and the cell ``c`` of the row before, the gates are ``i, f = gate(x + h W +
    p c + b)`` and the candidate is ``g = candidate(x + h W + b)``. Then ``cell = f * c + i * g``,
    ``o = gate(x + h W + p cell + b)`` and ``hidden = o * act(cell)``. The peepholes ``p`` come from
    `use_peepholes` (Gers and Schmidhuber, 2000).

    Parameters
    ----------
    input : Variable
        ``[rows, size]`` with LoD: each row times its weights, as an `fc` gives it, for g, i, f, o.
    size : int
        4 times the width of a state.
    h_0, c_0 : Variable, optional
        The first states and cells, ``[sequences, size / 4]``; None: 0.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[size / 4, size]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[1, size]``, or ``[1, 7 * size / 4]`` with peepholes.
    use_peepholes : bool, default True
        Whether the gates see the cells.
    is_reverse : bool, default False
        Whether to go from the last row of a sequence to its first.
    gate_activation : str, default "sigmoid"
        ``"sigmoid"``, ``"tanh"``, ``"relu"`` or ``"identity"``.
    cell_activation, candidate_activation : str, default "tanh"
        Likewise.
    dtype : str or dtype, default "float32"
        The type of the parameters.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    hidden : Variable
        The states, ``[rows, size / 4]``, with the LoD of `input`.
    cell : Variable
        The cells, likewise.

    Raises
    ------
    InvalidArgumentError
        `size` is no multiple of 4.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.layers.data("x", [16], lod_level=1)
    ...     hidden, cell = static.layers.dynamic_lstm(x, size=16)
    >>> hidden.shape, cell.shape
    ((-1, 4), (-1, 4))
    """
    units = _units(size, 4, "dynamic_lstm")
    inputs = {
        "Input": input, "H0": h_0, "C0": c_0,
        "Weight": parameter([units, size], dtype, param_attr),
        "Bias": parameter([1, 7 * units if use_peepholes else size], dtype, bias_attr, bias=True),
    }  # fmt: skip
    attrs = {
        "use_peepholes": bool(use_peepholes), "is_reverse": bool(is_reverse),
        "gate_activation": gate_activation, "cell_activation": cell_activation,
        "candidate_activation": candidate_activation,
    }  # fmt: skip
    found = run("lstm", inputs, attrs)
    return with_levels(found["Hidden"], 1), with_levels(found["Cell"], 1)


@layer(parameters=True)
def dynamic_lstmp(
    input, size, proj_size, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
    gate_activation="sigmoid", cell_activation="tanh", candidate_activation="tanh",
    proj_activation="tanh", dtype="float32", name=None, h_0=None, c_0=None, cell_clip=None,
    proj_clip=None,
):  # fmt: skip
    """`dynamic_lstm` whose states are projected to another width (Sak and others, 2014).

    The projection ``proj(h P)`` of the row before stands in the place of ``h``.

    Parameters
    ----------
    input : Variable
        ``[rows, size]`` with LoD, as of `dynamic_lstm`.
    size : int
        4 times the width of a cell.
    proj_size : int
        The width of a projection.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weights, ``[proj_size, size]`` and ``[size / 4,
        proj_size]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[1, size]``, or ``[1, 7 * size / 4]`` with peepholes.
    use_peepholes : bool, default True
        Whether the gates see the cells.
    is_reverse : bool, default False
        Whether to go from the last row of a sequence to its first.
    gate_activation : str, default "sigmoid"
        ``"sigmoid"``, ``"tanh"``, ``"relu"`` or ``"identity"``.
    cell_activation, candidate_activation, proj_activation : str, default "tanh"
        Likewise.
    dtype : str or dtype, default "float32"
        The type of the parameters.
    name : str, optional
        The name of the result and of the parameters.
    h_0 : Variable, optional
        The first projections, ``[sequences, proj_size]``; None: 0.
    c_0 : Variable, optional
        The first cells, ``[sequences, size / 4]``; None: 0.
    cell_clip, proj_clip : float, optional
        The greatest size of cells and of projections; None or 0: no bound.

    Returns
    -------
    projection : Variable
        ``[rows, proj_size]``, with the LoD of `input`.
    cell : Variable
        ``[rows, size / 4]``, likewise.

    Raises
    ------
    InvalidArgumentError
        `size` is no multiple of 4.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.layers.data("x", [16], lod_level=1)
    ...     hidden, cell = static.layers.dynamic_lstmp(x, size=16, proj_size=3)
    >>> hidden.shape, cell.shape
    ((-1, 3), (-1, 4))
    """
    units = _units(size, 4, "dynamic_lstmp")
    width = check.integer(proj_size, "dynamic_lstmp: proj_size", 1)
    inputs = {
        "Input": input, "H0": h_0, "C0": c_0,
        "Weight": parameter([width, size], dtype, param_attr),
        "ProjWeight": parameter([units, width], dtype, _unnamed(param_attr)),
        "Bias": parameter([1, 7 * units if use_peepholes else size], dtype, bias_attr, bias=True),
    }  # fmt: skip
    attrs = {
        "use_peepholes": bool(use_peepholes), "is_reverse": bool(is_reverse),
        "gate_activation": gate_activation, "cell_activation": cell_activation,
        "candidate_activation": candidate_activation, "proj_activation": proj_activation,
        "cell_clip": cell_clip, "proj_clip": proj_clip,
    }  # fmt: skip
    found = run("lstmp", inputs, attrs)
    return with_levels(found["Projection"], 1), with_levels(found["Cell"], 1)


def _unnamed(attr):
    """The same attributes for another parameter, under another name."""
    attr = ParamAttr.of(attr)
    if attr is None or attr.name is None:
        return attr
    return ParamAttr(
        attr.name + ".projection", attr.initializer, attr.learning_rate, attr.regularizer,
        attr.trainable, attr.gradient_clip, attr.do_model_average,
    )  # fmt: skip


@layer(parameters=True)
def dynamic_gru(
    input, size, param_attr=None, bias_attr=None, is_reverse=False, gate_activation="sigmoid",
    candidate_activation="tanh", h_0=None, origin_mode=False,
):  # fmt: skip
    """A GRU along each sequence (Cho and others, 2014).

    From the state ``h`` of the row before: ``u = gate(x_u + h W_u + b_u)``, ``r = gate(x_r + h W_r
    + b_r)``, ``m = candidate(x_m + (r * h) W_m + b_m)`` and ``hidden = (1 - u) * h + u * m``.

    Parameters
    ----------
    input : Variable
        ``[rows, 3 * size]`` with LoD: each row times its weights, as an `fc` gives it, for u, r, m.
    size : int
        The width of a state.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[size, 3 * size]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[1, 3 * size]``; False: no bias.
    is_reverse : bool, default False
        Whether to go from the last row of a sequence to its first.
    gate_activation, candidate_activation : str, default "sigmoid" and "tanh"
        ``"sigmoid"``, ``"tanh"``, ``"relu"`` or ``"identity"``.
    h_0 : Variable, optional
        The first states, ``[sequences, size]``; None: 0.
    origin_mode : bool, default False
        Whether ``u`` keeps the old state: ``u * h + (1 - u) * m``, as in the paper.

    Returns
    -------
    Variable
        The states, ``[rows, size]``, with the LoD of `input`.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.dynamic_gru(static.layers.data("x", [12], lod_level=1), size=4).shape
    (-1, 4)
    """
    check.variable(input, "dynamic_gru: input")
    units = check.integer(size, "dynamic_gru: size", 1)
    inputs = {
        "Input": input, "H0": h_0,
        "Weight": parameter([units, 3 * units], input.dtype, param_attr),
        "Bias": parameter([1, 3 * units], input.dtype, bias_attr, bias=True),
    }  # fmt: skip
    attrs = {
        "is_reverse": bool(is_reverse), "gate_activation": gate_activation,
        "activation": candidate_activation, "origin_mode": bool(origin_mode),
    }  # fmt: skip
    return with_levels(run("gru", inputs, attrs)["Hidden"], 1)


@layer(parameters=True)
def gru_unit(
    input, hidden, size, param_attr=None, bias_attr=None, activation="tanh",
    gate_activation="sigmoid", origin_mode=False,
):  # fmt: skip
    """One step of a GRU; the formulas are those of `dynamic_gru`.

    Parameters
    ----------
    input : Variable
        ``[batch, size]``: the inputs times their weights, for u, r, m.
    hidden : Variable
        The states before, ``[batch, size / 3]``.
    size : int
        3 times the width of a state.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[size / 3, size]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[1, size]``; False: no bias.
    activation, gate_activation : str, default "tanh" and "sigmoid"
        ``"identity"``, ``"sigmoid"``, ``"tanh"`` or ``"relu"``.
    origin_mode : bool, default False
        Whether ``u`` keeps the old state.

    Returns
    -------
    hidden : Variable
        The new states, ``[batch, size / 3]``.
    reset_hidden : Variable
        ``r * h``, likewise.
    gate : Variable
        u, r and m, ``[batch, size]``.

    Raises
    ------
    InvalidArgumentError
        `size` is no multiple of 3, or an activation is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, h = static.data("x", [None, 3]), static.data("h", [None, 1])
    ...     new, *_ = layers.gru_unit(x, h, 3, param_attr=static.initializer.Constant(0.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"x": np.zeros((1, 3), "float32"), "h": np.array([[2.0]], "float32")}
    ...     exe.run(feed=feed, fetch_list=[new])
    [array([[1.]], dtype=float32)]
    """
    check.variable(input, "gru_unit: input")
    units = _units(size, 3, "gru_unit")
    inputs = {
        "Input": input, "HiddenPrev": hidden,
        "Weight": parameter([units, size], input.dtype, param_attr),
        "Bias": parameter([1, size], input.dtype, bias_attr, bias=True),
    }  # fmt: skip
    attrs = {"origin_mode": bool(origin_mode)}
    for key, value in (("activation", activation), ("gate_activation", gate_activation)):
        attrs[key] = _BY_NUMBER.index(check.choice(value, _BY_NUMBER, f"gru_unit: {key}"))
    found = run("gru_unit", inputs, attrs)
    return found["Hidden"], found["ResetHiddenPrev"], found["Gate"]


@layer(parameters=True)
def lstm_unit(
    x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None, name=None
):
    """One step of an LSTM, with an `fc` of the input and the state as its gates.

    With ``i, f, o, g = fc([x, h])``: ``cell = sigmoid(f + forget_bias) * c + sigmoid(i) * tanh(g)``
    and ``hidden = sigmoid(o) * tanh(cell)``.

    Parameters
    ----------
    x_t : Variable
        The inputs of the step, ``[batch, columns]``; float32 or float64.
    hidden_t_prev, cell_t_prev : Variable
        The states and the cells before, ``[batch, width]``.
    forget_bias : float, default 0.0
        Added to the forget gate; 1 lets a cell remember at first.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[columns + width, 4 * width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[4 * width]``; False: no bias.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    hidden : Variable
        The new states, ``[batch, width]``.
    cell : Variable
        The new cells, likewise.

    Raises
    ------
    InvalidArgumentError
        The width of the cells is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, h, c = (static.data(n, [None, 1]) for n in "xhc")
    ...     zero = static.initializer.Constant(0.0)
    ...     hidden, cell = layers.lstm_unit(x, h, c, param_attr=zero)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {n: np.array([[2.0]], "float32") for n in "xhc"}
    ...     new, kept = exe.run(feed=feed, fetch_list=[hidden, cell])
    >>> round(float(new[0, 0]), 4), float(kept[0, 0])
    (0.3808, 1.0)
    """
    for what, value in (
        ("x_t", x_t), ("hidden_t_prev", hidden_t_prev), ("cell_t_prev", cell_t_prev)
    ):  # fmt: skip
        check.variable(value, f"lstm_unit: {what}")
    units = known(cell_t_prev.shape[1], "lstm_unit", "the width", cell_t_prev)
    gates = fc(
        concat([x_t, hidden_t_prev], axis=1), 4 * units, param_attr=param_attr, bias_attr=bias_attr
    )
    found = run("lstm_unit", {"X": gates, "C_prev": cell_t_prev}, {"forget_bias": forget_bias})
    return found["H"], found["C"]


@layer(parameters=True)
def lstm(
    input, init_h, init_c, max_len, hidden_size, num_layers, dropout_prob=0.0, is_bidirec=False,
    is_test=False, name=None, default_initializer=None, seed=-1,
):  # fmt: skip
    """A stack of LSTM layers over padded sequences.

    Weights and biases are parameters of each layer and direction, as the operator ``rnn`` takes
    them; Fluid's cudnn operator has one parameter for all.

    Parameters
    ----------
    input : Variable
        ``[time, batch, columns]``; float32 or float64.
    init_h, init_c : Variable
        The first states and cells, ``[num_layers * directions, batch, hidden_size]``.
    max_len : int
        Accepted as in Fluid; `input` gives the length.
    hidden_size : int
        The width of a state.
    num_layers : int
        The number of layers.
    dropout_prob : float, default 0.0
        The probability of dropout between layers.
    is_bidirec : bool, default False
        Whether a second cell of each layer reads its input backward.
    is_test : bool, default False
        Whether to drop nothing.
    name : str, optional
        The name of the result and of the parameters.
    default_initializer : Initializer, optional
        The start values of the parameters; None: uniform within ``1 / sqrt(hidden_size)`` of 0.
    seed : int, default -1
        The seed of dropout; -1: other draws in each run.

    Returns
    -------
    out : Variable
        The states of the last layer, ``[time, batch, directions * hidden_size]``.
    last_h, last_c : Variable
        The last states and cells, in the shape of `init_h`.

    Raises
    ------
    InvalidArgumentError
        The number of columns of `input` is unknown.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, None, 3])
    ...     h, c = (static.data(n, [2, None, 4]) for n in "hc")
    ...     [v.shape for v in static.layers.lstm(x, h, c, 20, 4, num_layers=2)]
    [(-1, -1, 4), (2, -1, 4), (2, -1, 4)]
    """
    check.variable(input, "lstm: input")
    hidden = check.integer(hidden_size, "lstm: hidden_size", 1)
    layers = check.integer(num_layers, "lstm: num_layers", 1)
    width = known(input.shape[-1], "lstm", "the width", input)
    directions = 2 if is_bidirec else 1
    bound = 1.0 / math.sqrt(hidden)
    start = default_initializer or initializer.Uniform(-bound, bound)
    weights, biases, reads = [], [], width
    for _ in range(layers):
        for _ in range(directions):
            for columns in (reads, hidden):
                weights.append(parameter([4 * hidden, columns], input.dtype, None, start=start))
                biases.append(parameter([4 * hidden], input.dtype, None, bias=True, start=start))
        reads = hidden * directions
    inputs = {"Input": input, "PreState": [init_h, init_c], "WeightList": weights + biases}
    attrs = {
        "mode": "LSTM", "input_size": width, "hidden_size": hidden, "num_layers": layers,
        "is_bidirec": bool(is_bidirec), "dropout_prob": dropout_prob, "is_test": bool(is_test),
        "seed": 0 if seed == -1 else seed,
    }  # fmt: skip
    found = run("rnn", inputs, attrs, {"State": 2})
    return found["Out"], *found["State"]


@layer(parameters=True)
def linear_chain_crf(input, label, param_attr=None, length=None):
    """Minus the logarithm of the probability of tag sequences, a loss (Lafferty and others, 2001).

    The score of a sequence adds up `input` at its tags and the parameter: the scores of first tags,
    of last tags, and of transitions from tag to tag.

    Parameters
    ----------
    input : Variable
        The scores of the tags, ``[rows, tags]`` with LoD, or ``[batch, time, tags]`` with `length`;
        float32 or float64.
    label : Variable
        The right tags, int64 or int32 ``[rows, 1]`` with LoD, or ``[batch, time]``.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the parameter, ``[tags + 2, tags]``.
    length : Variable, optional
        int64 ``[batch, 1]``: the lengths of padded sequences.

    Returns
    -------
    Variable
        ``[sequences, 1]``

    Raises
    ------
    InvalidArgumentError
        The number of tags is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 2], lod_level=1)
    ...     label = static.data("label", [None, 1], "int64", lod_level=1)
    ...     zero = static.ParamAttr("crf", static.initializer.Constant(0.0))
    ...     loss = layers.linear_chain_crf(x, label, param_attr=zero)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     lod = [[0, 2]]
    ...     feed = {"x": dygraph.to_variable(np.zeros((2, 2), "float32"), lod=lod)}
    ...     feed["label"] = dygraph.to_variable(np.array([[0], [1]]), lod=lod)
    ...     (cost,) = exe.run(feed=feed, fetch_list=[loss])
    >>> round(float(cost[0, 0]), 4)
    1.3863
    """
    check.variable(input, "linear_chain_crf: input")
    tags = known(input.shape[-1], "linear_chain_crf", "the number of tags", input)
    transition = parameter([tags + 2, tags], input.dtype, param_attr)
    inputs = {"Emission": input, "Transition": transition, "Label": label, "Length": length}
    return run("linear_chain_crf", inputs)["LogLikelihood"]


@layer(parameters=True)
def crf_decoding(input, param_attr, label=None, length=None):
    """The tag sequences with the greatest score by the parameter of a `linear_chain_crf` (Viterbi,
    1967).

    Parameters
    ----------
    input : Variable
        The scores of the tags, as of `linear_chain_crf`.
    param_attr : ParamAttr or str
        The name of that parameter.
    label : Variable, optional
        The right tags; None: return the tags found.
    length : Variable, optional
        int64 ``[batch, 1]``: the lengths of padded sequences.

    Returns
    -------
    Variable
        int64 ``[rows, 1]`` with LoD, or ``[batch, time]``: the tags; with `label`, 1 where they are
        right and 0 elsewhere.

    Raises
    ------
    NotFoundError
        The program has no parameter of that name.

    Examples
    --------
    >>> import numpy as np
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 2], lod_level=1)
    ...     label = static.data("label", [None, 1], "int64", lod_level=1)
    ...     zero = static.ParamAttr("crf", static.initializer.Constant(0.0))
    ...     loss = layers.linear_chain_crf(x, label, param_attr=zero)
    ...     tags = layers.crf_decoding(x, param_attr="crf")
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     scores = np.array([[0.0, 1.0], [2.0, 0.0]], "float32")
    ...     feed = {"x": dygraph.to_variable(scores, lod=[[0, 2]])}
    ...     feed["label"] = dygraph.to_variable(np.array([[0], [1]]), lod=[[0, 2]])
    ...     exe.run(feed=feed, fetch_list=[tags])[0].tolist()
    [[1], [0]]
    """
    check.variable(input, "crf_decoding: input")
    attr = ParamAttr.of(param_attr)
    block = default_main_program().global_block()
    if attr is None or attr.name is None or not block.has_var(attr.name):
        raise NotFoundError(
            "crf_decoding: param_attr must name the parameter of a linear_chain_crf, got "
            f"{None if attr is None else attr.name!r}"
        )
    transition = block.var(attr.name)
    inputs = {"Emission": input, "Transition": transition, "Label": label, "Length": length}
    path = run("crf_decoding", inputs)["ViterbiPath"]
    return with_levels(path, 1) if length is None else path
