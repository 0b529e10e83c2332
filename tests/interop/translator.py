"""An encoder and a decoder with attention, as Fluid's book has them; we and Paddle train them.

Every element of a DynamicRNN is there: a step input, a static input, a memory with an initial value
that is reordered, one that is updated, an output. Paddle computes the gradient with its own
operators, from the forward part alone.
"""

import hashlib

import numpy as np

import dygraph
from dygraph import static, unique_name
from dygraph.static import layers
from interop import exchange

WORDS, WIDTH, RATE, STEPS = 12, 6, 0.3, 5


def ragged(rows, lengths):
    return dygraph.to_variable(rows, lod=[np.cumsum([0, *lengths]).tolist()])


def feeds():
    """Sentences of different lengths."""
    rng = np.random.RandomState(7)
    lengths = {"source": [3, 1, 4, 2], "before": [2, 4, 1, 3]}
    lengths["after"] = lengths["before"]
    return {
        name: ragged(rng.randint(0, WORDS, (sum(n), 1)).astype("int64"), n)
        for name, n in lengths.items()
    }


def attended(states, projected, hidden):
    wanted = layers.sequence_expand(layers.fc(hidden, WIDTH, param_attr="wanted"), projected)
    fit = layers.fc(layers.tanh(projected + wanted), 1, param_attr="fit", bias_attr=False)
    return layers.sequence_pool(states * layers.sequence_softmax(fit), "sum")


def described(train):
    """(program, startup program, loss)."""
    main, startup = static.Program(), static.Program()
    startup.random_seed = 3
    with static.program_guard(main, startup), unique_name.guard():
        source, before, after = (
            static.data(n, [None, 1], "int64", lod_level=1) for n in ("source", "before", "after")
        )
        seen, said = (
            layers.embedding(x, [WORDS, WIDTH], param_attr=name)
            for x, name in ((source, "source words"), (before, "target words"))
        )
        states = layers.fc(seen, WIDTH, act="tanh", param_attr="states")
        projected = layers.fc(states, WIDTH, param_attr="projected", bias_attr=False)
        first = layers.fc(layers.sequence_last_step(states), WIDTH, act="tanh", param_attr="first")
        rnn = layers.DynamicRNN()
        with rnn.block():
            word = rnn.step_input(said)
            hidden = rnn.memory(init=first, need_reorder=True)
            context = attended(rnn.static_input(states), rnn.static_input(projected), hidden)
            parts = [word, context, hidden]
            now = layers.fc(parts, WIDTH, act="tanh", param_attr=["in", "context", "hidden"])
            rnn.update_memory(hidden, now)
            rnn.output(layers.fc(now, WORDS, act="softmax", param_attr="next"))
        loss = layers.mean(layers.cross_entropy(rnn(), after))
        if train:
            static.optimizer.SGD(RATE).minimize(loss)
    return main, startup, loss


def parameters(main, startup):
    """The values that training begins with."""
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    return {p.name: np.array(scope.find_var(p.name).get_tensor()) for p in main.all_parameters()}


def job():
    """What Paddle's side reads: arrays by name."""
    main, startup, loss = described(train=False)
    found = {f"parameter {k}": v for k, v in parameters(main, startup).items()}
    for name, value in feeds().items():
        found[f"feed {name}"], found[f"lengths {name}"] = value.numpy(), np.diff(value.lod()[0])
    program = np.frombuffer(exchange.bare(main), "uint8")
    return found | {
        "program": program, "loss": np.array(loss.name), "rate": np.float32(RATE),
        "steps": np.array(STEPS),
    }  # fmt: skip


def sum_of(arrays):
    """SHA-256 of a job."""
    found = hashlib.sha256()
    for key in sorted(set(arrays) - {"losses"}):
        found.update(key.encode() + np.ascontiguousarray(arrays[key]).tobytes())
    return found.hexdigest()


def losses(arrays):
    """Ours, from the same values."""
    main, _, loss = described(train=True)
    executor, scope, startup = static.Executor(), static.Scope(), described(train=True)[1]
    executor.run(startup, scope=scope)
    for key, value in arrays.items():
        if key.startswith("parameter "):
            scope.var(key.removeprefix("parameter ")).get_tensor().set(value, dygraph.CPUPlace())
    feed = {
        name: ragged(arrays[f"feed {name}"], arrays[f"lengths {name}"])
        for name in ("source", "before", "after")
    }
    return [
        executor.run(main, feed=feed, fetch_list=[loss], scope=scope)[0].item()
        for _ in range(int(arrays["steps"]))
    ]
