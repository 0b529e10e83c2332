"""Saving and loading: states and other nested data, Fluid's parameter files, NumPy archives.

`save` writes one safetensors file. The file of a flat dict of tensors, such as a layer's
``state_dict``, holds only these, so any reader of the layout can read it. Nested data is stored as
JSON beside the tensors. No data is executed when it is read, and no pickle is written or read.
"""

import json
import math
import os

import numpy as np

from dygraph import _core, safetensors
from dygraph.core import files
from dygraph.core.variable import Parameter
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    kind_of,
)
from dygraph.saving import npz

__all__ = [
    "load",
    "load_dygraph",
    "load_fluid_params",
    "save",
    "save_dygraph",
    "save_fluid_params",
]

_TREE = "dygraph.tree"
_DEEPEST = 32


# Nested data as JSON and tensors ------------------------------------------------------------------


def _at(path):
    return f" at '{'.'.join(path)}'" if path else ""


class _Encoder:
    """Turns nested data into JSON that refers to tensors by name."""

    def __init__(self):
        self.tensors = {}

    def encode(self, value, path=(), depth=0):
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, (_core.Variable, np.ndarray)):
            return self._tensor(value, path)
        if depth >= _DEEPEST:
            raise InvalidArgumentError(
                f"save: data must be nested at most {_DEEPEST} deep, got more at "
                f"'{'.'.join(path[:4])}...'"
            )
        if isinstance(value, (list, tuple)):
            items = [self.encode(v, (*path, str(i)), depth + 1) for i, v in enumerate(value)]
            return items if isinstance(value, list) else {"$tuple": items}
        if hasattr(value, "keys"):
            return self._dict(value, path, depth)
        raise ArgumentTypeError(
            "save: data must be Variables, arrays, numbers, strings, None, and lists, tuples and "
            f"dicts of them, got {kind_of(value)}{_at(path)}."
            f"{' Save its state_dict()' if hasattr(value, 'state_dict') else ''}".rstrip(".")
        )

    def _dict(self, value, path, depth):
        result = {}
        for key in value.keys():
            if not isinstance(key, str):
                raise ArgumentTypeError(
                    f"save: names in a dict must be strings, got {kind_of(key)}{_at(path)}"
                )
            escaped = "$" + key if key.startswith("$") else key
            result[escaped] = self.encode(value[key], (*path, key), depth + 1)
        return result

    def _tensor(self, value, path):
        first = name = ".".join(path) or "value"
        number = 2
        while name in self.tensors:
            name, number = f"{first}#{number}", number + 1
        self.tensors[name] = value
        lod = value.lod() if isinstance(value, _core.Variable) else []
        return {"$tensor": name, "lod": lod} if lod else {"$tensor": name}


class _Decoder:
    def __init__(self, tensors):
        self.tensors, self.unused = tensors, set(tensors)

    def decode(self, value, depth=0):
        if depth > _DEEPEST + 2:
            raise FormatError(
                f"damaged file: data must be nested at most {_DEEPEST} deep, got more"
            )
        if isinstance(value, list):
            return [self.decode(v, depth + 1) for v in value]
        if not isinstance(value, dict):
            return value
        special = next((k for k in ("$tensor", "$tuple", "$float") if k in value), None)
        if special == "$tensor":
            return self._tensor(value)
        if special is not None and len(value) == 1:
            item = value[special]
            if special == "$tuple" and isinstance(item, list):
                return tuple(self.decode(item, depth))
            if special == "$float" and item in ("nan", "inf", "-inf"):
                return float(item)
        if special is not None:
            raise FormatError(f"damaged file: an object with '{special}' must hold its value alone")
        return {k[1:] if k[:1] == "$" else k: self.decode(v, depth + 1) for k, v in value.items()}

    def _tensor(self, value):
        name = value["$tensor"]
        if not isinstance(name, str) or name not in self.tensors or set(value) - {"$tensor", "lod"}:
            raise FormatError(f"damaged file: there must be a tensor for '{name!s:.60}'")
        self.unused.discard(name)
        tensor = self.tensors[name]
        if "lod" in value:
            try:
                tensor.set_lod(value["lod"])
            except (TypeError, ValueError, IndexError, OverflowError) as error:
                raise FormatError(f"damaged file: the LoD of '{name}' must fit. {error}") from None
        return tensor


