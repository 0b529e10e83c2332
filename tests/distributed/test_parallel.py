"""`DataParallel` on 2 to 4 real ranks, beside one process that has the whole batch."""

import json

import numpy as np
import pytest

import dygraph
from dygraph import distributed, nn
from dygraph.distributed import halves
from dygraph.distributed.buckets import Slot, in_buckets
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError, UnimplementedError
from jobs import start_job

PROLOGUE = """
from dygraph import nn
rank, size = comm.rank, comm.size
rng = np.random.default_rng(5)
def part(array):
    n = len(array) // size
    return dygraph.to_variable(array[rank * n : (rank + 1) * n])
def variable(value):
    return dygraph.to_variable(np.asarray(value, "float32"))
def error(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
def weights(layer):
    return [p.numpy().tobytes() for p in layer.parameters()]
"""

# Curves -------------------------------------------------------------------------------------------

CURVES = (
    PROLOGUE
    + """
xs = rng.standard_normal((6, 64, 12)).astype("float32")
ys = rng.integers(0, 5, (6, 64, 1))
def net(seed):
    dygraph.seed(seed)
    hidden = nn.Linear(40, 40)
    return nn.Sequential(nn.Linear(12, 40), nn.Tanh(), hidden, nn.Tanh(), hidden, nn.Linear(40, 5))
def curve(model, of, clip=None):
    rule = dygraph.nn.ClipGradByGlobalNorm(clip) if clip else None
    adam = dygraph.optimizer.Adam(0.01, parameter_list=model.parameters(), grad_clip=rule)
    losses = []
    for x, y in zip(xs, ys):
        loss = nn.functional.cross_entropy(model(of(x)), of(y))
        loss.backward()
        adam.step()
        adam.clear_gradients()
        losses.append(loss.item())
    return losses
options = dict(first_bucket_mb=0.0005, bucket_cap_mb=0.004)
model = dygraph.DataParallel(net(rank), **options)
first = {k: v.numpy().copy() for k, v in model.state_dict().items()}
losses = curve(model, part)
bits = weights(model)
again = dygraph.DataParallel(net(7), **options)
again.set_state_dict(first)
same = curve(again, part)
alone = net(7)
alone.set_state_dict(first)
clipped = dygraph.DataParallel(net(7), **options)
clipped.set_state_dict(first)
whole_clipped = net(7)
whole_clipped.set_state_dict(first)
result = dict(
    whole=curve(alone, dygraph.to_variable),
    mean=(comm.all_reduce(np.array(losses)) / size).tolist(),
    clipped=(comm.all_reduce(np.array(curve(clipped, part, 0.1))) / size).tolist(),
    whole_clipped=curve(whole_clipped, dygraph.to_variable, 0.1),
    same=same == losses and weights(again) == bits,
    ranks_equal=len({tuple(g.tolist()) for g in comm.all_gather(
        np.frombuffer(b"".join(bits), "uint8"))}) == 1,
    compared=distributed.compare(model),
    buckets=[(t.bucket, t.bytes, t.rounds, t.waiting >= 0 < t.transfer)
             for t in model.bucket_times()],
    table=model.bucket_table().splitlines()[0].split(),
)
"""
)


@pytest.mark.parametrize("size", [2, 4])
def test_curves_are_those_of_one_process(size, tmp_path):
    job = start_job(size, CURVES, tmp_path)
    assert job.code == 0, job.err
    for found in job.results:
        np.testing.assert_allclose(found["mean"], found["whole"], rtol=0, atol=1e-6)
        np.testing.assert_allclose(found["clipped"], found["whole_clipped"], rtol=0, atol=1e-6)
        assert found["same"] and found["ranks_equal"]
        assert found["compared"] == 6
        # Linear(40, 5): 205 numbers and 2 flags, padded to 64 bytes; then 40 + 1600, 40 + 480.
        assert found["buckets"] == [
            [0, 4 * (16 + 208 + 2), 6, True],
            [1, 4 * (48 + 1600 + 2), 6, True],
            [2, 4 * (48 + 480 + 2), 6, True],
        ]
        assert found["table"] == ["Bucket", "Bytes", "Rounds", "Waiting", "ms", "Transfer", "ms"]


