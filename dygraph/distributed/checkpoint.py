"""Checkpoints of a job: every rank writes a part, and one rename makes them valid together.

A folder holds the newest checkpoints::

    manifest.json                         which files belong to which checkpoint, newest first
    rank-00000/000012.1a2b3c4d.safetensors
    rank-00001/000012.5e6f7081.safetensors

A part is one file of `dygraph.save`, in the safetensors layout with a checksum for every tensor,
named by the number of the save and the checksum of its header. All parts are on disk before the
manifest is replaced by one rename, and what the manifest no longer names is removed after it. So a
crash at any moment leaves the checkpoints from before whole.
"""

import contextlib
import itertools
import json
import os
import re
import warnings
import zlib

import numpy as np

from dygraph import _core, checkpoint, safetensors, saving
from dygraph.core import check, files
from dygraph.distributed import job
from dygraph.distributed.sharded import divide
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.nn import loading

__all__ = ["Checkpoint", "load", "save", "steps"]

_VERSION = 1
_MANIFEST, _KIND = "manifest.json", "dygraph checkpoints"
_FOLDER = re.compile(r"rank-\d{5,}")
_PART = re.compile(r"\d{6,}\.[0-9a-f]{8}\.safetensors")
_LEFT = re.compile(r"\.\d{6,}\..*\.(tmp|dygraph\.next)")  # of a save that was killed
_LARGEST_MANIFEST = 100 << 20


class Checkpoint(checkpoint.Checkpoint):
    """The result of `load`: ``step``, ``extra`` and ``report`` as of `dygraph.checkpoint.load`.

    Parameters
    ----------
    step : int or None
    extra : object
        As saved.
    report : LoadReport
        Which names the model and the files share.
    ranks : int
        The number of ranks that saved it.

    Examples
    --------
    >>> import dygraph, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> dygraph.distributed.checkpoint.save(folder, step=7)
    >>> found = dygraph.distributed.checkpoint.load(folder)
    >>> found.step, found.ranks
    (7, 1)
    """

    def __init__(self, step, extra, report, ranks):
        super().__init__(step, extra, report)
        self.ranks = ranks


# Saving -------------------------------------------------------------------------------------------


def save(
    path, model=None, optimizer=None, scheduler=None, sampler=None, step=None, extra=None,
    random=True, keep=None, comm=None,
):  # fmt: skip
    """Write a checkpoint; all ranks call it, and it returns when the checkpoint is valid.

    The parameters of the model and the optimizer's state are divided among the ranks by size;
    a `ShardedOptimizer` writes what each rank keeps. Buffers, scheduler, step and extra are rank
    0's. Random numbers and the sampler's position are each rank's own.

    Parameters
    ----------
    path : str or os.PathLike
        A folder that all ranks share; it is made if it is not there.
    model, optimizer, scheduler : optional
        Objects with ``state_dict()``, equal on all ranks. An optimizer's state includes its
        scheduler's.
    sampler : DataLoader, DistributedSampler or DistributedBatchSampler, optional
        Its position. With a loader, give the loader.
    step : int, optional
        The number of finished steps, equal on all ranks.
    extra : optional
        Any data that `dygraph.save` takes; rank 0's is written.
    random : bool
        Save the random numbers of dygraph, Python and NumPy of every rank.
    keep : int, optional
        Keep the newest checkpoints only, this one among them; None: all.
    comm : Comm, optional
        None: the ranks of `dygraph.distributed.world`.

    Raises
    ------
    InvalidArgumentError
        Ranks give different steps.
    PreconditionNotMetError
        A rank could not write, or rank 0 does not see what another one wrote: all ranks raise, and
        the checkpoints from before stay valid.

    Examples
    --------
    >>> import dygraph, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> net = dygraph.nn.Linear(2, 2)
    >>> for step in (1, 2, 3):
    ...     dygraph.distributed.checkpoint.save(folder, model=net, step=step, keep=2)
    >>> dygraph.distributed.checkpoint.steps(folder)
    [3, 2]
    """
    path, comm = files.path_of(path, "save"), comm or job.world()
    step = None if step is None else check.integer(step, "save: step", 0)
    keep = None if keep is None else check.integer(keep, "save: keep", 1)

    def begin():
        before = []
        if comm.rank == 0 and os.path.lexists(os.path.join(path, _MANIFEST)):
            before = _manifest(path)
        number = 1 + max((entry["number"] for entry in before), default=0)
        return {"step": step, "number": number, "before": before}

    begun = _together(comm, "save", begin)
    if any(other["step"] != step for other in begun):
        given = ", ".join(f"{other['step']}" for other in begun)
        raise InvalidArgumentError(
            f"save: all ranks must be at the same step, got {given} on ranks 0 to {comm.size - 1}"
        )
    number, before = begun[0]["number"], begun[0]["before"]
    parts = _together(
        comm,
        "save",
        lambda: _write_part(
            path, number, comm.rank,
            _part(comm, model, optimizer, scheduler, sampler, step, extra, random),
        ),
    )  # fmt: skip
    entry = {"number": number, "step": step, "ranks": comm.size, "files": parts}
    _together(comm, "save", lambda: comm.rank == 0 and _commit(path, entry, before, keep))