def save(obj, path):
    """Write a state or other nested data to one safetensors file, in one step.

    A name that ends in ``.npz`` gives a NumPy archive, which holds only arrays by name.

    Parameters
    ----------
    obj : dict, list, Variable, ...
        Variables, arrays, numbers, strings, None, and lists, tuples and dicts (by strings) of them.
        Level of detail is kept.
    path : str or os.PathLike
        Its directory is made if it is not there.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        For other values, with their position, and for a file name of another format (``.npy``,
        ``.h5``, ``.pkl``); no file is written.

    Notes
    -----
    A Variable is saved with its values at the call, even if other threads write to it.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.safetensors")
    >>> net = dygraph.nn.Linear(2, 3)
    >>> dygraph.save({"net": net.state_dict(), "epoch": 4}, path)
    >>> loaded = dygraph.load(path)
    >>> loaded["epoch"], loaded["net"]["weight"].shape
    (4, (2, 3))
    """
    path = files.path_of(path, "save")
    ending = os.path.splitext(path)[1].lower()
    if ending in _FOREIGN:
        raise InvalidArgumentError(
            f"save: the file's ending must not name another format, got '{path}'. The file would "
            f"not be {_FOREIGN[ending]}: write .safetensors, or .npz for a dict of arrays"
        )
    files.write_atomically(path, npz.chunks_of(obj) if ending == ".npz" else chunks_of(obj))


def chunks_of(obj):
    """The bytes that `save` writes, buffer by buffer; all values are checked before the first."""
    encoder = _Encoder()
    tree = encoder.encode(obj)
    flat = isinstance(obj, dict) and tree == {
        k: {"$tensor": k} for k in encoder.tensors if not k.startswith("$")
    }
    metadata = None if flat else {_TREE: json.dumps(tree, separators=(",", ":"))}
    return safetensors.chunks_of(encoder.tensors, metadata)


_FOREIGN = {
    ".npy": "a NumPy array", ".h5": "HDF5", ".hdf5": "HDF5", ".keras": "a Keras model",
    ".pkl": "a pickle", ".pickle": "a pickle", ".json": "JSON", ".onnx": "an ONNX model",
}  # fmt: skip
_OTHERS = (
    (b"\x89HDF", "HDF5", "Save its arrays with numpy.savez"),
    (b"\x93NUMPY", "one NumPy array", "Read it with numpy.load"),
    (b"\x1f\x8b", "a gzip file", "Unpack it first"),
)


def load(path, **others):
    """Read a file of `save`, a safetensors file, or a NumPy ``.npz`` archive.

    The first bytes of the file determine its format, not its name.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    dict of str to Variable, or what was saved
        Arrays are read as Variables.

    Raises
    ------
    MissingFileError
        (a FileNotFoundError) where there is no such file.
    FormatError
        (a ValueError) for damaged files and other formats. A pickle is refused.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> dygraph.save([dygraph.to_variable([1.0]), {"rate": 0.5}], path)
    >>> dygraph.load(path)[1]
    {'rate': 0.5}
    """
    for name in others:
        fix = "; it needs none, since values lie on the current place and no code is read"
        fix = fix if name in ("map_location", "weights_only", "mmap", "pickle_module") else ""
        raise ArgumentTypeError(f"load() got an unexpected argument '{name}'{fix}")
    path = files.path_of(path, "load")
    with files.open_regular(path) as file:
        start = file.read(8)
    for magic, kind, fix in _OTHERS:
        if start.startswith(magic):
            raise FormatError(
                f"load: '{path}' must be a safetensors file or an .npz archive, got {kind}. {fix}"
            )
    if start[:2] == b"PK":
        return npz.load(path)
    tensors, metadata = safetensors.read(path)
    if _TREE not in metadata:
        return tensors
    decoder = _Decoder(tensors)
    result = decoder.decode(safetensors.parse_json(metadata[_TREE]))
    if decoder.unused:
        raise FormatError(
            f"damaged file: the data must use every tensor, but not '{min(decoder.unused)}'"
        )
    return result


# Fluid --------------------------------------------------------------------------------------------


def save_dygraph(state_dict, model_path):
    """Fluid's ``save_dygraph``: a layer's state goes to ``model_path + '.pdparams'``.

    A state without a Parameter, an optimizer's, goes to ``model_path + '.pdopt'``. The files are
    those of `save`; Fluid's were pickles.

    Parameters
    ----------
    state_dict : dict
        Of a layer or an optimizer; not empty.
    model_path : str or os.PathLike
        Directory and prefix of the name.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net")
    >>> dygraph.save_dygraph(dygraph.nn.Linear(2, 3).state_dict(), path)
    >>> os.path.exists(path + ".pdparams")
    True
    """
    model_path = files.path_of(model_path, "save_dygraph")
    if not os.path.basename(model_path):
        raise InvalidArgumentError(
            f"save_dygraph: model_path must end with the prefix of a file name, got '{model_path}'"
        )
    if not hasattr(state_dict, "keys"):
        raise ArgumentTypeError(
            f"save_dygraph: state_dict must be a dict, got {kind_of(state_dict)}"
        )
    if not state_dict:
        raise InvalidArgumentError("save_dygraph: state_dict must not be empty, got {}")
    is_layer = any(isinstance(v, Parameter) for v in state_dict.values())
    save(state_dict, model_path + (".pdparams" if is_layer else ".pdopt"))


