"""Parameter servers and collective programs: a job of 4 ranks gives the losses of one process."""

import json

import numpy as np
import pytest

from tests.jobs import start_job

SCRIPT = '''
from dygraph import static
from dygraph.errors import DygraphError
from dygraph.static import layers

def model(optimizer, distributed=True):
    """A program with a dense weight, a sparse and a distributed table, all to be divided."""
    main, startup = static.Program(), static.Program()
    random = np.random.RandomState(0)

    def weight(name, *shape):
        values = random.normal(size=shape).astype("float32") * 0.3
        return static.ParamAttr(name, static.initializer.NumpyArrayInitializer(values))

    with static.program_guard(main, startup), static.unique_name.guard():
        x, y = static.data("x", [None, 12]), static.data("y", [None, 1])
        ids = static.data("ids", [None, 1], "int64")
        a = layers.embedding(ids, [50, 4], True, False, None, weight("a", 50, 4))
        b = layers.embedding(ids, [51, 4], True, distributed, 3, weight("b", 51, 4))
        h = layers.fc(layers.concat([x, a, b], 1), 5, 1, weight("w", 20, 5), "c", "relu")
        loss = layers.mean(layers.square_error_cost(layers.fc(h, 1, 1, weight("v", 5, 1)), y))
        optimizer(layers.exponential_decay(0.05, 2, 0.9)).minimize(loss)
    return main, startup, loss.name

def batch(step):
    random = np.random.RandomState(step)
    return {
        "x": random.normal(size=(8, 12)).astype("float32"),
        "y": random.normal(size=(8, 1)).astype("float32"),
        "ids": random.randint(0, 50, (8, 1)),
    }

def part(step, number, of=2):
    return {name: np.split(v, of)[number] for name, v in batch(step).items()}

def values(scope, *names):
    return {n: scope.find_var(n).get().numpy().ravel().tolist() for n in names}

def alone(optimizer, steps):
    (main, startup, loss), scope, exe = model(optimizer), static.Scope(), static.Executor()
    exe.run(startup, scope=scope)
    losses = [exe.run(main, batch(i), [loss], scope=scope)[0].item() for i in steps]
    return losses, values(scope, *"abwv")

def late(optimizer):
    """The loss of a trainer that has the first weights, and rows after 4 steps."""
    (main, startup, loss), scope, exe = model(optimizer), static.Scope(), static.Executor()
    test = main.clone(for_test=True)
    exe.run(startup, scope=scope)
    weights = [p.name for p in main.all_parameters() if p.name not in "ab"]
    first = {n: scope.find_var(n).get().clone() for n in weights}
    for step in range(4):
        exe.run(main, batch(step), scope=scope)
    for name in weights:
        scope.find_var(name).set(first[name])
    return exe.run(test, batch(9), [loss], scope=scope)[0].item()

SERVERS = "one:6174,two:6174"
role = static.transpiler.role(SERVERS, 2)

def divided(optimizer, sync=True, split=False):
    main, startup, loss = model(optimizer)
    config = static.DistributeTranspilerConfig()
    config.min_block_size, config.sync_mode = 20, sync
    config.runtime_split_send_recv = split
    t = static.DistributeTranspiler(config)
    t.transpile(role.trainer_id, main, SERVERS, 2, sync, startup)
    return t, loss

def serve(t):
    exe, scope = static.Executor(), static.Scope()
    exe.run(t.get_startup_program(role.endpoint), scope=scope)
    sent = t.get_pserver_program(role.endpoint).serialize_to_string()
    exe.run(static.Program.parse_from_string(sent), scope=scope)
    return values(scope, "b", "a.block0" if role.endpoint == "one:6174" else "a.block1")

def train(t, loss, feeds):
    exe, scope, losses = static.Executor(), static.Scope(), []
    exe.run(t.get_trainer_startup_program(), scope=scope)
    program = t.get_trainer_program()
    for feed in feeds:
        losses.append(exe.run(program, feed, [loss], scope=scope)[0].item())
    held = values(scope, "w", "v")
    exe.close()
    return losses, held

kinds = {
    "sgd": lambda r: static.optimizer.SGD(r, regularization=static.regularizer.L2Decay(0.1)),
    "momentum": lambda r: static.optimizer.Momentum(r, 0.9),
    "adam": lambda r: static.optimizer.Adam(r),
}
result = {}
if comm.rank == 3:
    result["alone"] = {name: alone(kind, range(4)) for name, kind in kinds.items()}
    result["late"] = late(kinds["momentum"])

# Synchronous servers

for name, kind in kinds.items():
    t, loss = divided(kind)
    feeds = [part(step, role.trainer_id) for step in range(4)]
    result[name] = serve(t) if role.is_server else train(t, loss, feeds)

# Asynchronous ones: trainer 1 receives its parameters, and waits until trainer 0 has ended.

group = comm.split(int(role.is_server))

def one_after_the_other():
    if role.trainer_id:
        group.barrier()
        yield batch(9)
    else:
        yield from map(batch, range(4))
        group.barrier()

for split in (False, True):
    t, loss = divided(kinds["momentum"], False, split)
    name = f"asynchronous, {split}"
    result[name] = serve(t) if role.is_server else train(t, loss, one_after_the_other())

# Without servers

for mode in ("grad_allreduce", "local_sgd"):
    main, startup, loss = model(kinds["sgd"])
    config = static.DistributeTranspilerConfig()
    config.mode, config.collective_mode = "collective", mode
    t = static.DistributeTranspiler(config)
    names = [f"host:{i}" for i in range(4)]
    t.transpile(comm.rank, main, None, ",".join(names), True, startup, names[comm.rank])
    try:
        static.Executor().run(startup, scope=static.Scope())
    except DygraphError as error:
        result["unchanged"] = str(error)
    result[mode] = train(t, loss, [part(step, comm.rank, 4) for step in range(4)])

# Mistakes. The last one ends the job.

t, loss = divided(kinds["sgd"])
if not role.is_server:
    scope = static.Scope()
    static.Executor().run(model(kinds["sgd"])[1], scope=scope)
    try:
        static.Executor().run(t.get_trainer_program(), part(0, role.trainer_id), scope=scope)
    except DygraphError as error:
        result["early"] = str(error)
pathlib.Path(f"{comm.rank}.json").write_text(json.dumps(result))
if role.is_server:
    serve(t)
else:
    train(t, loss, [part(step, role.trainer_id) for step in range(1 + role.trainer_id)])
'''


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("transpiler")
    job = start_job(4, SCRIPT, folder)
    files = [folder / f"{rank}.json" for rank in range(4)]
    assert all(f.exists() for f in files), job.err
    job.results = [json.loads(f.read_text()) for f in files]
    return job


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_two_trainers_and_two_servers_give_the_loss_of_one_process(job, optimizer):
    losses, held = job.results[3]["alone"][optimizer]
    (first, one), (second, two) = (job.results[r][optimizer] for r in (2, 3))
    np.testing.assert_allclose((np.array(first) + second) / 2, losses, atol=1e-6)
    assert len(set(losses)) == 4 and first != second
    for name in "wv":
        assert one[name] == two[name]
        np.testing.assert_allclose(one[name], held[name], atol=1e-6)
    here, there = (job.results[r][optimizer] for r in (0, 1))
    np.testing.assert_allclose(here["a.block0"] + there["a.block1"], held["a"], atol=1e-6)
    rows = np.reshape(held["b"], (51, 4))  # every second row on each server
    np.testing.assert_allclose(here["b"], rows[0::2].ravel(), atol=1e-6)
    np.testing.assert_allclose(there["b"], rows[1::2].ravel(), atol=1e-6)