def _part(comm, model, optimizer, scheduler, sampler, step, extra, random):
    """What this rank writes."""
    mine = {
        "version": _VERSION,
        "model": None if model is None else _part_of_model(model, comm),
        "optimizer": None if optimizer is None else _part_of_optimizer(optimizer, model, comm),
        "sampler": _state_of(sampler, "sampler"),
        "random": checkpoint.random_state() if random else None,
    }
    if comm.rank == 0:
        state = _state_of(scheduler, "scheduler")
        mine.update(scheduler=state, step=step, extra=extra)
    return mine


def _state_of(part, what):
    if part is None:
        return None
    if not hasattr(part, "state_dict"):
        raise ArgumentTypeError(f"checkpoint: {what} must have state_dict(), got {kind_of(part)}")
    return part.state_dict()


def _part_of_model(model, comm):
    """Parameters by size, all else with rank 0: buffers may differ, and belong together."""
    state = _state_of(model, "model")
    own = {id(p) for p in model.parameters()} if hasattr(model, "parameters") else set()
    return _divided(state, [name for name, v in state.items() if id(v) in own], comm)


def _divided(state, names, comm):
    sizes = [int(np.prod(state[name].shape, dtype="int64")) for name in names]
    owners = dict(zip(names, divide(sizes, comm.size), strict=True))
    return {name: v for name, v in state.items() if owners.get(name, 0) == comm.rank}


def _part_of_optimizer(optimizer, model, comm):
    _state_of_kind(optimizer, "optimizer")
    if hasattr(optimizer, "local_state_dict"):
        state = optimizer.local_state_dict()
        tensors = [name for name, v in state.items() if _is_tensor(v)]
        mine = {n: v for n, v in state.items() if comm.rank == 0 or n in tensors}
    else:
        state = optimizer.state_dict()
        mine = _divided(state, [name for name, v in state.items() if _is_tensor(v)], comm)
    return _renamed(mine, optimizer, model, True)


def _state_of_kind(part, what):
    if not hasattr(part, "state_dict"):
        raise ArgumentTypeError(f"checkpoint: {what} must have state_dict(), got {kind_of(part)}")


def _is_tensor(value):
    return isinstance(value, (_core.Variable, np.ndarray))


def _renamed(state, optimizer, model, to_structure):
    """An optimizer's state by the names in the model's state, or back."""
    if model is None or not hasattr(optimizer, "_named"):
        return state
    structure = {id(v): name for name, v in model.state_dict().items()}
    names = {own: structure[id(p)] for own, p in optimizer._named() if id(p) in structure}
    if not to_structure:
        names = {theirs: own for own, theirs in names.items()}
    result = {}
    for key, value in state.items():
        owner, dot, slot = key.rpartition(".")
        result[names.get(owner, owner) + dot + slot] = value
    return result


