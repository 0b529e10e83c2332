"""Runs the habits of a library in the library itself: ``python tests/habits/record.py torch``.

Values go to ``recorded/<library>.json``. Fluid's come from the formulas in its file.
"""

import json
import os
import sys
import tempfile
import warnings

import numpy as np
from habit_table import ARRAYS, HERE, habits, plain, run


def names_of(library):
    """The names in the lines of a library, made anew."""
    arrays = {name: value.copy() for name, value in ARRAYS.items()}
    common = {"numpy": np, "np": np}
    if library in ("numpy", "fluid"):
        return {**common, **arrays}
    if library == "torch":
        import torch

        made = {name: torch.from_numpy(value) for name, value in arrays.items()}
        made["w"].requires_grad_()
        nn = torch.nn
        names = {"torch": torch, "nn": nn, "F": nn.functional, "optim": torch.optim}
        parameters = lambda net: net.parameters()  # noqa: E731
        constant = lambda p, value: nn.init.constant_(p, value)  # noqa: E731
    elif library == "paddle":
        import paddle

        made = {name: paddle.to_tensor(value) for name, value in arrays.items()}
        made["w"].stop_gradient = False
        names = {"paddle": paddle, "nn": paddle.nn, "F": paddle.nn.functional}
        parameters = lambda net: net.parameters()  # noqa: E731
        constant = lambda p, value: p.set_value(np.full(p.shape, value, "float32"))  # noqa: E731
    elif library == "jax":
        import jax
        import jax.numpy as jnp

        made = {name: jnp.asarray(value) for name, value in arrays.items()}
        return {**common, "jax": jax, "jnp": jnp, **made}
    else:
        os.environ["KERAS_BACKEND"] = "jax"
        import keras

        names = {"keras": keras, "layers": keras.layers, "ops": keras.ops}
        made = arrays
        parameters = lambda net: net.trainable_variables  # noqa: E731
        constant = lambda p, value: p.assign(np.full(p.shape, value, "float32"))  # noqa: E731
        names["net"] = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])

    def fill(net, value=0.1):
        for p in parameters(net):
            constant(p, value)
        return net

    return {**common, **names, **made, "fill": fill}


def main(library):
    """Record every habit of `library`."""
    values = {}
    os.chdir(tempfile.mkdtemp())  # for what the lines write
    for habit in habits(library):
        if habit.hint and not habit.here:
            continue  # it raises here, and nothing is compared
        try:
            names = names_of(library)
            values[habit.code] = plain(run(habit.formula or habit.code, names))
        except Exception as e:
            values[habit.code] = {"raises": type(e).__name__}
            print(f"raises {type(e).__name__}: {str(e)[:150]}\n    {habit.code!r}")
    (HERE / "recorded").mkdir(exist_ok=True)
    text = json.dumps(values, indent=0, ensure_ascii=False)
    (HERE / "recorded" / f"{library}.json").write_text(text + "\n")
    print(f"{library}: {len(values)} habits recorded")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
