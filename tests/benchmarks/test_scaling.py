"""The simulator of docs/scaling.md: its formulas by hand, published curves, the page's tables."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("scaling", ROOT / "benchmarks" / "scaling.py")
scaling = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scaling)
NET = scaling.Network(latency=1e-3, bandwidth=1e6)


def test_formulas_by_hand():
    # 4 ranks, 4 MB at 1 MB/s: 6 messages of 1 s each in a ring; 6 MB in 4 messages in halves.
    assert scaling.ring(4, 4e6, NET) == pytest.approx(6 * 1.001)
    assert scaling.halves(4, 4e6, NET) == pytest.approx(6 + 4e-3)
    assert scaling.ring(1, 4e6, NET) == scaling.halves(1, 4e6, NET) == 0
    # A server of two gets 8 MB from 4 ranks; with one server for each rank a link carries 4 MB.
    assert scaling.servers(4, 4e6, NET, 2) == pytest.approx(8 + 2e-3)
    assert scaling.servers(4, 4e6, NET, 4) == pytest.approx(4 + 2e-3)
    assert scaling.servers(4, 4e6, NET, 4, beside=True) == pytest.approx(6 + 2e-3)
    # 100 ranks that live 100,000 s: a failure in 1,000 s; sqrt(2 * 5 * 1000) - 5 = 95 s.
    part, interval = scaling.useful(100, 1e5, 5, 12.5)
    assert interval == pytest.approx(95) and part == pytest.approx(1 - 5 / 100 - 60 / 1000)


def test_steps_by_hand():
    def nothing(ranks, size, network):
        return 0.0

    def second(ranks, size, network):
        return 1.0 if ranks > 1 else 0.0

    quiet = scaling.Job(compute=3.0, size=1.0, network=NET, jitter=0.0)
    assert scaling.step(8, quiet, nothing) == pytest.approx(3.0)
    # Each of the 25 transfers takes longer than the time between buckets: the first one waits for
    # its bucket, the others for the network.
    assert scaling.step(8, quiet, second) == pytest.approx(1 + 2 / 25 + 25)
    late = quiet._replace(overlap=0.0)
    assert scaling.step(8, late, second) == pytest.approx(3 + 25)
    # The largest of 512 normal numbers is 3.04 on average.
    noisy = quiet._replace(jitter=0.1)
    assert scaling.step(512, noisy, nothing, steps=2000) == pytest.approx(3 * 1.304, rel=0.01)


def test_published_curves_are_within_15_percent():
    _, worst = scaling.check()
    assert worst < 0.15
    tensorflow = scaling.fitted(scaling.TENSORFLOW[0], 1.25e9)
    rows = scaling.errors(scaling.TENSORFLOW[1], tensorflow)
    assert [row[:2] for row in rows] == [(2, 751), (4, 1388), (8, 2744)]


def test_the_fit_finds_the_network_of_its_times():
    network = scaling.Network(2e-5, 3e9)
    rows = [(size, 0.0, scaling.halves(4, size, network)) for size in (4, 4096, 1 << 20, 1 << 25)]
    np.testing.assert_allclose(scaling.fit_line(rows, 4), network, rtol=1e-6)


def test_the_page_shows_what_the_script_prints():
    page = (ROOT / "docs" / "scaling.md").read_text()
    assert scaling.tables() in page and scaling.check()[0] in page