def _write_part(path, number, rank, part):
    """Write the part of this rank; its line in the manifest."""
    chunks = iter(saving.states.chunks_of(part))
    length, header = next(chunks), next(chunks)
    crc = f"{zlib.crc32(header):08x}"
    name = f"rank-{rank:05}/{number:06}.{crc}.safetensors"
    whole = os.path.join(path, name)
    files.write_atomically(whole, itertools.chain([length, header], chunks))
    return {"name": name, "bytes": os.path.getsize(whole), "header": crc}


def _commit(path, entry, before, keep):
    """Make a manifest with one checkpoint more the valid one, then remove what it does not name."""
    if before != (_manifest(path) if os.path.lexists(os.path.join(path, _MANIFEST)) else []):
        raise PreconditionNotMetError(
            f"save: one job at a time must save in '{path}', but its manifest changed during this "
            "save. Give each job a folder"
        )
    entries = [entry, *before][:keep]
    for part in entry["files"]:
        whole = os.path.join(path, part["name"])
        if not os.path.exists(whole) or os.path.getsize(whole) != part["bytes"]:
            raise PreconditionNotMetError(
                f"save: the folder must be one that all ranks share, but rank 0 does not see "
                f"'{whole}' of {part['bytes']} bytes"
            )
    body = json.dumps(entries, separators=(",", ":"))
    text = json.dumps(
        {
            "kind": _KIND,
            "version": _VERSION,
            "checksum": f"{zlib.crc32(body.encode()):08x}",
            "checkpoints": entries,
        },
        indent=1,
    )
    files.write_atomically(os.path.join(path, _MANIFEST), [text.encode()])
    _clean(path, {part["name"] for entry in entries for part in entry["files"]})


def _clean(path, named):
    """Remove parts that no checkpoint names: of older ones, and of saves that did not end."""
    for folder in sorted(os.listdir(path)):
        if not _FOLDER.fullmatch(folder):
            continue
        inside = os.path.join(path, folder)
        for name in sorted(os.listdir(inside)):
            part = _PART.fullmatch(name) and f"{folder}/{name}" not in named
            if part or _LEFT.fullmatch(name):
                _remove(os.path.join(inside, name))
        with contextlib.suppress(OSError):
            os.rmdir(inside)  # of a rank that is no more


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _together(comm, what, act):
    """Run `act` on every rank; what all ranks give, as JSON. If one raises, all raise."""
    error, text = None, ""
    try:
        text = json.dumps(act())
    except Exception as caught:  # every error must reach the ranks that wait
        error, text = caught, f"{type(caught).__name__}: {caught}"
    state = np.frombuffer(f"{'!' if error else '='}{text}".encode(), "uint8")
    texts = [part.tobytes().decode() for part in comm.all_gather(state)]
    if error is not None:
        raise error
    for rank, other in enumerate(texts):
        if other[0] == "!":
            raise PreconditionNotMetError(f"{what}: rank {rank} failed with {other[1:]}")
    return [json.loads(other[1:]) for other in texts]


# Loading ------------------------------------------------------------------------------------------


def steps(path):
    """The steps of the checkpoints in a folder, newest first; none where there is no manifest.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    list of int or None

    Raises
    ------
    FormatError
        The manifest is damaged.

    Examples
    --------
    >>> import dygraph, tempfile
    >>> dygraph.distributed.checkpoint.steps(tempfile.mkdtemp())
    []
    """
    path = files.path_of(path, "steps")
    if not os.path.lexists(os.path.join(path, _MANIFEST)):
        return []
    return [entry["step"] for entry in _manifest(path)]


