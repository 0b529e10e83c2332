"""Every test describes programs of its own, and runs them in a scope of its own."""

import pytest

import dygraph
from dygraph import static


@pytest.fixture(autouse=True)
def own_programs():
    """Default programs, names and scope of the test's own."""
    with (
        static.program_guard(static.Program(), static.Program()),
        dygraph.unique_name.guard(),
        static.scope_guard(static.Scope()),
    ):
        yield


@pytest.fixture
def run():
    """run(fetches, **feeds): the values, of the default main program."""

    def run(*fetches, **feeds):
        return static.Executor().run(feed=feeds, fetch_list=list(fetches))

    return run
