"""Programs of Paddle's in which variables give attributes; run by way of paddle_side.py.

None has blocks: Paddle 2.6.2 cannot copy a program whose inner block has such an attribute.
"""

import numpy as np
import paddle
from paddle import static

import open_cases


def _variable(name, array, shape=None):
    made = static.data(name, array.shape if shape is None else shape, str(array.dtype))
    made.stop_gradient = False
    return made


def _described(case):
    """(feed, fetched names) of a program with the one operator and its gradient."""
    op, inputs, slot, attrs, _, wanted = open_cases.CASES[case]
    names, arrays = open_cases.variables(case)
    made = {n: _variable(n, v) for n, v in {**inputs, **arrays}.items()}
    open_attrs = {
        a: [made[n] for n in given] if isinstance(given, list) else made[given]
        for a, given in names.items()
    }
    block = static.default_main_program().global_block()
    outputs = {slot: block.create_var(name="result")}
    more = {"squeeze2": "XShape", "dropout": "Mask"}.get(op)
    if more:
        outputs[more] = block.create_var(name="more", stop_gradient=True)
    block.append_op(
        type=op, inputs={s: made[s] for s in inputs}, outputs=outputs, attrs={**attrs, **open_attrs}
    )
    fetched = {"out": "result"}
    if wanted and op not in open_cases.GRADIENT_NOT_READ:
        (gradient,) = static.gradients([outputs[slot]], [made[wanted]])
        fetched["grad"] = gradient.name
    return {**inputs, **arrays}, fetched


def write(executor, path, bare):
    kept = {}
    for case in open_cases.CASES:
        main = static.Program()
        with paddle.utils.unique_name.guard(), static.program_guard(main, static.Program()):
            feed, fetched = _described(case)
        with static.scope_guard(static.Scope()):
            results = executor.run(main, feed=feed, fetch_list=list(fetched.values()))
        kept.update({f"{case}/{key}": v for key, v in zip(fetched, results, strict=True)})
        kept[f"{case}/names"] = np.array(list(fetched.values()))
        kept[f"{case}/model"] = np.frombuffer(bare(main), "uint8")
    np.savez_compressed(path, **kept)


if __name__ == "__main__":  # this file alone anew
    import sys

    from paddle_side import bare

    paddle.enable_static()
    write(static.Executor(paddle.CPUPlace()), sys.argv[1], bare)
