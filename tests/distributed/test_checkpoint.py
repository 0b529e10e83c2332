"""Checkpoints of jobs: killed at every point of a save, resumed, loaded at other sizes."""

import itertools
import os
import pathlib
import shutil
import signal
import warnings

import numpy as np
import pytest

import dygraph
from dygraph import distributed, io, nn, optimizer
from dygraph.core import files
from dygraph.distributed import checkpoint
from dygraph.distributed.comm import Comm
from dygraph.distributed.local import Local
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    PreconditionNotMetError,
)
from jobs import start_job

TRAIN = """
import hashlib, random, signal, time, warnings
from dygraph.distributed import checkpoint
warnings.simplefilter("ignore")
folder, last = os.environ["CKPT"], int(os.environ.get("LAST", 12))
dygraph.seed(100 + comm.rank)  # other dropout on each rank
random.seed(comm.rank)
with dygraph.guard():
    dygraph.seed(7)
    net = dygraph.nn.Sequential(
        dygraph.nn.Linear(4, 16), dygraph.nn.BatchNorm1D(16, act="relu"), dygraph.nn.Dropout(0.3),
        dygraph.nn.Linear(16, 1))
dygraph.seed(100 + comm.rank)
distributed.convert_sync_batchnorm(net)
rate = dygraph.lr.StepDecay(0.05, step_size=3)
adam = dygraph.optimizer.Adam(rate, parameter_list=net.parameters(),
                              grad_clip=dygraph.nn.ClipGradByGlobalNorm(0.5))
adam = distributed.ShardedOptimizer(adam, average_gradients=True)
data = np.random.RandomState(0).randn(26, 4).astype("float32")
pairs = [(i, data[i]) for i in range(26)]
sampler = io = dygraph.io.DistributedBatchSampler(pairs, 4, shuffle=True, seed=3)
loader = dygraph.io.DataLoader(pairs, batch_sampler=sampler, num_workers=2, seed=1)
step, seen, text = 0, {}, ""
if checkpoint.steps(folder):
    found = checkpoint.load(folder, model=net, optimizer=adam, sampler=loader)
    step, seen = found.step, found.extra["seen"]
begun = step
if os.environ.get("KILL") == "save":  # rank 1 has written its part of step 8
    write = checkpoint._write_part
    def killed(*given):
        write(*given)
        if step == 8 and comm.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(*given)
    checkpoint._write_part = killed
while step < last:
    for ids, x in loader:
        loss = (net(x) - x.sum(-1, keepdim=True)).square().mean()
        loss.backward()
        if os.environ.get("KILL") == f"{step} {comm.rank}":
            os.kill(os.getpid(), signal.SIGKILL)
        adam.step()
        adam.clear_gradients()
        rate.step()
        step += 1
        both = [n for part in comm.all_gather(ids.numpy()) for n in part.tolist()]
        assert str(step) not in seen
        seen[str(step)] = both
        if step % 2 == 0:
            checkpoint.save(folder, model=net, optimizer=adam, sampler=loader, step=step,
                            extra={"seen": seen}, keep=2)
        if step == last:
            break
whole = hashlib.sha256()
for v in [*net.state_dict().values(), *(adam.state_dict()[k] for k in sorted(adam.state_dict())
                                       if k != "LR_Scheduler")]:
    whole.update(np.ascontiguousarray(v.numpy()).tobytes())
result = dict(begun=begun, step=step, seen=seen, values=whole.hexdigest(), rate=rate.get_lr(),
              steps=checkpoint.steps(folder), next=[random.random(), dygraph.rand([2]).tolist()])
"""


def train(ranks, folder, where, **env):
    where.mkdir()
    return start_job(ranks, TRAIN, where, env={"CKPT": str(folder), **env})


