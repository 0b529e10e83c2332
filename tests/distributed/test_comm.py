"""`Comm` on one process and on 2, 3 and 4 real ones: values by hand, refusals, bad messages."""

import numpy as np
import pytest

import dygraph
from dygraph import distributed
from dygraph.distributed import packets
from dygraph.distributed.comm import Comm
from dygraph.distributed.local import Local
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
)
from jobs import start_job

COLLECTIVE = """
rank, size = comm.rank, comm.size
def variable(value, dtype="float32"):
    return dygraph.to_variable(np.asarray(value, dtype))

x = variable([[rank + 1.0, 2.0]])
assert comm.all_reduce(x) is x
array = np.arange(3.0) * (rank + 1)
comm.all_reduce(array, "mean")
works = [comm.all_reduce(variable([10.0 * i + rank]), "max", wait=False) for i in range(3)]
half = variable([rank, 0.5], "float16")
brain = variable([rank, 0.5]).astype("bfloat16")
whole = comm.all_reduce(np.array([rank], "int64"), "prod")
single = variable(rank)
large = np.full(100_000, rank + 0.5, "float64")  # a message of several pieces
rows = dygraph.selected_rows([rank, 5], 6, np.full((2, 1), rank + 1.0, "float32"))
comm.all_reduce(rows)
sent = variable(np.full((2, 2), rank))
result = dict(
    sum=x.tolist(), mean=array.tolist(), later=[w.wait().tolist() for w in works],
    half=comm.all_reduce(half).tolist(), brain=comm.all_reduce(brain).astype("float32").tolist(),
    prod=whole.tolist(), single=comm.all_reduce(single).tolist(),
    large=[float(comm.all_reduce(large).min()), float(large.max())],
    rows=rows.rows(), dense=rows.to_dense().numpy()[:, 0].tolist(),
    root=comm.broadcast(sent, size - 1).tolist(),
    gathered=[g.shape[0] for g in comm.all_gather(variable(np.ones((rank, 2))))],
    numbers=[g.item() for g in comm.all_gather(2.5 * rank)],
    strings=[g.rows() for g in comm.all_gather(
        dygraph.selected_rows([rank] * rank, 6, np.ones((rank, 1), "float32")))],
    part=comm.reduce_scatter(np.arange(2.0 * size)).tolist(),
    part_mean=comm.reduce_scatter(variable(np.full((size, 1), rank)), "mean").tolist(),
)
comm.barrier()
"""


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_collective_calls(size, tmp_path):
    job = start_job(size, COLLECTIVE, tmp_path)
    assert job.code == 0, job.err
    ranks = range(size)
    total = sum(ranks)
    for rank, got in enumerate(job.results):
        assert got["sum"] == [[total + size, 2.0 * size]]
        np.testing.assert_allclose(got["mean"], np.arange(3.0) * (total + size) / size, rtol=1e-15)
        assert got["later"] == [[10.0 * i + size - 1] for i in range(3)]
        assert got["half"] == got["brain"] == [total, 0.5 * size]
        assert got["prod"] == [0] and got["single"] == total
        assert got["large"] == [total + 0.5 * size] * 2
        assert got["rows"] == [row for r in ranks for row in (r, 5)]
        dense = np.zeros(6)
        for r in ranks:
            dense[[r, 5]] += r + 1.0
        assert got["dense"] == dense.tolist()
        assert got["root"] == [[size - 1.0] * 2] * 2
        assert got["gathered"] == list(ranks) and got["numbers"] == [2.5 * r for r in ranks]
        assert got["strings"] == [[r] * r for r in ranks]
        assert got["part"] == [2.0 * rank * size, (2.0 * rank + 1) * size]
        assert got["part_mean"] == [[total / size]]


MESSAGES = """
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
values = [
    dygraph.to_variable(np.arange(6, dtype="float32").reshape(2, 3) + comm.rank),
    np.array([comm.rank], "int16"), 1.5 * comm.rank, np.zeros((0, 4)),
    dygraph.ones([2]).astype("bfloat16"), np.random.RandomState(comm.rank).rand(30_000),
    dygraph.selected_rows([1, 3], 4, np.full((2, 30_000), comm.rank, "float32")),
]
works = [comm.send(v, right, tag=i, wait=False) for i, v in enumerate(values)]
last = len(values) - 1
while comm.probe(left, last) is None:
    pass
rows = comm.recv(left, last)
got = [comm.recv(left, i) for i in range(last)]
for work in works:
    work.wait()
same = np.array_equal(got[5], np.random.RandomState(left).rand(30_000))
result = dict(
    kinds=[type(g).__name__ for g in got], first=got[0].tolist(), short=got[1].tolist(),
    number=got[2].item(), empty=list(got[3].shape), brain=str(got[4].dtype), same=bool(same),
    rows=rows.rows(), values=float(rows.rows_value().numpy().mean()), none=comm.probe() is None,
)
"""


@pytest.mark.parametrize("size", [1, 3])
def test_messages(size, tmp_path):
    job = start_job(size, MESSAGES, tmp_path)
    assert job.code == 0, job.err
    for rank, got in enumerate(job.results):
        left = (rank - 1) % size
        assert got["kinds"] == ["Variable", "ndarray", "ndarray", "ndarray", "Variable", "ndarray"]
        assert got["first"] == (np.arange(6).reshape(2, 3) + left).tolist()
        assert got["short"] == [left] and got["number"] == 1.5 * left and got["empty"] == [0, 4]
        assert got["brain"] == "bfloat16" and got["same"] is True and got["none"] is True
        assert got["rows"] == [1, 3] and got["values"] == left


