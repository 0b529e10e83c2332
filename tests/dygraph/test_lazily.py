"""Modules that load when a name of theirs is first asked for: the tables say what is there."""

import importlib
import subprocess
import sys

import pytest

import dygraph
from dygraph import nn, ops


@pytest.mark.parametrize(
    "package, prefix", [(dygraph, "dygraph"), (nn, "dygraph.nn"), (ops, "dygraph.functions")]
)
def test_tables_name_what_the_modules_give(package, prefix):
    for module, names in package._LAZY.items():
        loaded = importlib.import_module(f"{prefix}.{module}")
        for name in names.split():
            assert getattr(package, name) is getattr(loaded, name)
        if package is not dygraph and hasattr(loaded, "__all__"):
            assert sorted(names.split()) == sorted(loaded.__all__)


def test_layers_and_functions_stand_at_the_top():
    assert dygraph.nn.LSTM is nn.LSTM and dygraph.nn.BCELoss is nn.BCELoss
    assert dygraph.ops.relu is ops.relu
    with pytest.raises(AttributeError, match="Operators with their slots are in dygraph.ops, func"):
        dygraph.functional  # noqa: B018
    assert {"Layer", "exp", "io"} <= set(dir(dygraph))
    assert not {"LSTM", "Linear", "relu", "check_grad"} & set(dir(dygraph))
    assert dygraph.LSTM is nn.LSTM and callable(dygraph.check_grad)
    with pytest.raises(AttributeError, match=r"dygraph\.nn\.functional\.relu"):
        dygraph.relu  # noqa: B018
    with pytest.raises(AttributeError, match="Did you mean 'LSTM'"):
        nn.LSTN  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Linaer'. Did you mean 'Linear'"):
        dygraph.Linaer  # noqa: B018


def test_importing_loads_no_rare_module():
    code = (
        "import sys, dygraph; "
        "rare = [m for m in ('nn.rnn', 'nn.transformer', 'nn.loss', 'nn.clip', 'nn.bilinear', "
        "'io', 'metrics', 'jit', 'lr', 'autograd.derivatives', 'profiler', 'checkpoint', 'saving', "
        "'training.model', 'functions.losses', 'amp', 'cuda', 'core.places') "
        "if 'dygraph.' + m in sys.modules]; "
        "print(rare)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
