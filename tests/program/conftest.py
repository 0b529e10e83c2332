"""The Python classes of the wire schema, as protobuf itself makes them."""

import pathlib
import sys

import pytest
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def pb(tmp_path_factory):
    """The Python classes of framework.proto, made by protoc."""
    out = tmp_path_factory.mktemp("proto")
    folder = ROOT / "csrc" / "program"
    status = protoc.main(["", f"-I{folder}", f"--python_out={out}", "framework.proto"])
    assert status == 0
    sys.path.insert(0, str(out))
    try:
        import framework_pb2
    finally:
        sys.path.remove(str(out))
    return framework_pb2
