"""A job that resumes: the program of docs/clusters.md. It fits a line on any number of ranks.

    python -m dygraph.distributed.run -n 2 --max-restarts 2 examples/cluster/train.py last.ckpt

All ranks read the checkpoint, which rank 0 writes; so it lies where all see it. The step and the
state of the optimizer are in it, so no step is lost or counted twice.
"""

import os
import sys

import numpy as np

import dygraph
from dygraph import distributed

STEPS, BATCH = 60, 32


def main():
    path = sys.argv[1]
    comm = distributed.init(timeout=120)
    dygraph.seed(0)  # equal first weights on all ranks
    net = dygraph.nn.Linear(1, 1)
    optimizer = dygraph.optimizer.Adam(0.1, parameter_list=net.parameters())
    step = 0
    if os.path.exists(path):
        step = dygraph.checkpoint.load(path, net, optimizer).step
    while step < STEPS:
        x = np.random.RandomState(step).rand(BATCH, 1).astype("float32")[comm.rank :: comm.size]
        x = dygraph.to_variable(x)
        loss = ((net(x) - (3 * x - 1)) ** 2).mean()
        loss.backward()
        for parameter in net.parameters():
            comm.all_reduce(parameter.grad, "mean")
        optimizer.step()
        optimizer.clear_grad()
        step += 1
        if comm.rank == 0 and step % 10 == 0:
            dygraph.checkpoint.save(path, net, optimizer, step=step)
            print(f"step {step}: loss {loss.item():.5f} on {comm.size} ranks", flush=True)


if __name__ == "__main__":
    main()
