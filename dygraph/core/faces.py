"""What stands for eager Variables in a program that is described."""

from dygraph import _core

__all__ = ["face"]


def face(variable, like, owner):
    """A weight or a constant as calls take it that come to `like` later.

    A call on eager Variables alone computes. So a function that reshapes a weight before it meets
    the input, a variable of a program, asks for what stands for the weight there.
    """
    if _core.is_symbol(like) and not _core.is_symbol(variable):
        return like.block.program.face_of(variable, owner)
    return variable
