"""Programs as one C file: ``python -m dygraph compile MODEL -o net.c``; see docs/c_file.md."""

import keyword
import re
from dataclasses import dataclass

from dygraph.codegen import (  # noqa: F401
    build,
    functions,
    registry,
)
from dygraph.codegen.emitter import Emitter
from dygraph.codegen.operators import (  # noqa: F401
    activation,
    arithmetic,
    attention,
    beam,
    control,
    control_text,
    conv,
    create,
    index,
    linear,
    loss,
    norm,
    recurrent,
    recurrent_text,
    reduce,
    sequence,
    sequence_ids_text,
    sequence_text,
    shape,
    shape_text,
)
from dygraph.codegen.source import model_of
from dygraph.errors import InvalidArgumentError

__all__ = ["CFile", "emit_c", "operators_table"]

_RESERVED = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile", "while",
}  # fmt: skip


@dataclass
class CFile:
    """A network as C. Made by :func:`emit_c`.

    Attributes
    ----------
    text : str
        The C file.
    weights : bytes
        The file of weights that ``NAME_run`` is given; empty where the text has them.
    name : str
        What the public functions begin with.
    exact : bool
        Whether the results are the Executor's bit for bit.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import codegen
    >>> net = codegen.emit_c(dygraph.nn.ReLU(), [dygraph.ones([2, 3])])
    >>> "int net_run(" in net.text, net.weights
    (True, b'')
    """

    text: str
    weights: bytes
    name: str
    exact: bool
    model: object

    def write(self, output):
        """Write the text, and a file of weights beside it if there is one; both or neither.

        Parameters
        ----------
        output : str or path
            A name that ends in ``.c`` or ``.cu``; the weights go to the same name with
            ``.weights``.

        Returns
        -------
        list of str
            The files that were written.
        """
        return build.write(self, output)

    def build(self, output, shared=True, flags=()):
        """Compile with ``$CC`` or ``cc``.

        Parameters
        ----------
        output : str or path
            The shared object, or with ``shared=False`` the program.
        shared : bool
            False: a program that reads raw inputs and writes raw outputs.
        flags : sequence of str
            More arguments of the compiler.

        Raises
        ------
        NotFoundError
            There is no compiler.
        PreconditionNotMetError
            The compiler fails.
        """
        return build.compiled(self, output, shared, flags)


def emit_c(
    model, inputs=None, *, scope=None, feeds=None, fetches=None, name="net", exact=False,
    cuda=False, embed=None,
):  # fmt: skip
    """A model as one C file: C99, libm alone, no allocation, nothing global written.

    Parameters
    ----------
    model : path, static.Program, Layer or TracedLayer
        What is compiled, as inference runs it.
    inputs : list of arrays, optional
        Of a Layer: what it is traced with.
    scope : static.Scope, optional
        Holds a program's weights. Default: ``static.global_scope()``.
    feeds, fetches : list of str or Variable, optional
        Inputs and outputs of a program; those of the file otherwise.
    name : str
        A C identifier that the public functions begin with.
    exact : bool
        The Executor's bits (with ``FLAGS_cpu_level=3``, ``FLAGS_kernel_library='plain'`` and
        ``FLAGS_matrix_product='own'``). Otherwise results are within 1e-5, and faster.
    cuda : bool
        Text for nvcc whose loops are kernels.
    embed : bool, optional
        Whether the text holds the weights. Default: up to 256 kB.

    Returns
    -------
    CFile

    Raises
    ------
    UnimplementedError
        Operators of the program have no C text, or with ``exact`` none with the same bits. All are
        named.
    InvalidArgumentError
        A name, an input or the program is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import codegen, static
    >>> main, startup, executor = static.Program(), static.Program(), static.Executor()
    >>> with static.program_guard(main, startup):
    ...     x = static.data("x", [None, 4], "float32")
    ...     y = static.layers.fc(x, size=2, act="relu")
    >>> _ = executor.run(startup)
    >>> net = codegen.emit_c(main, feeds=[x], fetches=[y], name="tiny")
    >>> "int tiny_run(" in net.text
    True
    """
    _check_name(name)
    if cuda and (exact or embed):
        raise InvalidArgumentError(
            "compile: cuda=True must come without exact and embed: its sums are in another order, "
            "and its weights lie in memory that both sides see"
        )
    source = model_of(model, inputs, scope, feeds, fetches, False if cuda else embed)
    text = Emitter(source, name, bool(exact), bool(cuda)).text()
    weights = b"" if source.embedded else source.packed_weights()
    return CFile(text, weights, name, bool(exact), source)


def _check_name(name):
    fits = isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name)
    if not fits or name in _RESERVED or keyword.iskeyword(name):
        raise InvalidArgumentError(
            "compile: name must be a C identifier of small letters, digits and underlines, "
            f"got {name!r}"
        )


def operators_table():
    """Supported operators as {type: 'exact', 'exact in part' or 'close'}.

    Examples
    --------
    >>> from dygraph import codegen
    >>> codegen.operators_table()["relu"]
    'exact'
    """
    return registry.table()
