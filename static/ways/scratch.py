"""The program of one run, and the values from outside in it."""

from dygraph import _core, static
from dygraph.core.variable import Parameter as EagerParameter
from dygraph.static.variable import Parameter, Variable
from dygraph.static.ways.graph import here
from dygraph.static.ways.sequences import Sizes


def from_weights(line):
    """What is said of a value that would stay as it is when the weights change."""
    return (
        f"a Variable that {line} uses was computed from weights outside the function, and would "
        "not follow them when they change. Compute it inside the function, from an argument or in "
        "a Layer"
    )


class Scratch(static.Program):
    """A program of one run. Weights are shared, other eager Variables become constants."""

    sizes = Sizes()
    merges_copies = False

    def __init__(self, ways):
        super().__init__()
        self._ways = ways

    def name_of(self, variable, type):
        """The name of a variable in this program; eager ones are added."""
        if variable is None or isinstance(variable, Variable):
            return super().name_of(variable, type)
        if _core.is_literal(variable):
            name = super().name_of(variable, type)
            self._ways.plain_names.add(name)
            return name
        if self.core.layer_name is not None and not _stays(variable):
            return super().name_of(variable, type)
        return self.face_of_eager(variable).name

    def face_of_eager(self, variable, hint="weight"):
        """The variable of this program for an eager Variable."""
        ways = self._ways
        if not _stays(variable):
            if not variable.stop_gradient:
                raise ways.refuse(from_weights(here()))
            return self._constant(variable)
        name = ways.name_of_held(variable, hint)
        found = self.global_block().core.find(name)
        if found is not None:
            return found
        kind = Parameter if isinstance(variable, EagerParameter) else Variable
        made = self.global_block().create_as(
            kind, name, list(variable.shape), str(variable.dtype), None, True,
            variable.stop_gradient,
        )  # fmt: skip
        self.held[name] = variable
        return made

    def _constant(self, variable):
        ways, lod = self._ways, _core.lod(variable)
        digest = _core.digest(variable)
        name = f"constant_{hash(repr(digest)) & (2**64 - 1):x}"
        ways.sources[name] = variable
        found = self.global_block().core.find(name)
        if found is None:
            ways.constants.setdefault(name, _core.snapshot(variable))
            found = self.global_block().create_var(
                name, list(variable.shape), str(variable.dtype), len(lod) if lod else 0,
                persistable=True, stop_gradient=True,
            )  # fmt: skip
        return found


def _stays(variable):
    """Whether it is state that a program shares instead of copying."""
    is_weight = not variable.stop_gradient and variable.is_leaf
    return isinstance(variable, EagerParameter) or variable.persistable or is_weight
