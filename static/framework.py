"""Programs and their parts, by the name of Fluid's module."""

from dygraph.core.base import in_dygraph_mode
from dygraph.static.guards import device_guard, name_scope
from dygraph.core.places import cpu_places
from dygraph.static.program import (
    Block,
    Operator,
    OpRole,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    program_guard,
    switch_main_program,
    switch_startup_program,
)

__all__ = [
    "Block", "OpRole", "Operator", "Parameter", "Program", "Variable", "cpu_places",
    "default_main_program", "default_startup_program", "device_guard", "in_dygraph_mode",
    "name_scope", "program_guard", "switch_main_program", "switch_startup_program",
]  # fmt: skip
