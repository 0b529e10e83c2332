"""The classes of the wire schema, for tests of the tools of programs too."""

from program.conftest import pb  # noqa: F401
