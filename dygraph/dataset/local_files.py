"""Files of data sets in Fluid's folder, ``~/.cache/paddle/dataset``; nothing is downloaded."""

import os

from dygraph.errors import MissingFileError

__all__ = ["FOLDER", "opened", "path_of"]

FOLDER = os.path.join("~", ".cache", "paddle", "dataset")


def path_of(dataset, file):
    """The path of a data set's file. MissingFileError says where to put it."""
    path = os.path.join(os.path.expanduser(FOLDER), dataset, file)
    if not os.path.exists(path):
        raise MissingFileError(
            f"dataset.{dataset}: the file '{file}' must be at '{path}', got none. Put it there, "
            "since nothing is downloaded"
        )
    return path


def opened(dataset, file):
    """A data set's file for reading bytes, by its name or that with ``.gz``, whichever is there."""
    import gzip

    packed = os.path.join(os.path.expanduser(FOLDER), dataset, f"{file}.gz")
    if os.path.exists(packed):
        return gzip.open(packed, "rb")
    return open(path_of(dataset, file), "rb")