# Gradients ----------------------------------------------------------------------------------------

GRADIENTS = (
    PROLOGUE
    + """
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = (
            self.create_parameter([2], default_initializer=dygraph.initializer.Constant(1.0))
            for _ in range(4)
        )
        self.table = nn.Embedding([6, 2], is_sparse=True)
        self.table.weight.set_value(np.ones((6, 2), "float32"))
        self.register_buffer("seen", variable([rank + 1.0]))
    def forward(self, way):
        return way(self)
net = Net()
model = dygraph.DataParallel(net, first_bucket_mb=1e-5, bucket_cap_mb=1e-5)
def grads():
    return [p.grad.tolist() if p.grad is not None else None for p in (net.a, net.b, net.c, net.d)]
def go(way, **kwargs):
    model(way).sum().backward(**kwargs)
result = dict(buffer=net.seen.item())

go(lambda n: n.a * (rank + 1.0) + (n.b if rank else n.a))  # rank 0 leaves b out, all leave c, d
result["unused"] = grads()
held, same = net.a.grad.detach(), net.a.grad
go(lambda n: n.a * 3.0)  # adds to what is there
result["added"] = grads()
result["held"] = [held.tolist(), same.tolist()]  # a copy does not change, the gradient does
model.clear_gradients()

with model.no_sync():
    for k in range(2):
        go(lambda n: n.a * (rank + k))
    result["local"] = grads()[0]
    sgd = dygraph.optimizer.SGD(0.0, parameter_list=model.parameters())
    result["step on local ones"] = error(sgd.step)
go(lambda n: n.b * rank)
result["after no_sync"] = grads()
model.clear_gradients()
with model.no_sync():
    go(lambda n: n.d * rank)
model.apply_collective_grads()
result["collected"] = grads()
model.clear_gradients()

loss = model(lambda n: n.a * (n.a + rank)).sum()
loss.backward(retain_graph=True)
loss.backward()
result["retained"] = grads()[0]
model.clear_gradients()

go(lambda n: n.table(dygraph.to_variable(np.array([rank, 5] * (rank + 1)))) * 2.0 if rank != 1
   else n.a + n.b)  # rank 1 has no rows
g = net.table.weight.grad
result["rows"], result["dense rows"] = g.rows(), g.to_dense().numpy()[:, 0].tolist()
model.clear_gradients()
go(lambda n: n.table.weight * (rank + 1.0) if rank else n.table(dygraph.to_variable([0])))
result["rows and dense"] = net.table.weight.grad.numpy()[:, 0].tolist()
model.clear_gradients()

handle = net.c.register_hook(lambda g: g * 10.0)  # after the construction: before the mean
go(lambda n: n.c * (rank + 1.0))
handle.remove()
result["hooked"] = grads()[2]
model.clear_gradients()

class Parts(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Linear(2, 2, bias_attr=False) for _ in range(2))
        for layer in (self.first, self.second):
            layer.weight.set_value(np.eye(2, dtype="float32"))
    @dygraph.jit.to_static
    def program(self, x):
        return self.first(x)
    def forward(self, x):
        return dygraph.recompute(self.second, self.program(x))
parts = dygraph.DataParallel(Parts())
parts(variable([[rank + 1.0, 0.0]])).sum().backward()
result["parts"] = [p.grad[0].tolist() for p in parts.parameters()]

import gc
from dygraph.autograd import passes
ends = len(passes.ends)
del parts
gc.collect()
result["left"] = ends - len(passes.ends)

(g,) = dygraph.grad(model(lambda n: n.a * rank).sum(), net.a)
result["grad()"] = [g.tolist(), net.a.grad is None]
penalty = dygraph.grad(model(lambda n: n.a * n.a * rank).sum(), net.a, create_graph=True)[0]
(penalty * penalty).sum().backward()  # d/da (2 a rank)^2 = 8 a rank^2
result["penalty"] = grads()[0]
model.clear_gradients()

# Of rank 0 the loss has nothing of the model; the step still makes its round.
sgd = dygraph.optimizer.SGD(1.0, parameter_list=model.parameters())
own = dygraph.Parameter(np.ones(2, "float32"))
net.a.set_value(np.ones(2, "float32"))
loss = model(lambda n: n.a * rank if rank else own).sum()
loss.backward()
sgd.step()
result["no loss"] = net.a.tolist()
model.clear_gradients()

net.seen.set_value(np.full(1, rank + 7.0, "float32"))
go(lambda n: n.a)
result["buffer after"] = net.seen.item()
model.clear_gradients()

# Fluid's script and ours.
net.a.set_value(np.ones(2, "float32"))
strategy = dygraph.prepare_context()
for _ in range(2):
    loss = model.scale_loss(model(lambda n: n.a * (rank + 1.0)).sum())
    loss.backward()
result["scaled"] = loss.item()
before = grads()[0]
result["step before collecting"] = error(sgd.step)
model.apply_collective_grads()
sgd.minimize(loss)
result["fluid"] = [before, grads()[0], net.a.tolist(), strategy.nranks, strategy.local_rank]
model.clear_gradients()
go(lambda n: n.a * (rank + 1.0))
model.apply_collective_grads()
result["plain"] = grads()[0]
model.clear_gradients()
distributed.compare(net)
"""
)