def test_a_killed_rank_loses_no_step_and_counts_none_twice(tmp_path):
    whole = train(2, tmp_path / "whole", tmp_path / "1")
    assert whole.code == 0, whole.err
    folder = tmp_path / "killed"
    # in the middle of step 7, whose gradients rank 0 may have sent: step 6 is on disk
    killed = train(2, folder, tmp_path / "2", KILL="7 1")
    assert killed.code != 0 and killed.results == [None, None]
    assert checkpoint.steps(folder) == [6, 4]
    copy = shutil.copytree(folder, tmp_path / "copy")
    killed = train(2, folder, tmp_path / "3", KILL="save")
    assert killed.code != 0 and checkpoint.steps(folder) == [6, 4]
    assert len(list((folder / "rank-00001").iterdir())) == 3
    resumed = train(2, folder, tmp_path / "4")
    assert resumed.code == 0, resumed.err
    assert len(list((folder / "rank-00001").iterdir())) == 2
    for a, b in zip(whole.results, resumed.results, strict=True):
        assert (a["begun"], b["begun"]) == (0, 6) and len(a["seen"]) == 12
        for key in ("step", "seen", "values", "rate", "steps", "next"):
            assert a[key] == b[key], key
    assert whole.results[0]["next"] != whole.results[1]["next"]
    # epoch 1 has steps 1 to 4, of 8 samples and of the last 2; the rest of epoch 2 for other ranks
    for ranks in (1, 3):
        other = train(
            ranks, shutil.copytree(copy, tmp_path / f"of_{ranks}"), tmp_path / f"r{ranks}"
        )
        assert other.code == 0, other.err
        got = other.results[0]
        assert (got["begun"], got["step"]) == (6, 12)
        seen = [n for k in range(5, 13) for n in got["seen"][str(k)]]
        pad = -(26 - 16) % ranks  # 16 samples were read before
        epoch, after = seen[: 26 + pad], seen[26 + pad :]
        assert sorted({*epoch}) == list(range(26)) and len(epoch) == 26 + pad and after, ranks
        assert len({r["values"] for r in other.results}) == 1


SHARDS = """
from dygraph.distributed import checkpoint
import warnings
def made(seed):
    dygraph.seed(seed)
    first, last = dygraph.nn.Linear(5, 7), dygraph.nn.Linear(7, 3)
    net = dygraph.nn.Sequential(first, dygraph.nn.BatchNorm1D(7), last)
    return net, dygraph.optimizer.Adam(0.1, parameter_list=net.parameters())
folder = os.environ["CKPT"]
net, adam = made(1 + (os.environ["DO"] == "load"))
if os.environ["DO"] == "save":
    sharded = distributed.ShardedOptimizer(adam)
    for step in range(2):
        x = dygraph.to_variable(np.random.RandomState(step).randn(6, 5).astype("float32"))
        net(x).square().sum().backward()
        sharded.step()
        sharded.clear_gradients()
    np.random.seed(comm.rank)
    checkpoint.save(folder, model=net, optimizer=sharded, step=2)
    state = sharded.state_dict()
    numbers = [np.random.rand()]
    texts = []
    for bad in (dict(step=comm.rank), dict(sampler=object() if comm.rank == 1 else None),
                dict(model=1 if comm.rank == 0 else net)):
        try:
            checkpoint.save(folder, **bad)
        except dygraph.errors.DygraphError as error:
            texts.append(f"{type(error).__name__}: {error}")
else:
    texts = []
    sharded = adam if os.environ.get("WHOLE") else distributed.ShardedOptimizer(adam)
    np.random.seed(50 + comm.rank)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint.load(folder, model=net, optimizer=sharded)
    texts = [str(w.message) for w in caught]
    state = sharded.state_dict()
    numbers = [np.random.rand()]
result = dict(net={k: v.tolist() for k, v in net.state_dict().items()}, numbers=numbers,
              state=[v.tolist() for v in state.values()], texts=texts,
              files=[[part["name"] for part in e["files"]] for e in json.loads(
                  pathlib.Path(folder, "manifest.json").read_text())["checkpoints"]])
"""


def shards(ranks, folder, where, **env):
    where.mkdir()
    return start_job(ranks, SHARDS, where, env={"CKPT": str(folder), **env})


