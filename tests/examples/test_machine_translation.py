"""The machine translation with attention and beam search, as a newcomer runs it."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from example_run import OUT, ROOT, number_after, run


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import machine_translation

    return machine_translation


@pytest.mark.slow
def test_machine_translation_reaches_its_score():
    text = run("machine_translation")
    assert number_after(text, "right") >= 0.95
    assert number_after(text, "loss") > 2  # at first
    assert number_after(text, "at first,") < 0.02
    assert "gives the same" in text
    assert {p.name for p in (OUT / "translation").iterdir()} >= {"__model__", "__params__"}


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (0, "zero = zéro"),
        (17, "seventeen = dix sept"),
        (21, "twenty one = vingt et un"),
        (71, "seventy one = soixante et onze"),
        (79, "seventy nine = soixante dix neuf"),
        (80, "eighty = quatre vingt"),
        (81, "eighty one = quatre vingt un"),
        (99, "ninety nine = quatre vingt dix neuf"),
        (100, "one hundred = cent"),
        (391, "three hundred ninety one = trois cent quatre vingt onze"),
    ],
)
def test_the_corpus(example, n, words):
    assert f"{' '.join(example.english(n))} = {' '.join(example.french(n))}" == words


def test_it_learns_twelve_sentences_by_heart(example, tmp_path, monkeypatch):
    monkeypatch.setattr(example, "WIDTH", 24)
    pairs = [(example.english(n), example.french(n)) for n in range(0, 996, 83)]
    source, target = (example.Language(side) for side in zip(*pairs, strict=True))
    pairs = [(source.ids(e), target.ids(f)) for e, f in pairs]
    questions, answers = zip(*pairs, strict=True)
    learner, translator, startup = static.Program(), static.Program(), static.Program()
    startup.random_seed = 3
    sizes = len(source.words), len(target.words)
    with dygraph.unique_name.guard(), static.program_guard(learner, startup):
        loss = example.teach(*sizes)
    with dygraph.unique_name.guard(), static.program_guard(translator):
        results = list(example.translate(*sizes))
    executor = static.Executor()
    with static.scope_guard(static.Scope()):
        executor.run(startup)
        losses = example.train(executor, learner, loss, pairs, epochs=60, batch_size=4)
        ids, scores = example.run(executor, translator, results, questions)
        names = ["words", "begin", "begin_scores"]
        static.save_inference_model(tmp_path, names, results, executor, translator)
    # The first loss is that of words drawn evenly; it falls.
    assert losses[0] == pytest.approx(np.log(sizes[1]), rel=0.1)
    assert max(losses[20:30]) < 0.5 * losses[0]
    assert max(losses[-5:]) < 0.05
    # Every sentence begins, is right, and ends; its beams come best first and differ.
    assert example.best(ids) == [[0, *a, 1] for a in answers]
    beams, words = ids.lod()
    assert len(beams) == len(questions) + 1
    assert scores.lod() == [beams, words]
    for first, last in zip(beams[:-1], beams[1:], strict=True):
        spans = zip(words[first:last], words[first + 1 : last + 1], strict=True)
        mine = [ids.numpy()[a:b].tolist() for a, b in spans]
        marks = [float(scores.numpy()[b - 1]) for b in words[first + 1 : last + 1]]
        assert 1 <= len(mine) <= example.BEAMS
        assert len({tuple(m) for m in mine}) == len(mine)
        assert marks == sorted(marks, reverse=True)
        assert marks[0] > np.log(0.8)  # sure of it
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = static.load_inference_model(tmp_path, executor)
        again = example.run(executor, program, fetches, questions)
    assert feeds == names
    for kept, loaded in zip((ids, scores), again, strict=True):
        assert np.array_equal(kept.numpy(), loaded.numpy())
        assert kept.lod() == loaded.lod()
