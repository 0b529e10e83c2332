"""Tests that need Paddle are collected where DYGRAPH_PADDLE_PYTHON names a Python that has it."""

import os

LIVE = ["test_live.py", "test_live_ragged.py"]
collect_ignore = [] if os.environ.get("DYGRAPH_PADDLE_PYTHON") else LIVE
