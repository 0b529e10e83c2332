"""Tests that need Paddle are collected where DYGRAPH_PADDLE_PYTHON names a Python that has it."""

import os

collect_ignore = [] if os.environ.get("DYGRAPH_PADDLE_PYTHON") else ["test_live.py"]
