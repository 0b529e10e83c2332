"""Programs as one C file: ``python -m dygraph compile MODEL -o net.c``; see docs/c_file.md."""

from dataclasses import dataclass

from dygraph.codegen import functions  # noqa: F401
from dygraph.codegen.emitter import Emitter
from dygraph.codegen.operators import (  # noqa: F401
    activation, arithmetic, attention, beam, control, conv, create, index, linear, loss, norm,
    recurrent, reduce, sequence, shape,
)  # fmt: skip
from dygraph.codegen.source import model_of


@dataclass
class CFile:
    text: str
    weights: bytes
    model: object


def emit_c(
    model, inputs=None, *, scope=None, feeds=None, fetches=None, name="net", exact=False,
    cuda=False, embed=None,
):  # fmt: skip
    source = model_of(model, inputs, scope, feeds, fetches, embed)
    e = Emitter(source, name, exact, cuda)
    text = e.text()
    return CFile(text, b"" if source.embedded else source.packed_weights(), source)