def test_four_ranks_save_and_others_load(tmp_path):
    saved = shards(4, tmp_path / "c", tmp_path / "4", DO="save")
    assert saved.code == 0, saved.err
    first = saved.results[0]
    (names,) = first["files"]
    assert [name.split(".")[0] for name in names] == [f"rank-0000{r}/000001" for r in range(4)]
    assert "at the same step, got 0, 1, 2, 3 on ranks 0 to 3" in first["texts"][0]
    assert "rank 1 failed with ArgumentTypeError" in first["texts"][1]
    assert saved.results[1]["texts"][1].startswith("ArgumentTypeError: checkpoint: sampler must")
    assert "model must have state_dict()" in first["texts"][2]
    assert "rank 0 failed with" in saved.results[3]["texts"][2]
    sizes = [(tmp_path / "c" / f).stat().st_size for f in names]
    assert checkpoint.steps(tmp_path / "c") == [2]
    for ranks, env in ((2, {}), (1, {"WHOLE": "1"})):
        loaded = shards(ranks, tmp_path / "c", tmp_path / f"l{ranks}", DO="load", **env)
        assert loaded.code == 0, loaded.err
        for rank, got in enumerate(loaded.results):
            assert got["net"] == first["net"] and got["state"] == first["state"]
            assert got["numbers"] == saved.results[rank]["numbers"]
        (text,) = loaded.results[0]["texts"]
        assert text.startswith(f"load: 4 ranks saved the checkpoint and {ranks} go on: ranks 0 to")
        assert text.endswith(f"those of ranks {ranks} to 3 are dropped")
    assert max(sizes) < 25_000  # random numbers are 10 kB of each
    grown = shards(3, pathlib.Path(shutil.copytree(tmp_path / "c", tmp_path / "d")), tmp_path / "g",
                   DO="save")  # fmt: skip
    assert grown.code == 0, grown.err
    assert [len(part) for part in grown.results[0]["files"]] == [3, 4]


# One process --------------------------------------------------------------------------------------


def net_of(value):
    net = nn.Linear(2, 2)
    net.weight.set_value(np.full((2, 2), value, "float32"))
    return net