@pytest.mark.parametrize("size", [2, 3])
def test_gradients(size, tmp_path):
    job = start_job(size, GRADIENTS, tmp_path)
    assert job.code == 0, job.err
    ranks = np.arange(size)
    mean, at_b = ranks.mean(), (size - 1) / size  # of the ranks; of 1 on all but rank 0

    def near(found, value):
        np.testing.assert_allclose(found, [value, value], rtol=1e-6)

    a = mean + 1 + 1 / size
    for rank, found in enumerate(job.results):
        assert found["buffer"] == 1.0
        near(found["unused"][0], a)
        near(found["unused"][1], at_b)
        assert found["unused"][2:] == [None, None]
        near(found["added"][0], a + 3)
        near(found["added"][1], at_b)
        assert found["held"] == [found["unused"][0], found["added"][0]]
        near(found["local"], 2 * rank + 1)
        assert found["step on local ones"].startswith("PreconditionNotMetError: step: gradients")
        near(found["after no_sync"][0], 2 * mean + 1)
        near(found["after no_sync"][1], mean)
        near(found["collected"][3], mean)
        assert found["collected"][:3] == [None, None, None]
        near(found["retained"], 2 * (2 + mean))
        rows = [r for rank in ranks if rank != 1 for r in [rank, 5] * (rank + 1)]
        assert found["rows"] == rows
        dense = [2 / size * rows.count(i) for i in range(6)]
        np.testing.assert_allclose(found["dense rows"], dense, rtol=1e-6)
        both = np.full(6, (ranks[1:] + 1).sum() / size)
        both[0] += 1 / size
        np.testing.assert_allclose(found["rows and dense"], both, rtol=1e-6)
        near(found["hooked"], 10 * (mean + 1))
        for grad in found["parts"]:
            near(grad, mean + 1)
        assert found["left"] == 1
        assert found["grad()"] == [[rank, rank], True]
        near(found["penalty"], 8 * (ranks**2).mean())
        near(found["no loss"], 1 - mean)
        assert found["buffer after"] == 7.0
        assert found["scaled"] == pytest.approx(2 * (rank + 1) / size)
        assert "apply_collective_grads()" in found["step before collecting"]
        before, grad, stepped, *numbers = found["fluid"]
        near(before, 2 * (rank + 1) / size)
        near(grad, 2 * (mean + 1))
        near(stepped, 1 - 2 * (mean + 1))
        assert numbers == [size, rank]
        near(found["plain"], mean + 1)


