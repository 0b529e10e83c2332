"""Data-parallel training in Ray Train: workers that die are restarted, and the group grows.

    pip install 'dygraph-autograd[ray]'
    python examples/ray_train.py                # two workers
    python examples/ray_train.py --kill 20      # one is killed in step 20; all start again
    python examples/ray_train.py --grow         # begins with one worker, a second node comes

Ray starts the workers; `MpiConfig` gives each a seat in an MPI job, so `init()` finds the others.
When a worker dies or the group changes its size, Ray starts a new group, which opens new seats and
goes on from the last checkpoint. The batches of a step are divided among the workers that are
there, so each step sees the same data with one worker or two.
"""

import argparse
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import ray
from ray import train
from ray.train.backend import Backend, BackendConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

import dygraph
from dygraph import distributed

BATCH, SECONDS = 64, 120


@dataclasses.dataclass
class MpiConfig(BackendConfig):
    """What `DataParallelTrainer` takes as ``backend_config``: workers are ranks of an MPI job."""

    @property
    def backend_cls(self):
        return MpiBackend


class MpiBackend(Backend):
    seats = None

    def on_start(self, worker_group, backend_config):
        self.on_shutdown(worker_group, backend_config)  # of a group that died
        self.seats = distributed.Seats(len(worker_group))
        machines = set(worker_group.execute(ray.util.get_node_ip_address))
        for rank in range(len(worker_group)):
            seat = self.seats.environment(rank, one_machine=len(machines) == 1)
            worker_group.execute_single(rank, take, seat)

    def on_shutdown(self, worker_group, backend_config):
        if self.seats is not None:
            self.seats.close()
            self.seats = None


def take(seat):
    os.environ.update(seat)


def batch(step, rank, size):
    """This rank's part of the batch of a step: points of a plane."""
    x = np.random.RandomState(step).randn(BATCH, 2).astype("float32")
    y = x @ np.array([[1.0], [-2.0]], "float32") + 0.3
    return dygraph.to_variable(x[rank::size]), dygraph.to_variable(y[rank::size])


def train_worker(config):
    """What each worker runs."""
    comm = distributed.init(timeout=SECONDS)
    if comm.size != train.get_context().get_world_size():
        raise RuntimeError(f"the workers must be ranks of one job, got {comm}")
    dygraph.seed(0)
    net = dygraph.nn.Linear(2, 1)
    optimizer = dygraph.optimizer.Adam(0.05, parameter_list=net.parameters())
    done = 0
    if found := train.get_checkpoint():
        with found.as_directory() as folder:
            path = os.path.join(folder, "last.ckpt")
            done = dygraph.checkpoint.load(path, net, optimizer).step
    for step in range(done, config["steps"]):
        if step == config["kill"] and done == 0 and comm.rank == comm.size - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        x, y = batch(step, comm.rank, comm.size)
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        for parameter in net.parameters():
            comm.all_reduce(parameter.grad, "mean")
        optimizer.step()
        optimizer.clear_grad()
        mean = float(comm.all_reduce(loss.detach().clone(), "mean"))
        if (step + 1) % 5 == 0:
            report(comm, net, optimizer, step + 1, mean, done)
        if step == 10:
            open(config["mark"], "w").close()
        time.sleep(config["pause"])


def report(comm, net, optimizer, step, loss, began):
    """Tell Ray where the training is; rank 0 gives it the checkpoint from which to resume."""
    metrics = {"step": step, "loss": loss, "workers": comm.size, "began": began}
    with tempfile.TemporaryDirectory() as folder:
        kept = None
        if comm.rank == 0:
            dygraph.checkpoint.save(os.path.join(folder, "last.ckpt"), net, optimizer, step=step)
            kept = train.Checkpoint.from_directory(folder)
            print(f"step {step}: loss {loss:.4f}, {comm.size} workers", flush=True)
        train.report(metrics, checkpoint=kept)


def grow(address, mark, nodes):
    """Start a second node of the cluster, on this machine, once training has begun."""
    while not os.path.exists(mark):
        time.sleep(0.1)
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--num-cpus=1", "--block"]
    nodes.append(subprocess.Popen([*command, f"--address={address}"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--kill", type=int, default=-1, help="a worker dies in this step")
    parser.add_argument("--grow", action="store_true", help="from one worker to two")
    options = parser.parse_args()
    if options.grow:  # two nodes on this machine; the second one comes when training has begun
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        ray.init(address=cluster.address, log_to_driver=True)
    else:
        ray.init(num_cpus=2)
    with tempfile.TemporaryDirectory() as storage:
        mark = os.path.join(storage, "training has begun")
        trainer = DataParallelTrainer(
            train_worker,
            train_loop_config={
                "steps": options.steps,
                "kill": options.kill,
                "mark": mark,
                "pause": 0.2 if options.grow else 0.0,
            },
            backend_config=MpiConfig(),
            scaling_config=train.ScalingConfig(
                num_workers=(1, 2) if options.grow else 2,
                resources_per_worker={"CPU": 1},
                elastic_resize_monitor_interval_s=5,
            ),
            run_config=train.RunConfig(
                storage_path=storage, failure_config=train.FailureConfig(max_failures=3)
            ),
        )
        if options.grow:
            nodes = []
            arguments = (cluster.address, mark, nodes)
            threading.Thread(target=grow, args=arguments, daemon=True).start()
        result = trainer.fit()
    if options.grow:
        ray.shutdown()
        for node in nodes:
            node.terminate()
            node.wait()
        cluster.shutdown()
    print({name: result.metrics[name] for name in ("step", "loss", "workers", "began")})


if __name__ == "__main__":
    main()
