"""What Paddle makes of ragged batches; run by an interpreter that has paddlepaddle 2.6.2.

``ragged_side.py MODEL FEED RESULT`` runs the inference model in the folder MODEL. FEED and RESULT
are ``.npz`` files: an array by its name, and its level of detail k as offsets by ``name@k``; the
results are numbered.
"""

import sys

import numpy as np
import paddle
from paddle import base


def tensor(feed, name):
    """An array with its levels of detail."""
    levels = [np.diff(feed[k]).tolist() for k in sorted(feed) if k.startswith(name + "@")]
    place = paddle.CPUPlace()
    return base.create_lod_tensor(feed[name], levels, place) if levels else feed[name]


def main(model, feed, result):
    paddle.enable_static()
    executor = paddle.static.Executor(paddle.CPUPlace())
    program, names, fetches = paddle.static.io.load_inference_model(
        model, executor, model_filename="__model__", params_filename="__params__"
    )
    with np.load(feed) as file:
        feed = dict(file)
    values = executor.run(
        program, feed={n: tensor(feed, n) for n in names}, fetch_list=fetches, return_numpy=False
    )
    found = {}
    for i, value in enumerate(values):
        found[str(i)] = np.array(value)
        found.update({f"{i}@{k}": np.array(level) for k, level in enumerate(value.lod())})
    np.savez(result, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
