"""The classes of the wire schema, for tests of the tools of programs too; programs of their own."""

import pytest

import dygraph
from dygraph import static
from program.conftest import pb  # noqa: F401


@pytest.fixture
def own_programs():
    """Default programs, names and scope of the test's own."""
    with (
        static.program_guard(static.Program(), static.Program()),
        dygraph.unique_name.guard(),
        static.scope_guard(static.Scope()),
    ):
        yield