# Options and refusals -----------------------------------------------------------------------------

OPTIONS = (
    PROLOGUE
    + """
import contextlib, copy
layer = nn.Linear(3, 2)
frozen = nn.Linear(2, 2)
frozen.weight.stop_gradient = True
plain = dygraph.DataParallel(nn.Sequential(layer, frozen), broadcast_buffers=False)
x = variable(rng.standard_normal((2, 3)))
result = dict(
    create_graph=error(plain(x).sum().backward, create_graph=True),
    copied=error(copy.deepcopy, plain), hook=error(plain.register_comm_hook, None, None),
    join=error(plain.join), comm=error(dygraph.DataParallel, layer, comm=3),
    strategy=error(dygraph.DataParallel, layer, distributed.ParallelStrategy()),
)
frozen.weight.stop_gradient = False
result["unfrozen"] = error(plain, x)
frozen.weight.stop_gradient = True
result["compiled"] = error(dygraph.jit.compile(lambda x: plain(x).sum()), x)
with dygraph.static.program_guard(dygraph.static.Program()):
    result["program"] = error(plain, dygraph.static.data("x", [-1, 3]))

class Late(nn.Layer):
    def forward(self, x):
        if not hasattr(self, "inner"):
            self.inner = nn.Linear(3, 1)
        return self.inner(x)
late = dygraph.DataParallel(Late())
late(x).sum().backward()
result["late"] = error(dygraph.optimizer.SGD(0.1, parameter_list=late.parameters()).step)
del late
env = dygraph.ParallelEnv()
result["env"] = [env.nranks, env.local_rank]
del os.environ["PMI_RANK"]
result["env"] += [dygraph.ParallelEnv().local_rank]

small = nn.Linear(500, 3, bias_attr=False)
packed = dygraph.DataParallel(small, compression="bfloat16")
values = (rng.standard_normal((size, 500, 3)) * 10.0 ** rng.integers(-9, 9, (500, 3)))
(small.weight * variable(values[rank])).sum().backward()
result["compressed"] = small.weight.grad.numpy().astype("float64").tolist()
result["mean"] = values.mean(0).tolist()
result["magnitudes"] = np.abs(values).mean(0).tolist()
result["bits"] = int(np.bitwise_or.reduce(small.weight.grad.numpy().view("uint32"), None) & 0xFFFF)

half = nn.Linear(2, 2, bias_attr=False).to(dtype="bfloat16")
mixed = dygraph.DataParallel(half)
(half.weight.astype("float32") * (rank + 1.0)).sum().backward()
result["brain"] = [str(half.weight.grad.dtype), half.weight.grad.astype("float32").tolist()]

watched = dygraph.DataParallel(nn.Linear(2, 1), check_every=2)
one = variable([[1.0, 1.0]])
sgd = dygraph.optimizer.SGD(0.1, parameter_list=watched.parameters())
for _ in range(3):
    watched(one).sum().backward()
    sgd.step()
    sgd.clear_gradients()
result["watched"] = None
watched.module.bias.set_value(np.full(1, 9.0 * rank, "float32"))
result["differs"] = error(watched, one)
result["compare"] = error(distributed.compare, watched.module)

with dygraph.profiler.Profiler() as profile:
    plain(x).sum().backward()
trace = distributed.chrome_trace(profile, "trace.json" if rank == 0 else None)
result["trace"] = trace is not None
comm.barrier()

def fail(g):
    1 / 0
w = variable([[1.0, 1.0]])
w.stop_gradient = False
w.register_hook(fail)  # older than the parameters: its gradient comes last
last = dygraph.DataParallel(nn.Linear(2, 1))
with contextlib.suppress(ZeroDivisionError):
    y = last(one)
    y.register_hook(lambda g: 1 / 0)
    y.sum().backward()
result["hook failed before"] = error(last, one)  # no gradient was complete, so nothing is lost
with contextlib.suppress(ZeroDivisionError):
    last(w).sum().backward()
result["after a failure"] = error(last, one)
"""
)


