"""Handles of the hooks that layers call around forward."""


class HookHandle:
    """Takes a hook of a layer away again: ``handle.remove()``."""

    __slots__ = ("_layer", "_hooks", "_hook")

    def __init__(self, layer, hooks, hook):
        self._layer, self._hooks, self._hook = layer, hooks, hook

    def remove(self):
        """Take the hook away. A second call does nothing."""
        hooks = getattr(self._layer, self._hooks)
        rest = tuple(h for h in hooks if h is not self._hook)
        object.__setattr__(self._layer, self._hooks, rest)