@pytest.mark.parametrize("split", [False, True])
def test_asynchronous_servers_apply_each_gradient_when_it_arrives(job, split):
    losses, held = job.results[3]["alone"]["momentum"]
    (first, one), (second, two) = (job.results[r][f"asynchronous, {split}"] for r in (2, 3))
    np.testing.assert_allclose(first, losses, atol=1e-6)
    np.testing.assert_allclose(one["w"], held["w"], atol=1e-6)
    # Trainer 1 computed with the weights of the start and today's rows, then got new weights.
    np.testing.assert_allclose(second, [job.results[3]["late"]], atol=1e-6)
    assert np.abs(np.subtract(two["w"], one["w"])).max() > 1e-4


@pytest.mark.parametrize("mode", ["grad_allreduce", "local_sgd"])
def test_ranks_without_servers_give_the_loss_of_one_process(job, mode):
    losses, held = job.results[3]["alone"]["sgd"]
    ranks = [result[mode] for result in job.results]
    np.testing.assert_allclose(np.mean([r[0] for r in ranks], 0), losses, atol=1e-6)
    assert all(r[1] == ranks[0][1] for r in ranks)
    np.testing.assert_allclose(ranks[0][1]["w"], held["w"], atol=1e-6)


def test_programs_that_a_transpiler_took_do_not_run_in_a_job(job):
    assert all("get_trainer_startup_program" in r["unchanged"] for r in job.results)


def test_a_trainer_begins_with_the_parameters_of_the_servers(job):
    assert all("received the parameters of the servers" in r["early"] for r in job.results[2:])


def test_unequal_numbers_of_steps_end_the_job_with_text(job):
    assert job.code != 0
    assert "trainer 0 ended after step 1, and trainer 1 makes another one" in job.err