def test_options_and_refusals(tmp_path):
    job = start_job(2, OPTIONS, tmp_path)
    assert job.code == 0, job.err
    for rank, found in enumerate(job.results):
        assert "dygraph.grad(..., create_graph=True)" in found["create_graph"]
        assert "model.module" in found["copied"]
        assert "compression='bfloat16'" in found["hook"]
        assert "equally many" in found["join"]
        assert found["comm"].startswith("ArgumentTypeError: DataParallel: comm must be a Comm")
        assert "number of processes of the job, 2, got 1" in found["strategy"]
        assert "'1.weight' had stop_gradient = True" in found["unfrozen"]
        assert "@dygraph.jit.to_static" in found["compiled"]
        assert "DistributeTranspiler" in found["program"]
        assert "'inner.weight' was made after DataParallel" in found["late"]
        assert found["env"] == [2, rank, rank]
        # Two roundings to 8 bits, before and after the sum: each a relative error of 2**-8 at most.
        error = np.abs(np.array(found["compressed"]) - found["mean"])
        assert (error <= 1.01 * 2**-7 * np.array(found["magnitudes"])).all()
        assert error.max() > 0 and found["bits"] == 0
        assert found["brain"] == ["bfloat16", [[1.5, 1.5], [1.5, 1.5]]]
        assert "'bias' of rank 1 differs from that of rank 0" in found["differs"]
        assert "'bias' of rank 1 differs" in found["compare"]
        assert found["trace"] == (rank == 0)
        assert found["hook failed before"] is None
        assert "an earlier backward pass failed" in found["after a failure"]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {0: "rank 0", 1: "rank 1"}
    for rank in (0, 1):
        own = [e for e in events if e["pid"] == rank and e["ph"] == "X"]
        assert {"bucket 0: waiting", "bucket 0: transfer"} <= {e["name"] for e in own}
        assert any(e["cat"] != "range" for e in own)  # operators
    # Both ranks end their waiting when the last one arrives, so this compares their clocks.
    ends = [e["ts"] + e["dur"] for e in events if e["name"] == "bucket 0: waiting"]
    assert len(ends) == 2 and abs(ends[0] - ends[1]) < 50_000  # microseconds


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        (
            # Without threads in MPI the same sums are made at the end of the pass.
            "from dygraph.distributed.mpi import Mpi\n"
            "Mpi.takes_threads = lambda self: False\n"
            "model = dygraph.DataParallel(nn.Linear(2, 3), bucket_cap_mb=0, first_bucket_mb=0)\n"
            "model(variable([[1.0 + rank, 2.0]])).sum().backward()\n"
            "import threading\n"
            "grad = model.module.weight.grad.tolist()\n"
            "raise ValueError(f'{threading.active_count()} thread, {grad}')",
            ["ValueError: 1 thread, [[1.5, 1.5, 1.5], [2.0, 2.0, 2.0]]"],
        ),
        (
            "layer = nn.Linear(2, 3 + rank)\ndygraph.DataParallel(layer)",
            ["number 0 is 'weight: float32 [2, 3]' on rank 0 and 'weight: float32 [2, 4]' on"],
        ),
        (
            # One rank makes a second pass while the others step: not one of them goes on silently.
            "model = dygraph.DataParallel(nn.Linear(2, 3))\n"
            "x = variable([[1.0, 2.0]])\n"
            "sgd = dygraph.optimizer.SGD(0.1, parameter_list=model.parameters())\n"
            "for step in range(3):\n"
            "    for _ in range(1 + (rank and step == 1)):\n"
            "        model(x).sum().backward()\n"
            "    sgd.step()\n",
            ["round 2 of step 1", "round 1 of step 2"],
        ),
        (
            # An error on the thread beside the computation reaches the caller and ends the job.
            "model = dygraph.DataParallel(nn.Linear(2, 3))\n"
            "x = variable([[1.0, 2.0]])\n"
            "model(x).sum().backward()\n"
            "import threading, time\n"
            "def broken():\n"
            "    raise OSError(f'the cable of {threading.current_thread().name} is cut')\n"
            "if rank:\n"
            "    model._reducer.jobs.add(broken)\n"
            "    while model._reducer.jobs.error is None:\n"
            "        time.sleep(0.001)\n"
            "model(x).sum().backward()\n"
            "comm.barrier()\n",
            ["OSError: the cable of dygraph gradients is cut"],
        ),
    ],
)  # fmt: skip
def test_an_error_ends_the_job(script, texts, tmp_path):
    job = start_job(2, PROLOGUE + script, tmp_path, timeout=30)
    assert job.code != 0
    for text in texts:
        assert text in job.err


