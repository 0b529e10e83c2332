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
    """An LSTM along each sequence: (the hidden states, the cells).

    Parameters
    ----------
    input : Variable
        ``[rows, size]`` with LoD, the input times its weights.
    size : int
        4 times the hidden size.
    h_0, c_0 : Variable, optional
        First states, ``[sequences, size / 4]``.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
    use_peepholes : bool
        The gates read the cells.
    is_reverse : bool
    gate_activation, cell_activation, candidate_activation : str
    dtype : str
    name : str, optional

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
    """`dynamic_lstm` whose hidden states are projected to `proj_size`: (projections, cells).

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
    """A GRU along each sequence: the hidden states ``[rows, size]``.

    `input` is ``[rows, 3 * size]`` with LoD, the input times its weights.

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
    """One step of a GRU: (the new hidden state, the reset one, the gates).

    `size` is 3 times the hidden size; `input` is ``[batch, size]``.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, h = static.data("x", [None, 12]), static.data("h", [None, 4])
    ...     [v.shape for v in static.layers.gru_unit(x, h, size=12)]
    [(-1, 4), (-1, 4), (-1, 12)]
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
    """One step of an LSTM: (the new hidden state, the new cell); `fc` has the parameters.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, h, c = (static.data(n, [None, 4]) for n in "xhc")
    ...     [v.shape for v in static.layers.lstm_unit(x, h, c)]
    [(-1, 4), (-1, 4)]
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
    """A stack of LSTM over ``[time, batch, D]``: (the states of all steps, last h, last c).

    Weights and biases are parameters of each layer and direction, as the operator ``rnn`` takes
    them; Fluid's cudnn operator has one parameter for all.

    Parameters
    ----------
    input : Variable
    init_h, init_c : Variable
        ``[num_layers * directions, batch, hidden_size]``.
    max_len : int
        Fluid's; not used: `input` gives the length.
    hidden_size, num_layers : int
    dropout_prob : float
        Between layers.
    is_bidirec, is_test : bool
    name : str, optional
    default_initializer : Initializer, optional
    seed : int
        The seed of dropout; -1: other draws in each run.

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
    """The negative log-likelihood of label sequences, ``[sequences, 1]``.

    The parameter, ``[tags + 2, tags]``, holds the scores of first tags, of last tags, and of
    transitions between tags. `input` has LoD, or is padded with lengths in `length`.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.layers.data("x", [4], lod_level=1)
    ...     label = static.layers.data("label", [1], dtype="int64", lod_level=1)
    ...     static.layers.linear_chain_crf(x, label, param_attr="crf").shape
    (-1, 1)
    """
    check.variable(input, "linear_chain_crf: input")
    tags = known(input.shape[-1], "linear_chain_crf", "the number of tags", input)
    transition = parameter([tags + 2, tags], input.dtype, param_attr)
    inputs = {"Emission": input, "Transition": transition, "Label": label, "Length": length}
    return run("linear_chain_crf", inputs)["LogLikelihood"]


@layer(parameters=True)
def crf_decoding(input, param_attr, label=None, length=None):
    """The most probable tags by the parameter of a `linear_chain_crf`; with `label`, 1 where right.

    `param_attr` names that parameter.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.layers.data("x", [4], lod_level=1)
    ...     label = static.layers.data("label", [1], dtype="int64", lod_level=1)
    ...     loss = static.layers.linear_chain_crf(x, label, param_attr="crf")
    ...     static.layers.crf_decoding(x, param_attr="crf").shape
    (-1, 1)
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
