"""Tests on a device run apart from the others; see cuda_library."""

import os

import pytest

from dygraph import _core

collect_ignore_glob = [] if os.environ.get("DYGRAPH_TEST_CUDA") == "1" else ["test_*.py"]


@pytest.fixture(autouse=True)
def leaves_the_thread_as_it_was():
    """The place and the type of new variables are the thread's; a test may not leave its own."""
    before = _core.current_place(), _core.cast_floats_to()
    yield
    assert (_core.current_place(), _core.cast_floats_to()) == before
