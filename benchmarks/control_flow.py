"""Loops and choices in programs: what a turn costs beside its operators.

    python benchmarks/control_flow.py [rounds]

A turn is a loop of 8 elementwise operators on 8x8, a counter and a comparison, on one thread; its
operators do next to nothing. Beside it: the same loop in Python by PyTorch, and by TorchScript.
"""

import itertools
import sys

import peer
import report

TURNS, SIZE, HIDDEN = 1000, 8, 128
LENGTHS = [5 + round(195 * i / 31) for i in range(32)]  # of the ragged batch


# Our side -----------------------------------------------------------------------------------------


def counted(layers, turns):
    i = layers.fill_constant([1], "int64", 0)
    n = layers.fill_constant([1], "int64", turns)
    return i, n, layers.less_than(i, n)


def repeated(run):
    def several(count):
        for _ in itertools.repeat(None, count):
            run()

    return several


def looped(backward=False, choice=False):
    def setup():
        import numpy as np

        import static
        from static import layers

        program = static.Program()
        with static.program_guard(program, static.Program()):
            x = static.data("x", [SIZE, SIZE])
            x.stop_gradient = False
            i, n, more = counted(layers, TURNS)
            s = layers.assign(x)
            s.stop_gradient = False
            loop = layers.While(more)
            with loop.block():
                y = s
                for _ in range(4):
                    y = layers.relu(y) * x
                if choice:
                    with layers.Switch() as switch, switch.case(layers.less_than(i, n)):
                        layers.assign(y, output=s)
                else:
                    layers.assign(y, output=s)
                layers.increment(i)
                layers.less_than(i, n, cond=more)
            wanted = [layers.mean(s)]
            if backward:
                wanted += static.gradients(wanted[0], x)
        executor, scope = static.Executor(), static.Scope()
        feed = {"x": np.ones((SIZE, SIZE), "float32")}
        return repeated(lambda: executor.run(program, feed, wanted, scope=scope))

    return setup


def ragged(train):
    """A user's LSTM cell over sequences of different lengths."""

    def setup():
        import numpy as np

        import dygraph
        import static
        from static import layers

        program, startup = static.Program(), static.Program()
        with static.program_guard(program, startup):
            x = static.data("x", [None, HIDDEN], lod_level=1)
            rnn = layers.DynamicRNN()
            with rnn.block():
                now = rnn.step_input(x)
                h, c = rnn.memory(shape=[HIDDEN]), rnn.memory(shape=[HIDDEN])
                gates = layers.fc([now, h], 4 * HIDDEN)
                i, f, o, g = layers.split(gates, 4, dim=1)
                cell = layers.sigmoid(f) * c + layers.sigmoid(i) * layers.tanh(g)
                out = layers.sigmoid(o) * layers.tanh(cell)
                rnn.update_memory(h, out)
                rnn.update_memory(c, cell)
                rnn.output(out)
            wanted = [layers.mean(rnn())]
            if train:
                static.optimizer.SGD(0.01).minimize(wanted[0])
        executor, scope = static.Executor(), static.Scope()
        executor.run(startup, scope=scope)
        offsets = [0, *itertools.accumulate(LENGTHS)]
        rows = np.random.default_rng(0).standard_normal((offsets[-1], HIDDEN)).astype("float32")
        feed = {"x": dygraph.to_variable(rows, lod=[offsets])}
        return repeated(lambda: executor.run(program, feed, wanted, scope=scope))

    return setup


def small_layers():
    from dygraph import nn

    return nn.Sequential(nn.Linear(SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, SIZE))


def captured(by_hand=False):
    """A call of a captured network of three layers; by hand: the run of its program alone."""

    def setup():
        import dygraph
        from dygraph import _core, jit

        x = dygraph.ones([SIZE, SIZE])
        with dygraph.no_grad():
            net = jit.to_static(small_layers())
            net(x)
        if by_hand:
            entry = net.entry(x)
            prepared = _core.PreparedProgram(
                entry.program.desc, entry.scope, entry.feeds, entry.fetches, None
            )
            return repeated(lambda: prepared.run([x]))

        def several(count):
            with dygraph.no_grad():
                for _ in itertools.repeat(None, count):
                    net(x)

        return several

    return setup


