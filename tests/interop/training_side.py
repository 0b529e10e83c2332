"""Paddle trains a program of which it has the forward part; run by a Python with Paddle 2.6.2.

``training_side.py JOB RESULT`` reads the arrays of `translator.job` and writes the losses.
"""

import sys

import numpy as np
import paddle
from paddle import base


def main(job, result):
    paddle.enable_static()
    place = paddle.CPUPlace()
    with np.load(job) as file:
        arrays = dict(file)
    program = paddle.static.Program.parse_from_string(arrays["program"].tobytes())
    block = program.global_block()
    names, feed = [], {}
    for key, value in arrays.items():
        kind, _, name = key.partition(" ")
        if kind == "parameter":
            names.append(name)
            block.var(name).stop_gradient = False
        elif kind == "feed":
            feed[name] = base.create_lod_tensor(value, [arrays[f"lengths {name}"].tolist()], place)
    loss = block.var(str(arrays["loss"]))
    with paddle.static.program_guard(program, paddle.static.Program()):
        rate = paddle.static.create_global_var(
            [1], float(arrays["rate"]), "float32", persistable=True, name="rate"
        )
        for parameter, gradient in paddle.static.append_backward(loss, parameter_list=names):
            block.append_op(
                type="sgd", inputs={"Param": parameter, "Grad": gradient, "LearningRate": rate},
                outputs={"ParamOut": parameter},
            )  # fmt: skip
    values = {name: arrays[f"parameter {name}"] for name in names}
    values["rate"] = np.full([1], arrays["rate"], "float32")
    found = []
    for _ in range(int(arrays["steps"])):
        # Paddle adds up gradients in arrays that the step before left in the scope.
        scope = paddle.static.Scope()
        for name, value in values.items():
            scope.var(name).get_tensor().set(value, place)
        with paddle.static.scope_guard(scope):
            executor = paddle.static.Executor(place)
            found.append(executor.run(program, feed=feed, fetch_list=[loss])[0].item())
        values = {name: np.array(scope.find_var(name).get_tensor()) for name in values}
    np.savez(result, losses=np.array(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
