"""Handles of the hooks that layers call around forward."""


class HookHandle:
    """The handle of a layer's hook: ``handle.remove()`` removes it."""

    __slots__ = ("_layer", "_hooks", "_hook")

    def __init__(self, layer, hooks, hook):
        self._layer, self._hooks, self._hook = layer, hooks, hook

    def remove(self):
        """Remove the hook. A second call has no effect."""
        hooks = getattr(self._layer, self._hooks)
        rest = tuple(h for h in hooks if h is not self._hook)
        object.__setattr__(self._layer, self._hooks, rest)
