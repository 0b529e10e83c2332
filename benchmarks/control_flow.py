"""Loops and choices in programs: what a turn costs beside its operators.

    python benchmarks/control_flow.py [rounds]

A turn is a loop of 8 elementwise operators on 8x8, a counter and a comparison, on one thread; its
operators do next to nothing. Beside it: the same loop in Python by PyTorch, and by TorchScript;
beside DynamicRNN a loop over PyTorch's packed sequences, with the same cell, by both.
"""

import itertools
import sys

import peer
import report

TURNS, SIZE, HIDDEN, KEPT = 1000, 8, 128, 9
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


def looped(backward=False, asks=None):
    """The loop; each turn asks nothing, a "comparison" of its own, or what is "known" before it."""

    def setup():
        import numpy as np

        from dygraph import static
        from dygraph.static import layers

        program = static.Program()
        with static.program_guard(program, static.Program()):
            x = static.data("x", [SIZE, SIZE])
            x.stop_gradient = False
            i, n, more = counted(layers, TURNS)
            s = layers.assign(x)
            s.stop_gradient = False
            known = layers.less_than(i, n)
            loop = layers.While(more)

            def write():
                layers.assign(y, output=s)

            with loop.block():
                y = s
                for _ in range(4):
                    y = layers.relu(y) * x
                if asks:
                    question = known if asks == "known" else layers.less_than(i, n)
                    layers.cond(question, write)
                else:
                    write()
                layers.increment(i)
                layers.less_than(i, n, cond=more)
            wanted = [layers.mean(s)]
            if backward:
                wanted += static.gradients(wanted[0], x)
        executor, scope = static.Executor(), static.Scope()
        feed = {"x": np.ones((SIZE, SIZE), "float32")}
        return repeated(lambda: executor.run(program, feed, wanted, scope=scope))

    return setup


def keeping(wanted, memory=False):
    """A captured loop, forward alone, of 9 values a turn that its gradient reads, if it is wanted.

    All live until the end of their turn, wanted or not, so that what differs is the keeping. With
    `memory` a run gives the most bytes that it took.
    """

    import dygraph

    def function(x):
        i = dygraph.zeros([1], "int64")
        while i < TURNS:
            values = []
            for _ in range(KEPT):
                x = dygraph.ops.relu(x)
                values.append(x)
            x = dygraph.stack(values).mean(axis=0)
            i = i + 1
        return x

    def setup():
        from dygraph import jit

        x = dygraph.ones([SIZE, SIZE])
        x.stop_gradient = not wanted
        call = jit.to_static(function)
        call(x)
        if not memory:
            return repeated(lambda: call(x))

        def most(count):
            dygraph.memory.reset_peak()
            before = dygraph.memory.used()
            for _ in itertools.repeat(None, count):
                call(x)
            return dygraph.memory.peak() - before

        return most

    return setup


def ragged(train):
    """A user's LSTM cell over sequences of different lengths."""

    def setup():
        import numpy as np

        import dygraph
        from dygraph import static
        from dygraph.static import layers

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
        "choice": looped(asks="comparison"),
        "question": looped(asks="known"),
        "forward": keeping(wanted=False),
        "keeping": keeping(wanted=True),
        "memory": keeping(wanted=False, memory=True),
        "kept memory": keeping(wanted=True, memory=True),
        "ragged": ragged(False),
        "ragged scripted": ragged(False),
        "ragged training": ragged(True),
        "ragged training scripted": ragged(True),
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

    def asking(x, s, n: int, known):
        i = 0
        while i < n:
            y = s
            for _ in range(4):
                y = torch.relu(y) * x
            if known:
                s = y
            i += 1
        return s.mean()

    def kept(x, n: int, values: int):
        i = 0
        while i < n:
            all = []
            for _ in range(values):
                x = torch.relu(x)
                all.append(x)
            x = torch.stack(all).mean(0)
            i += 1
        return x

    def inference(script):
        def setup():
            x = torch.ones(SIZE, SIZE)
            call = torch.jit.script(turns) if script else turns

            def run():
                with torch.no_grad():
                    call(x, x, TURNS)

            return repeated(run)

        return setup

    def question():
        x, known = torch.ones(SIZE, SIZE), torch.tensor([True])

        def run():
            with torch.no_grad():
                asking(x, x, TURNS, known)

        return repeated(run)

    def training():
        x = torch.ones(SIZE, SIZE, requires_grad=True)

        def run():
            x.grad = None
            turns(x, x, TURNS).backward()

        return repeated(run)

    def keeping(wanted):
        def setup():
            x = torch.ones(SIZE, SIZE, requires_grad=wanted)
            return repeated(lambda: kept(x, TURNS, KEPT))

        return setup

    return {
        "inference": inference(script=False),
        "scripted": inference(script=True),
        "training": training,
        "question": question,
        "forward": keeping(False),
        "keeping": keeping(True),
        "ragged": packed(script=False, train=False),
        "ragged scripted": packed(script=True, train=False),
        "ragged training": packed(script=False, train=True),
        "ragged training scripted": packed(script=True, train=True),
    }