def load(
    path, model=None, optimizer=None, scheduler=None, sampler=None, strict=True, random=True,
    step=None, comm=None,
):  # fmt: skip
    """Restore the newest checkpoint of a folder, at any number of ranks. All ranks call it.

    Every rank reads all parts and keeps what it needs: the whole model, of a `ShardedOptimizer` its
    part. Where another number of ranks saved the checkpoint, the rest of the epoch is divided anew
    (`DistributedSampler`), and random numbers go on as follows, which a warning says: rank r
    continues those of rank r, and a rank that the checkpoint does not know keeps its own.

    Parameters
    ----------
    path : str or os.PathLike
    model, optimizer, scheduler, sampler : optional
        Objects to restore; None skips a part.
    strict : bool
        True: names and shapes of the model must agree. False: values that fit are written, and the
        report lists the others.
    random : bool
        Set the random numbers, if the checkpoint holds them.
    step : int, optional
        That of the checkpoint; None: the newest one's.
    comm : Comm, optional
        None: the ranks of `dygraph.distributed.world`.

    Returns
    -------
    Checkpoint

    Raises
    ------
    MissingFileError
        There is no checkpoint, or a part of it is missing; it is named.
    FormatError
        The manifest or a part, which is named, is damaged.
    InvalidArgumentError
        The checkpoint lacks a part, or names or shapes do not agree. Checked before any value is
        written.

    Examples
    --------
    >>> import dygraph, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> net, other = dygraph.nn.Linear(2, 2), dygraph.nn.Linear(2, 2)
    >>> dygraph.distributed.checkpoint.save(folder, model=net, step=7)
    >>> dygraph.distributed.checkpoint.load(folder, model=other).step
    7
    >>> other.weight.tolist() == net.weight.tolist()
    True
    """
    path, comm = files.path_of(path, "load"), comm or job.world()
    step = None if step is None else check.integer(step, "load: step", 0)
    found = _together(comm, "load", lambda: _chosen(path, step) if comm.rank == 0 else None)
    entry, state, report = found[0], {}, None
    targets = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "sampler": sampler}

    def read():
        state.update(_joined(path, entry, targets, comm))
        _check(path, state, targets, strict)

    _together(comm, "load", read)

    def apply():
        nonlocal report
        if optimizer is not None:
            optimizer.set_state_dict(state["optimizer"])
        for part, name in ((scheduler, "scheduler"), (sampler, "sampler")):
            if part is not None:
                part.set_state_dict(state[name])
        if model is not None:
            report = model.set_state_dict(state["model"], strict=strict)
        if random and state["random"] is not None:
            checkpoint.set_random_state(state["random"])

    _together(comm, "load", apply)
    if random and state["has_random"] and comm.rank == 0:
        _tell_of_random(entry["ranks"], comm.size)
    return Checkpoint(entry["step"], state["extra"], report, entry["ranks"])


def _tell_of_random(before, now):
    if before == now:
        return
    rest = (
        f"those of ranks {now} to {before - 1} are dropped"
        if before > now
        else f"ranks {before} to {now - 1} keep the random numbers that they have"
    )
    warnings.warn(
        f"load: {before} ranks saved the checkpoint and {now} go on: ranks 0 to "
        f"{min(before, now) - 1} continue their random numbers, and {rest}",
        stacklevel=3,
    )


def _manifest(path):
    """The checkpoints of a folder, newest first; everything in it is checked."""
    whole = os.path.join(path, _MANIFEST)
    try:
        file = files.open_regular(whole)
    except MissingFileError:
        raise MissingFileError(
            f"checkpoint: there must be one of distributed.checkpoint.save in '{path}', got no "
            f"{_MANIFEST}"
        ) from None
    with file:
        size = os.fstat(file.fileno()).st_size
        data = bytearray(min(size, _LARGEST_MANIFEST))
        files.read_exactly(file, data, "a manifest")
    try:
        found = safetensors.parse_json(data.decode())
        entries = found["checkpoints"]
        if found["kind"] != _KIND:
            raise ValueError(f"kind {found['kind']!r:.40}")
        if found["version"] != _VERSION:
            raise FormatError(
                f"'{whole}' must be of version {_VERSION}, got {found['version']!r:.40}"
            )
        body = json.dumps(entries, separators=(",", ":"))
        if found["checksum"] != f"{zlib.crc32(body.encode()):08x}" or not entries:
            raise ValueError("another checksum than it gives")
        for entry in entries:
            _check_entry(entry)
    except FormatError as error:
        raise FormatError(f"{error}\nin the file '{whole}'") from None
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"'{whole}' must be a manifest of distributed.checkpoint.save, got a damaged or "
            f"another one: {error!r:.100}"
        ) from None
    return entries