DIFFERENT = """
texts = []
def note(call):
    try:
        call()
    except dygraph.errors.InvalidArgumentError as error:
        texts.append(str(error))
note(lambda: comm.all_reduce(np.zeros(comm.rank + 1)))
note(lambda: comm.barrier() if comm.rank else comm.all_reduce(np.zeros(1)))
note(lambda: comm.all_reduce(np.zeros(comm.rank + 1), wait=False).wait())
half = comm.split(comm.rank % 2)
twin = comm.duplicate()
result = dict(texts=texts, after=comm.all_reduce(np.ones(1)).tolist(), half=half.size,
              halves=half.all_reduce(np.array([comm.rank])).tolist(), twin=twin.rank)
"""


def test_ranks_that_make_different_calls_raise_on_all_and_go_on(tmp_path):
    job = start_job(3, DIFFERENT, tmp_path)
    assert job.code == 0, job.err
    for rank, got in enumerate(job.results):
        assert [t.splitlines()[2] for t in got["texts"]] == [
            "  rank 1: all_reduce(sum) of float64 [2]",
            "  rank 1: barrier",
            "  rank 1: all_reduce(sum) of float64 [2]",
        ]
        assert got["after"] == [3.0] and got["twin"] == rank
        assert (got["half"], got["halves"]) == ((1, [1]) if rank == 1 else (2, [2]))


ORDER = """
arrays = [np.full(n, comm.rank + 1.0) for n in (3, 40_000, 5, 40_000)]
works = [comm.all_reduce(a, wait=False) for a in arrays]
if comm.rank == 0:
    works.reverse()  # waits for the last one first
if comm.rank == 1:
    works[0].done()
comm.barrier()
gathered = comm.all_gather(np.ones(comm.rank + 1))
for work in works:
    work.wait()
bad = comm.all_reduce(np.zeros(comm.rank + 1), wait=False)
good = comm.all_reduce(np.ones(2), wait=False)
result = [[a.min(), a.max()] for a in arrays] + [good.wait().tolist()]
try:
    bad.wait()
except dygraph.errors.InvalidArgumentError:
    result.append("raised")
"""


def test_data_move_in_the_order_of_the_calls(tmp_path):
    job = start_job(3, ORDER, tmp_path)
    assert job.code == 0, job.err
    assert job.results == [[[6.0, 6.0]] * 4 + [[3.0, 3.0], "raised"]] * 3


def test_a_call_that_waits_longer_than_the_limit_raises(tmp_path):
    script = """
    import time
    distributed.init(timeout=0.2)
    try:
        if comm.rank == 0:
            comm.recv(1)
    except distributed.WaitTimeoutError as error:
        result = str(error)
    """
    job = start_job(2, script, tmp_path)
    assert job.code == 0 and job.results[1] is None, job.err
    assert job.results[0].startswith(
        "recv(source=1, tag=None): another rank must arrive within 0.2"
    )


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda c: c.all_reduce([1.0]), ArgumentTypeError, "a Variable or a writable row-major"),
        (lambda c: c.all_reduce(np.ones((4, 4)).T[1:]), ArgumentTypeError, "writable row-major"),
        (lambda c: c.all_reduce(np.ones(2), "avg"), InvalidArgumentError, "op"),
        (lambda c: c.all_reduce(np.ones(2, bool)), InvalidArgumentError, "got bool"),
        (lambda c: c.all_reduce(np.ones(2, int), "mean"), InvalidArgumentError, "Cast first"),
        (lambda c: c.broadcast(np.ones(2), 1), (InvalidArgumentError, IndexError), "root"),
        (lambda c: c.recv(np.ones(2)), ArgumentTypeError, "The value is the result"),
        (lambda c: c.send(np.array(["a"]), 0), ArgumentTypeError, "<U1"),
        (lambda c: c.send("text", 0), ArgumentTypeError, "str"),
        (lambda c: c.send(np.ones((1,) * 9), 0), UnimplementedError, "8 axes"),
        (lambda c: c.reduce_scatter(1.0), InvalidArgumentError, "axis 0"),
    ],
)
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call(Comm(Local()))


def test_a_recorded_result_is_not_replaced():
    w = dygraph.Parameter([1.0])
    with pytest.raises(PreconditionNotMetError, match="detach"):
        Comm(Local()).all_reduce(w * 2)
    assert Comm(Local()).all_reduce(w) is w


def test_damaged_messages_raise():
    good = packets.closed(np.arange(6, dtype="float32").reshape(2, 3), "test")
    head, data = packets.header(good), good.array.tobytes()
    assert packets.opened(packets.read_header(head, 1), data).tolist() == good.array.tolist()
    rng = np.random.RandomState(0)
    raised = 0
    for _ in range(3000):
        bad = bytearray(head)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randint(len(bad))] = rng.randint(256)
        cut = bytes(bad)[: rng.choice([len(bad), rng.randint(len(bad))])]
        try:
            value = packets.opened(packets.read_header(cut, 1), data)
        except FormatError:
            raised += 1
        else:  # a change of nothing, of an unused byte, or to a type of the same size
            assert value.nbytes == len(data)
    assert raised > 2000
    with pytest.raises(FormatError, match="row numbers"):
        rows = packets.closed(dygraph.selected_rows([1], 3, np.ones((1, 1), "float32")), "test")
        head = packets.read_header(packets.header(rows), 1)
        packets.opened(head, np.array([7]).tobytes() + rows.array.tobytes())


def test_a_job_that_knows_only_itself_is_refused(monkeypatch):
    from dygraph.distributed import job

    monkeypatch.setattr(job, "_world", None)
    monkeypatch.setenv("DYGRAPH_WORLD_SIZE", "4")
    with pytest.raises(PreconditionNotMetError, match="asked for 4 processes, but local sees 1"):
        distributed.init("local")
