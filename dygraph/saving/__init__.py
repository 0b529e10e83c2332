"""Saving and loading: states and other nested data, Fluid's parameter files, NumPy archives."""

from dygraph.saving.states import (
    load,
    load_dygraph,
    load_fluid_params,
    save,
    save_dygraph,
    save_fluid_params,
)

__all__ = [
    "load", "load_dygraph", "load_fluid_params", "save", "save_dygraph", "save_fluid_params",
]  # fmt: skip
