"""Programs of Paddle's in which variables give attributes; run by way of paddle_side.py."""

import numpy as np
import open_cases
import paddle
from paddle import static
from paddle.static.nn import while_loop


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
    if wanted:
        (gradient,) = static.gradients([outputs[slot]], [made[wanted]])
        fetched["grad"] = gradient.name
    return {**inputs, **arrays}, fetched


def _loop():
    """A loop whose axis counts up, and its gradient."""
    x = _variable("X", open_cases.X[:2, :2, :2])
    n = static.data("n", [1], "int64")
    _, total = while_loop(
        lambda i, s: i < n,
        lambda i, s: [i + 1, s * paddle.sum(s, axis=i, keepdim=True)],
        [paddle.zeros([1], "int64"), x * 0.5],
    )
    (gradient,) = static.gradients([total], [x])
    feed = {"X": open_cases.X[:2, :2, :2], "n": np.array([3])}
    return feed, {"out": total.name, "grad": gradient.name}


def write(executor, path, bare):
    kept = {}
    for case in [*open_cases.CASES, "loop"]:
        main = static.Program()
        with paddle.utils.unique_name.guard(), static.program_guard(main, static.Program()):
            feed, fetched = _loop() if case == "loop" else _described(case)
        with static.scope_guard(static.Scope()):
            results = executor.run(main, feed=feed, fetch_list=list(fetched.values()))
        kept.update({f"{case}/{key}": v for key, v in zip(fetched, results, strict=True)})
        kept.update({f"{case}/name of {key}": np.array(v) for key, v in fetched.items()})
        kept.update({f"{case}/feed {key}": v for key, v in feed.items()})
        kept[f"{case}/model"] = np.frombuffer(bare(main), "uint8")
    np.savez_compressed(path, **kept)


if __name__ == "__main__":  # this file alone anew
    import sys

    from paddle_side import bare

    paddle.enable_static()
    write(static.Executor(paddle.CPUPlace()), sys.argv[1], bare)