def in_child(act):
    """Run in a forked process; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(7)
    return os.waitpid(child, 0)[1]


def test_a_save_that_is_killed_anywhere_leaves_a_whole_checkpoint(tmp_path):
    """The process is killed at each of the points between all writes, renames and removals."""

    def save(kill_at):
        points = itertools.count(1)

        def point():
            if next(points) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        write, remove = files.write_atomically, checkpoint._remove

        def watched(path, chunks):
            def halves():
                for chunk in chunks:
                    view = memoryview(chunk).cast("B")
                    for half in (view[: len(view) // 2], view[len(view) // 2 :]):
                        point()
                        yield half
                point()

            write(path, halves())
            point()

        files.write_atomically = watched
        checkpoint._remove = lambda path: (point(), remove(path), point())
        checkpoint.save(tmp_path, model=net_of(2.0), step=2, keep=1)
        os._exit(0)

    found, net = [], nn.Linear(2, 2)
    for number in itertools.count(1):
        checkpoint.save(tmp_path, model=net_of(1.0), step=1, keep=1)
        # a save removes what the killed one before it left
        assert len(list((tmp_path / "rank-00000").iterdir())) == 1
        assert {p.name for p in tmp_path.iterdir()} == {"manifest.json", "rank-00000"}
        status = in_child(lambda number=number: save(number))
        found.append(checkpoint.load(tmp_path, model=net).step)
        assert net.weight.tolist() == [[float(found[-1])] * 2] * 2
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
    # every kill before the rename of the manifest leaves step 1, every later one step 2
    assert found == sorted(found) and found.count(1) > 15 and found.count(2) >= 4


def test_damaged_and_missing_parts_are_named(tmp_path):
    for step in (1, 2):
        checkpoint.save(tmp_path, model=net_of(step), step=step)
    net = net_of(9.0)
    newest = max((tmp_path / "rank-00000").iterdir())
    good = newest.read_bytes()
    for bad in (good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b"\xff" * 20, good + b"x"):
        newest.write_bytes(bad)
        with pytest.raises(FormatError, match=f"step 2: the part of rank 0, '{newest}', is damag"):
            checkpoint.load(tmp_path, model=net)
    other = min((tmp_path / "rank-00000").iterdir())
    newest.write_bytes(other.read_bytes())  # a sound file of another checkpoint
    with pytest.raises(FormatError, match="is damaged: must be the"):
        checkpoint.load(tmp_path, model=net)
    newest.unlink()
    with pytest.raises(MissingFileError, match=f"part of rank 0, '{newest}', must be there"):
        checkpoint.load(tmp_path, model=net)
    assert net.weight.tolist() == [[9.0] * 2] * 2
    assert checkpoint.load(tmp_path, model=net, step=1).step == 1
    with pytest.raises(
        InvalidArgumentError, match="must be one of the checkpoints in .* 2, 1, got"
    ):
        checkpoint.load(tmp_path, step=5)
    manifest = tmp_path / "manifest.json"
    text = manifest.read_text()
    for bad in ("", "{}", text.replace('"step": 2', '"step": 3'), text[:-9], "[1]", "[" * 9999,
                text.replace("rank-00000/0", "../rank-00000/0")):  # fmt: skip
        manifest.write_text(bad)
        with pytest.raises(FormatError, match="manifest"):
            checkpoint.load(tmp_path, model=net)
    manifest.unlink()
    with pytest.raises(MissingFileError, match="got no manifest.json"):
        checkpoint.load(tmp_path, model=net)


def test_what_does_not_fit_changes_nothing(tmp_path):
    net, other = net_of(1.0), nn.Linear(2, 3)
    adam = optimizer.Adam(0.1, parameter_list=net.parameters())
    checkpoint.save(tmp_path, model=net, optimizer=adam, extra={"best": 0.5})
    before = other.weight.tolist()
    with pytest.raises(InvalidArgumentError, match="must have shape"):
        checkpoint.load(tmp_path, model=other)
    assert other.weight.tolist() == before
    loader = io.DataLoader(range(4))
    with pytest.raises(InvalidArgumentError, match="must hold the state of the sampler"):
        checkpoint.load(tmp_path, model=net, sampler=loader)
    with pytest.raises(ArgumentTypeError, match="model must have state_dict"):
        checkpoint.save(tmp_path, model=3)
    found = checkpoint.load(tmp_path, model=net, optimizer=adam)
    assert found.step is None and found.extra == {"best": 0.5} and found.ranks == 1


def test_a_folder_that_ranks_do_not_share_is_refused(tmp_path, monkeypatch):
    write = checkpoint._write_part
    monkeypatch.setattr(checkpoint, "_write_part", lambda *a: {**write(*a), "name": "rank-00001/0"})
    with pytest.raises(PreconditionNotMetError, match="must be one that all ranks share"):
        checkpoint.save(tmp_path, step=1, comm=Comm(Local()))
    assert checkpoint.steps(tmp_path) == []


def test_another_job_in_the_folder_is_noticed(tmp_path, monkeypatch):
    write = checkpoint._write_part

    def meanwhile(*given):
        monkeypatch.setattr(checkpoint, "_write_part", write)
        checkpoint.save(tmp_path, step=5)
        return write(*given)

    monkeypatch.setattr(checkpoint, "_write_part", meanwhile)
    with pytest.raises(PreconditionNotMetError, match="its manifest changed during this save"):
        checkpoint.save(tmp_path, step=1, keep=1)
    assert checkpoint.steps(tmp_path) == [5] and checkpoint.load(tmp_path).step == 5


def test_random_numbers_go_on(tmp_path):
    distributed.checkpoint.save(tmp_path)
    first = dygraph.rand([3]).tolist(), np.random.rand()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint.load(tmp_path)
    assert (dygraph.rand([3]).tolist(), np.random.rand()) == first
    checkpoint.load(tmp_path, random=False)
    assert dygraph.rand([3]).tolist() != first[0]