def packed(script, train):
    """The cell of `ragged` over packed sequences; they come packed, and the results stay packed."""

    def setup():
        import torch
        from torch.nn.utils.rnn import pack_sequence

        def steps(data, counts: list[int], wx, wh, b):
            h = torch.zeros(counts[0], wh.size(0))
            c = torch.zeros(counts[0], wh.size(0))
            outs, at = [], 0
            for n in counts:
                now = data[at : at + n]
                at += n
                gates = now @ wx + h[:n] @ wh + b
                i, f, o, g = gates.chunk(4, dim=1)
                c = torch.sigmoid(f) * c[:n] + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                outs.append(h)
            return torch.cat(outs).mean()

        torch.manual_seed(0)
        batch = pack_sequence([torch.randn(n, HIDDEN) for n in LENGTHS], enforce_sorted=False)
        counts = batch.batch_sizes.tolist()
        weights = [torch.randn(HIDDEN, 4 * HIDDEN) * 0.1 for _ in range(2)]
        weights.append(torch.zeros(4 * HIDDEN))
        call = torch.jit.script(steps) if script else steps
        if not train:

            def forward():
                with torch.no_grad():
                    call(batch.data, counts, *weights)

            return repeated(forward)
        for weight in weights:
            weight.requires_grad_()
        optimizer = torch.optim.SGD(weights, 0.01)

        def step():
            optimizer.zero_grad()
            call(batch.data, counts, *weights).backward()
            optimizer.step()

        return repeated(step)

    return setup


def main(rounds):
    table = report.Report("control_flow", "Loops and choices in programs, 1 thread")
    with peer.Side(__file__, "ours", 1) as us, peer.Side(__file__, "torch", 1) as torch:

        def both(case):
            """Seconds of ours, of torch, and the ratio."""
            medians, ratios = peer.interleave([us, torch], case, rounds)
            return medians["ours"], medians["torch"], ratios["torch"]

        def of(case):
            return peer.interleave([us], case, rounds)[0]["ours"]

        def beyond(more, less, turns=1):
            return max(more - less, 0.0) / turns

        ours, theirs, ratio = both("inference")
        turn, their_turn = ours / TURNS, theirs / TURNS
        table.add("a turn of 10 small operators", turn, their_turn, ratio, most=1.5e-6)
        ours, theirs, ratio = both("scripted")
        table.add("the same beside TorchScript", ours / TURNS, theirs / TURNS, ratio)
        ours, theirs, ratio = both("training")
        table.add(
            "a turn forward and backward", ours / TURNS, theirs / TURNS, ratio, most=5e-6
        )  # fmt: skip
        (without, their_without, _), (ours, theirs, _) = both("forward"), both("keeping")
        table.add(
            f"keeping {KEPT} values a turn", beyond(ours, without, TURNS),
            beyond(theirs, their_without, TURNS), most=0.3e-6,
        )  # fmt: skip
        table.add(
            f"memory of keeping {KEPT} values in each of {TURNS} turns",
            us.run("kept memory")[1] - us.run("memory")[1],
            most=1.1 * TURNS * KEPT * SIZE * SIZE * 4, form=report.megabytes,
        )  # fmt: skip
        ours, theirs, _ = both("question")
        table.add(
            "a question on a taken way", beyond(ours / TURNS, turn),
            beyond(theirs / TURNS, their_turn), most=0.15e-6,
        )  # fmt: skip
        table.add("a choice, with its comparison", beyond(of("choice") / TURNS, turn), most=0.3e-6)
        for case, what, most in (
            ("ragged", "forward", 41e-3), ("ragged training", "a step of training", 80e-3)
        ):  # fmt: skip
            table.add(f"DynamicRNN with a user's LSTM cell, {what}", *both(case), most=most)
            table.add("the same beside TorchScript", *both(f"{case} scripted"))
        table.add(
            "calling a captured network of 3 layers, beyond its program's run",
            beyond(of("captured"), of("program")), most=2e-6,
        )  # fmt: skip
        table.add("the same, forward and backward", of("captured step"))
        table.add("the same, eager", of("eager step"))
        table.add("exploring 20 operators and 2 questions", of("explored small"), most=20e-3)
        table.add("exploring 1,000 operators and 100 questions", of("explored large"), most=3.0)
    table.note(
        "Keeping, and a question: the difference of two loops; torch's is that of eager calls with "
        "and without a gradient, and of Python's if. Values that are kept are 8x8 float32."
    )
    table.note(
        "DynamicRNN: 32 sequences of 5 to 200 steps, hidden size 128. torch's come packed, and its "
        "results stay so. TorchScript's loop counts with Python's int, ours with a tensor that is "
        "compared."
    )
    table.finish()


if __name__ == "__main__":
    if "--worker" in sys.argv[1:2]:
        peer.serve(ours() if sys.argv[2] == "ours" else torchs())
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10)