# One process --------------------------------------------------------------------------------------


def test_buckets():
    sizes = [(100,), (300,), (10, 10), (7,), ()]
    slots = [Slot(str(i), dygraph.Parameter(np.zeros(s, "float32"))) for i, s in enumerate(sizes)]
    slots.append(Slot("wide", dygraph.Parameter(np.zeros(3, "float64"))))
    found = in_buckets(slots, first_bytes=4 * 100, most_bytes=4 * 350)
    # Backwards: 1 + 7 + 100 numbers fill the first; one bucket holds one type.
    assert [[s.name for s in b.slots] for b in found] == [["4", "3", "2"], ["1", "0"], ["wide"]]
    for bucket in found:
        assert all(bucket.array[s.begin :].ctypes.data % 64 == 0 for s in bucket.slots)
    first = found[0]
    kept = first.array
    slots[3].parameter.grad = dygraph.to_variable(np.arange(7, dtype="float32"))
    first.take(slots[3], slots[3].parameter.grad, 0.5)
    assert slots[3].parameter.grad.tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    first.open()
    assert first.array is not kept  # the gradient still holds the memory
    slots[3].parameter.clear_gradient()
    kept = first.array
    first.open()
    assert first.array is kept


def test_rounding_to_bfloat16():
    values = np.array(
        [1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -3e38, 3.4e38, np.inf, np.nan, 1e-45],
        "float32",
    )
    expected = np.array([1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -3e38, np.inf, np.inf, np.nan, 0.0])
    found = halves.widened(halves.rounded(values))
    np.testing.assert_allclose(found, expected, rtol=2**-8)
    reference = dygraph.to_variable(values).astype("bfloat16").astype("float32").numpy()
    np.testing.assert_array_equal(found, reference)


def test_one_process_is_the_layer():
    layer = nn.Linear(2, 1)
    model = dygraph.DataParallel(layer, find_unused_parameters=True, bucket_cap_mb=10)
    model(dygraph.ones([3, 2])).mean().backward()
    assert layer.weight.grad.tolist() == [[1.0], [1.0]]
    assert model.bucket_times() == [] and model.module is layer
    assert distributed.compare(model) == 2


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"device_ids": [0]}, UnimplementedError, "device_ids is torch's"),
        ({"process_group": 1}, UnimplementedError, r"comm=dygraph.distributed.init\(\).split"),
        ({"mixed_precision": 1}, UnimplementedError, "compression='bfloat16'"),
        ({"init_sync": False}, UnimplementedError, "init_sync must be True"),
        ({"bucket_size": 1}, TypeError, "no argument bucket_size"),
        ({"broadcast_buffers": "no"}, TypeError, "broadcast_buffers must be True or False"),
        ({"compression": "float8"}, InvalidArgumentError, "compression"),
        ({"bucket_cap_mb": -1}, InvalidArgumentError, "bucket_cap_mb"),
        ({"check_every": -1}, InvalidArgumentError, "check_every"),
    ],
)
def test_arguments_that_are_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        dygraph.DataParallel(nn.Linear(2, 1), **arguments)
    with pytest.raises(PreconditionNotMetError, match="of the job, 1, got 2"):
        strategy = distributed.ParallelStrategy()
        strategy.nranks = 2
        dygraph.DataParallel(nn.Linear(2, 1), strategy)