def step(capture):
    """A forward call and backward() of the same network."""

    def setup():
        import dygraph
        from dygraph import jit

        x, net = dygraph.ones([SIZE, SIZE]), small_layers()
        call = jit.to_static(net) if capture else net
        return repeated(lambda: call(x).sum().backward())

    return setup


def explored(questions, operators):
    """Exploring, without proof, a function that asks so often."""

    def function(x):
        for i in range(questions):
            if x.sum() > i:
                x = x + 1
            for _ in range(operators // questions - 3):
                x = x * 0.5
        return x

    def setup():
        import dygraph
        from dygraph import jit

        x = dygraph.ones([SIZE, SIZE])
        return repeated(lambda: jit.to_static(function, verify=False).entry(x))

    return setup


def ours():
    return {
        "captured": captured(),
        "program": captured(by_hand=True),
        "captured step": step(capture=True),
        "eager step": step(capture=False),
        "explored small": explored(2, 20),
        "explored large": explored(100, 1000),
        "inference": looped(),
        "scripted": looped(),
        "training": looped(backward=True),
        "choice": looped(choice=True),
        "ragged": ragged(False),
        "ragged training": ragged(True),
    }


# PyTorch ------------------------------------------------------------------------------------------


def torchs():
    import torch

    def turns(x, s, n: int):
        i = 0
        while i < n:
            y = s
            for _ in range(4):
                y = torch.relu(y) * x
            s = y
            i += 1
        return s.mean()

    def inference(script):
        def setup():
            x = torch.ones(SIZE, SIZE)
            call = torch.jit.script(turns) if script else turns

            def run():
                with torch.no_grad():
                    call(x, x, TURNS)

            return repeated(run)

        return setup

    def training():
        x = torch.ones(SIZE, SIZE, requires_grad=True)

        def run():
            x.grad = None
            turns(x, x, TURNS).backward()

        return repeated(run)

    return {
        "inference": inference(script=False),
        "scripted": inference(script=True),
        "training": training,
    }


def main(rounds):
    table = report.Report("control_flow", "Loops and choices in programs, 1 thread")
    with peer.Side(__file__, "ours", 1) as us, peer.Side(__file__, "torch", 1) as torch:
        medians, ratios = peer.interleave([us, torch], "inference", rounds)
        turn = medians["ours"] / TURNS
        table.add(
            "a turn of 10 small operators", turn, medians["torch"] / TURNS, ratios["torch"],
            most=1.5e-6,
        )  # fmt: skip
        scripted, ratios = peer.interleave([us, torch], "scripted", rounds)
        table.add(
            "the same beside TorchScript", scripted["ours"] / TURNS, scripted["torch"] / TURNS,
            ratios["torch"],
        )  # fmt: skip
        medians, ratios = peer.interleave([us, torch], "training", rounds)
        table.add(
            "a turn forward and backward", medians["ours"] / TURNS, medians["torch"] / TURNS,
            ratios["torch"], most=5e-6,
        )  # fmt: skip
        asked = peer.interleave([us], "choice", rounds)[0]["ours"] / TURNS
        table.add("a choice, with its comparison", max(asked - turn, 0.0), most=0.3e-6)
        for case, most in (("ragged", 41e-3), ("ragged training", 80e-3)):
            seconds = peer.interleave([us], case, rounds)[0]["ours"]
            what = "forward" if case == "ragged" else "a step of training"
            table.add(f"DynamicRNN with a user's LSTM cell, {what}", seconds, most=most)

        def of(case):
            return peer.interleave([us], case, rounds)[0]["ours"]

        table.add(
            "calling a captured network of 3 layers, beyond its program's run",
            max(of("captured") - of("program"), 0.0), most=2e-6,
        )  # fmt: skip
        table.add("the same, forward and backward", of("captured step"))
        table.add("the same, eager", of("eager step"))
        table.add("exploring 20 operators and 2 questions", of("explored small"), most=20e-3)
        table.add("exploring 1,000 operators and 100 questions", of("explored large"), most=3.0)
    table.note(
        "DynamicRNN: 32 sequences of 5 to 200 steps, hidden size 128. TorchScript's loop counts "
        "with Python's int, ours with a tensor that is compared."
    )
    table.finish()


if __name__ == "__main__":
    if "--worker" in sys.argv[1:2]:
        peer.serve(ours() if sys.argv[2] == "ours" else torchs())
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10)