def _check_entry(entry):
    number, step, ranks, parts = (entry[k] for k in ("number", "step", "ranks", "files"))
    fine = type(number) is int and type(ranks) is int and ranks == len(parts) > 0
    fine = fine and (step is None or (type(step) is int and step >= 0))
    for part in parts:
        folder, _, name = part["name"].partition("/")
        fine = fine and _FOLDER.fullmatch(folder) and _PART.fullmatch(name)
        fine = fine and type(part["bytes"]) is int and type(part["header"]) is str
    if not fine:
        raise ValueError(f"an entry {entry!r:.60}")


def _chosen(path, step):
    entries = _manifest(path)
    for entry in entries:
        if step is None or entry["step"] == step:
            return entry
    raise InvalidArgumentError(
        f"load: the step must be one of the checkpoints in '{path}', "
        f"{', '.join(str(entry['step']) for entry in entries)}, got {step}"
    )


def _joined(path, entry, targets, comm):
    """The parts of all ranks as one state, with the random numbers and position of this one."""
    model, optimizer = targets["model"], targets["optimizer"]
    whole = {"model": {}, "optimizer": {}, "random": None, "has_random": False}
    positions = []
    for rank, part in enumerate(entry["files"]):
        state = _read_part(path, part, rank, entry)
        if rank == 0:
            whole.update({name: state.get(name) for name in ("scheduler", "extra")})
        for name in ("model", "optimizer"):
            given = state.get(name)
            if given is None:
                whole[name] = None
            elif targets[name] is not None:
                if name == "optimizer":
                    given = _renamed(given, optimizer, model, False)
                    if hasattr(optimizer, "part_of"):
                        given = optimizer.part_of(given)
                whole[name].update(given)
        positions.append(state.get("sampler"))
        whole["has_random"] |= state.get("random") is not None
        if rank == comm.rank:
            whole["random"] = state.get("random")
    whole["sampler"] = positions[comm.rank if entry["ranks"] == comm.size else 0]
    whole["moves"] = entry["ranks"] == comm.size or all(p == positions[0] for p in positions)
    return whole


def _read_part(path, part, rank, entry):
    whole = os.path.join(path, part["name"])
    what = f"checkpoint of step {entry['step']}: the part of rank {rank}, '{whole}',"
    try:
        with files.open_regular(whole) as file:
            size = os.fstat(file.fileno()).st_size
            length = bytearray(8)
            files.read_exactly(file, length, "the length of a header")
            count = int.from_bytes(length, "little")
            header = bytearray(min(count, max(0, size - 8)))
            files.read_exactly(file, header, "a header")
        if size != part["bytes"] or f"{zlib.crc32(header):08x}" != part["header"]:
            raise FormatError(
                f"must be the {part['bytes']} bytes that were saved, got {size}, or another header"
            )
        state = saving.load(whole)
    except MissingFileError:
        raise MissingFileError(
            f"{what} must be there, got no such file. An older checkpoint loads with step="
        ) from None
    except FormatError as error:
        raise FormatError(
            f"{what} is damaged: {error}\nAn older checkpoint loads with step="
        ) from None
    if not isinstance(state, dict) or state.get("version") != _VERSION:
        raise FormatError(f"{what} must be of version {_VERSION}")
    return state


def _check(path, state, targets, strict):
    """Refuse what does not fit before a value is written."""
    for name, target in targets.items():
        if target is None:
            continue
        _state_of_kind(target, name)
        if not isinstance(state.get(name), dict):
            raise InvalidArgumentError(
                f"load: the checkpoint in '{path}' must hold the state of the {name}, got none"
            )
    if targets["sampler"] is not None and not state["moves"]:
        raise InvalidArgumentError(
            "load: the positions of the ranks' samplers must be equal to be divided anew, got "
            "different ones. Load at the number of ranks that saved, or give sampler=None"
        )
    model = targets["model"]
    if model is not None and strict:
        report = loading.compare(model.state_dict(), state["model"])
        if report:
            loading.refuse(type(model).__name__, report)
