"""Fluid's reader decorators: what they give, errors from threads, nothing left running."""

import random
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import dygraph
from dygraph import reader
from leftovers import left


def numbers(n=10):
    return lambda: iter(range(n))


def failing(after=3):
    def read():
        yield from range(after)
        raise OSError("the disk is gone")

    return read


def test_batch_firstn_chain_map():
    assert list(reader.batch(numbers(5), 2)()) == [[0, 1], [2, 3], [4]]
    assert list(reader.batch(numbers(5), 2, drop_last=True)()) == [[0, 1], [2, 3]]
    assert list(reader.firstn(numbers(), 3)()) == [0, 1, 2]
    assert list(reader.chain(numbers(2), numbers(3))()) == [0, 1, 0, 1, 2]
    added = reader.map_readers(lambda a, b: a + b, numbers(3), lambda: iter([10, 20, 30]))
    assert list(added()) == [10, 21, 32] == list(added())
    assert dygraph.io.batch is reader.batch


def test_cache_reads_once():
    calls = []

    def read():
        calls.append(1)
        return iter(range(3))

    cached = reader.cache(read)
    assert calls == []
    assert list(cached()) == list(cached()) == [0, 1, 2] and calls == [1]


def test_shuffle_keeps_to_its_buffer():
    random.seed(1)
    got = list(reader.shuffle(numbers(100), 10)())
    assert sorted(got) == list(range(100)) and got != list(range(100))
    assert all(sorted(got[i : i + 10]) == list(range(i, i + 10)) for i in range(0, 100, 10))
    again = reader.shuffle(numbers(100), 50, seed=3)
    assert list(again()) == list(again())


def test_compose():
    tuples = lambda: iter([(1, 2), (3, 4)])  # noqa: E731
    assert list(reader.compose(numbers(2), tuples)()) == [(0, 1, 2), (1, 3, 4)]
    unequal = reader.compose(numbers(2), numbers(3))
    with pytest.raises(reader.ComposeNotAligned, match="of 2 readers number 0 ended first"):
        list(unequal())
    assert issubclass(reader.ComposeNotAligned, ValueError)
    assert list(reader.compose(numbers(2), numbers(3), check_alignment=False)()) == [(0, 0), (1, 1)]


def test_what_is_no_reader():
    for make in (
        lambda: reader.batch([1], 2),
        lambda: reader.buffered(numbers()(), 2),
        lambda: reader.chain(numbers(), 3),
        lambda: reader.multiprocess_reader([3]),
        lambda: reader.xmap_readers(3, numbers(), 1, 1),
    ):
        with pytest.raises(TypeError, match="a function that gives an iterator, got"):
            make()
    for make in (lambda: reader.batch(numbers(), 0), lambda: reader.buffered(numbers(), 0)):
        with pytest.raises(ValueError, match="at least 1, got 0"):
            make()


def test_buffered_reads_ahead_and_no_further():
    read = []

    def counted():
        for i in range(100):
            read.append(i)
            yield i

    samples = reader.buffered(counted, 4)()
    assert next(samples) == 0
    time.sleep(0.1)
    assert 5 <= len(read) <= 6
    assert list(samples) == list(range(1, 100))
    assert not left()


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_xmap(order, count):
    def mapper(x):
        time.sleep(0.002 * (x * 7 % 3))
        return x * x

    mapped = reader.xmap_readers(mapper, numbers(count), 3, 2, order=order)
    for _ in range(2):
        got = list(mapped())
        assert sorted(got) == [i * i for i in range(count)]
        assert not order or got == sorted(got)
    assert not left()


def test_xmap_works_in_parallel():
    barrier = threading.Barrier(3, timeout=10)
    mapped = reader.xmap_readers(lambda x: barrier.wait() >= 0, numbers(6), 3, 6)
    assert list(mapped()) == [True] * 6


def test_errors_of_threads_arrive():
    got = []
    with pytest.raises(OSError, match="the disk is gone"):
        for x in reader.buffered(failing(), 2)():
            got.append(x)
    assert got == [0, 1, 2]
    with pytest.raises(OSError, match="the disk is gone"):
        list(reader.xmap_readers(abs, failing(), 2, 2, order=True)())
    with pytest.raises(ZeroDivisionError):
        list(reader.xmap_readers(lambda x: 1 // (x - 5), numbers(), 2, 2)())
    assert not left()


def test_leaving_early_ends_threads_and_processes():
    endless = lambda: iter(int, 1)  # noqa: E731
    for made in (
        reader.buffered(endless, 3),
        reader.xmap_readers(abs, endless, 2, 3),
        reader.xmap_readers(abs, endless, 2, 3, order=True),
        reader.multiprocess_reader([endless, endless]),
    ):
        for _ in made():
            break
        assert not left()


def test_results_end_once_they_are_closed():
    threads, go_on, got = reader._Threads(3), threading.Event(), []

    def source():
        yield 1
        yield 2
        go_on.wait()

    threads.start(source)
    while threads.queue.qsize() < 2:
        time.sleep(0.001)
    consumer = threading.Thread(target=lambda: got.extend(threads.results()), daemon=True)
    threads.close()
    go_on.set()
    consumer.start()
    consumer.join(5)
    assert not consumer.is_alive() and got == []
    assert not left()


def test_multiprocess_reader():
    merged = reader.multiprocess_reader([numbers(5), lambda: iter("ab"), numbers(0)])
    got = list(merged())
    assert [x for x in got if isinstance(x, int)] == list(range(5))
    assert [x for x in got if isinstance(x, str)] == ["a", "b"]
    with pytest.raises(OSError, match="the disk is gone\nwhile reader 1 ran(.|\n)*in read"):
        list(reader.multiprocess_reader([numbers(1), failing()])())
    with pytest.raises(ValueError, match="at least one reader"):
        reader.multiprocess_reader([])
    assert not left()


def test_a_program_may_end_while_readers_run():
    code = textwrap.dedent("""
        from dygraph import reader
        endless = lambda: iter(int, 1)
        samples = [reader.buffered(endless, 3)(), reader.xmap_readers(abs, endless, 2, 3)(),
                   reader.multiprocess_reader([endless])()]
        print([next(s) for s in samples])
    """)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "[0, 0, 0]\n", "")
