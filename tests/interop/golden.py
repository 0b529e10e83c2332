"""Write the golden files anew: ``DYGRAPH_PADDLE_PYTHON=... python tests/interop/golden.py``."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]  # tests/dygraph is no package

from interop import exchange, translator  # noqa: E402

GOLDEN = HERE / "golden"


def paddle(*arguments, side="paddle_side.py"):
    """Run the side of Paddle."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [os.environ["DYGRAPH_PADDLE_PYTHON"], str(HERE / side), *map(str, arguments)],
        env={**environment, "GLOG_minloglevel": "2"}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"Paddle's side ended with {done.returncode}:\n{done.stderr[-4000:]}")


def results(root, jobs):
    """Paddle's arrays, ``job/name``."""
    return {
        f"{job}/{name}": value
        for job in jobs
        for name, value in exchange.read_arrays(Path(root, job, "result.npz")).items()
    }


def train_translator(folder):
    """What `translator` asks of Paddle, with the losses that Paddle computes."""
    job, result = Path(folder, "job.npz"), Path(folder, "losses.npz")
    arrays = translator.job()
    np.savez(job, **arrays)
    paddle(job, result, side="training_side.py")
    return arrays | exchange.read_arrays(result)


def main():
    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir()
    paddle("write", GOLDEN)
    folders = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
    with tempfile.TemporaryDirectory() as root:
        jobs = exchange.write_jobs(root)
        paddle("run", root)
        kept = results(root, jobs)
        arrays = train_translator(root)
        # of a training the losses say enough here; the live test compares every weight
        np.savez_compressed(
            GOLDEN / "results.npz", **{k: v for k, v in kept.items() if "/after " not in k}
        )
        record = {
            "written by Paddle": {
                "inference": folders,
                "blocks": sorted(
                    key.split("/")[0]
                    for key in exchange.read_arrays(GOLDEN / "blocks.npz")
                    if "/model" in key
                ),
                "training": [n for n in folders if (GOLDEN / n / "train.main").exists()],
            },
            "read by Paddle": exchange.sums_of(root),
            "translator": {"job": translator.sum_of(arrays), "losses": arrays["losses"].tolist()},
        }
    (GOLDEN / "record.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
