"""Programs for many processes from the program of one: Fluid's transpilers."""

from dygraph.static.memory_passes import memory_optimize, release_memory
from dygraph.static.transpiler import collective
from dygraph.static.transpiler.config import DistributeTranspilerConfig, HashName, RoundRobin
from dygraph.static.transpiler.distribute import DistributeTranspiler
from dygraph.static.transpiler.roles import Role, role

__all__ = [
    "DistributeTranspiler", "DistributeTranspilerConfig", "HashName", "Role", "RoundRobin",
    "collective", "memory_optimize", "release_memory", "role",
]  # fmt: skip