def load_dygraph(model_path, keep_name_table=False):
    """Fluid's ``load_dygraph``: both states that `save_dygraph` wrote for `model_path`.

    Parameters
    ----------
    model_path : str or os.PathLike
        With or without ``.pdparams`` or ``.pdopt``.
    keep_name_table : bool
        Fluid's; not used.

    Returns
    -------
    tuple
        (state of the layer, state of the optimizer); None for one that was not saved.

    Raises
    ------
    MissingFileError
        If neither file exists.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net")
    >>> dygraph.save_dygraph(dygraph.nn.Linear(2, 3).state_dict(), path)
    >>> state, of_optimizer = dygraph.load_dygraph(path)
    >>> state["weight"].shape, of_optimizer
    ((2, 3), None)
    """
    base = files.path_of(model_path, "load_dygraph")
    for suffix in (".pdparams", ".pdopt"):
        if base.endswith(suffix):
            base = base[: -len(suffix)]
    states = []
    for suffix in (".pdparams", ".pdopt"):
        try:
            states.append(load(base + suffix))
        except MissingFileError:
            states.append(None)
    if states == [None, None]:
        raise MissingFileError(
            f"load_dygraph: there must be '{base}.pdparams' or '{base}.pdopt', got neither"
        )
    return tuple(states)


def _names_of(names, what):
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise ArgumentTypeError(f"{what}: names must be a list of names, got {kind_of(names)}")
    names = list(names)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{what}: a name must be a string, got {kind_of(name)}")
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f"{what}: names must not repeat, got {names}")
    return names


def load_fluid_params(path, names=None):
    """Read parameters that Fluid's ``save_params`` or ``save_persistables`` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        A directory with a file for each parameter, named as it is; or, for Fluid's
        ``filename=...``, the one file with all of them.
    names : list of str, optional
        For a directory: the parameters to read (None: all files except ``__model__``). For one
        file, which has no names: the names of all its parameters in the saved order, which Fluid
        sorts.

    Returns
    -------
    dict of str to Variable
        With their level of detail.

    Raises
    ------
    MissingFileError
        For a missing directory or parameter.
    FormatError
        For a file that is damaged, is a link, or holds more or fewer tensors than named.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save_fluid_params({"fc.w_0": dygraph.to_variable([1.0, 2.0])}, folder)
    >>> load_fluid_params(folder)["fc.w_0"].numpy()
    array([1., 2.], dtype=float32)
    """
    path = files.path_of(path, "load_fluid_params")
    if names is not None:
        names = _names_of(names, "load_fluid_params")
    if not os.path.lexists(path):
        raise MissingFileError(f"load_fluid_params: the path must exist, got '{path}'")
    if not os.path.isdir(path):
        if names is None:
            raise InvalidArgumentError(
                f"load_fluid_params: the names of the parameters in '{path}' must be given: the "
                "file does not hold them"
            )
        folder, name = os.path.split(path)
        return dict(zip(names, _core.read_tensors(folder, name, len(names)), strict=True))
    if names is None:
        names = sorted(n for n in os.listdir(path) if n != "__model__" and n[0] != ".")
    return dict(zip(names, _core.read_tensor_files(path, names), strict=True))


def save_fluid_params(state_dict, path, filename=None):
    """Write Variables as Fluid keeps parameters, for programs that read its files.

    Parameters
    ----------
    state_dict : dict of str to Variable
    path : str or os.PathLike
        A directory, made if it does not exist.
    filename : str, optional
        None: a file for each, named as its Variable. Else one file, sorted by name.

    Examples
    --------
    >>> import dygraph, os, tempfile
    >>> path = tempfile.mkdtemp()
    >>> dygraph.save_fluid_params(dygraph.nn.Linear(2, 3).state_dict(), path)
    >>> sorted(os.listdir(path))
    ['bias', 'weight']
    """
    path = files.path_of(path, "save_fluid_params")
    if not hasattr(state_dict, "items"):
        raise ArgumentTypeError(
            f"save_fluid_params: state_dict must be a dict, got {kind_of(state_dict)}"
        )
    for name, value in state_dict.items():
        if not isinstance(name, str) or not isinstance(value, _core.Variable):
            raise ArgumentTypeError(
                "save_fluid_params: state_dict must hold Variables by name, got "
                f"{kind_of(value)} as {kind_of(name)}"
            )
    if filename is not None:
        _core.write_tensors(path, filename, [state_dict[n] for n in sorted(state_dict)])
        return
    files.write_together(path, {name: [value] for name, value in state_dict.items()})
