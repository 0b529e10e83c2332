"""Lists and dicts that show a program: reading is as ever, an edit raises and names the call.

They are made of what the program holds, so that an edit of the list itself would leave the program,
its bytes and its runs as they were.
"""

from dygraph.errors import UnimplementedError

_WORDS = {
    "__delitem__": "del", "__iadd__": "+=", "__imul__": "*=", "__ior__": "|=",
    "__setitem__": "assignment",
}  # fmt: skip


class _Shown:
    __slots__ = ()

    def __reduce__(self):
        plain = self.__class__.__mro__[2]  # copies and pickles are the reader's own
        return plain, (plain(self),)


class ShownList(_Shown, list):
    """A list whose edits raise UnimplementedError; `what` it is, and `fix`, the call to write."""

    __slots__ = ("what", "fix")

    def __init__(self, values=(), what="", fix=""):
        list.__init__(self, values)
        self.what, self.fix = what, fix


class ShownDict(_Shown, dict):
    """The same of a dict."""

    __slots__ = ("what", "fix")

    def __init__(self, values=(), what="", fix=""):
        dict.__init__(self, values)
        self.what, self.fix = what, fix


def refuse(what, how, fix):
    """Raise the error of an edit that would change nothing."""
    raise UnimplementedError(f"{what}: {how} would leave the program as it was. Write {fix}")


def _refusing(name):
    def method(self, *args, **kwargs):
        refuse(self.what, _WORDS.get(name, f"{name}()"), self.fix)

    method.__name__ = name
    return method


_EDITS = {
    ShownList: "append clear extend insert pop remove reverse sort __delitem__ __iadd__ __imul__ "
    "__setitem__",
    ShownDict: "clear pop popitem setdefault update __delitem__ __ior__ __setitem__",
}
for _class, _names in _EDITS.items():
    for _name in _names.split():
        setattr(_class, _name, _refusing(_name))


def shown(value, what, fix):
    """Lists and dicts, also inside dicts, as such; anything else as it is."""
    if type(value) is list:
        return ShownList(value, what, fix)
    if type(value) is dict:
        return ShownDict({k: shown(v, what, fix) for k, v in value.items()}, what, fix)
    return value
