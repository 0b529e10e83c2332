"""State dicts and files."""

import os
import pickle
import zipfile

import numpy as np

import dygraph
from dygraph import nn


def _net(size=3):
    return nn.Sequential(("fc", nn.Linear(size, 4)), ("head", nn.Linear(4, 2)))


def missing_name():
    state = dict(_net().state_dict())
    del state["head.bias"]
    _net().set_state_dict(state)


def unexpected_name():
    _net().set_state_dict({**_net().state_dict(), "extra.weight": np.ones(2, "float32")})


def misspelt_name():
    state = dict(_net().state_dict())
    state["haed.weight"] = state.pop("head.weight")
    _net().set_state_dict(state)


def names_with_a_prefix():
    _net().set_state_dict({f"module.{k}": v for k, v in _net().state_dict().items()})


def another_shape():
    _net().set_state_dict(_net(5).state_dict())


def another_dtype():
    state = {k: v.astype("float64") for k, v in _net().state_dict().items()}
    _net().set_state_dict(state)


def path_where_a_state_is_expected():
    _net().set_state_dict("net.pdparams")


def the_layer_where_a_state_is_expected(folder):
    dygraph.save(_net(), os.path.join(folder, "net"))


def missing_file(folder):
    dygraph.load(os.path.join(folder, "net.safetensors"))


def missing_fluid_file(folder):
    dygraph.load_dygraph(os.path.join(folder, "net"))


def directory_for_a_file(folder):
    dygraph.load(folder)


def empty_file(folder):
    path = os.path.join(folder, "net")
    open(path, "wb").close()
    dygraph.load(path)


def truncated_file(folder):
    path = os.path.join(folder, "net")
    dygraph.save(_net().state_dict(), path)
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 10)
    dygraph.load(path)


def damaged_file(folder):
    path = os.path.join(folder, "net")
    dygraph.save(_net().state_dict(), path)
    with open(path, "r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"\xff\xff")
    dygraph.load(path)


def pickle_file(folder):
    path = os.path.join(folder, "net.pkl")
    with open(path, "wb") as file:
        pickle.dump({"weight": np.ones(2)}, file)
    dygraph.load(path)


def torch_file(folder):
    path = os.path.join(folder, "net.pt")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", pickle.dumps({"weight": 1}))
        archive.writestr("net/data/0", bytes(16))
        archive.writestr("net/version", "3\n")
    dygraph.load(path)


def hdf5_file(folder):
    path = os.path.join(folder, "net.h5")
    with open(path, "wb") as file:
        file.write(b"\x89HDF\r\n\x1a\n" + bytes(100))
    dygraph.load(path)


def npy_file(folder):
    path = os.path.join(folder, "weight.npy")
    np.save(path, np.ones(3))
    dygraph.load(path)


def npz_of_objects(folder):
    path = os.path.join(folder, "net.npz")
    np.savez(path, weight=np.array([{"a": 1}], dtype=object))
    dygraph.load(path)


def function_in_a_state(folder):
    dygraph.save({"net": _net().state_dict(), "act": len}, os.path.join(folder, "net"))


def numbers_for_names(folder):
    dygraph.save({0: np.ones(2)}, os.path.join(folder, "net"))


def empty_state(folder):
    dygraph.save_dygraph({}, os.path.join(folder, "net"))


def file_object_for_a_path():
    dygraph.load(3)


def missing_model_folder(folder):
    dygraph.static.load_inference_model(os.path.join(folder, "model"))
