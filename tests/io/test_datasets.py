"""The data sets behind Fluid's reader interface."""

import gzip
import os
import sys

import numpy as np
import pytest
import sklearn.datasets

import dygraph
from dygraph import dataset
from dygraph.dataset import bundled, diabetes, digits, local_files, text, uci_housing


def test_digits():
    train, test = list(digits.train()()), list(digits.test()())
    assert (len(train), len(test)) == (1438, 359)
    image, label = train[0]
    assert image.shape == (64,) and image.dtype == "float32" and type(label) is int
    assert all(-1 <= i.min() and i.max() <= 1 for i, _ in train)
    source = sklearn.datasets.load_digits()
    expected = sorted((*(x - 8), y) for x, y in zip(source.data, source.target, strict=True))
    assert sorted((*(i * 8), y) for i, y in train + test) == expected
    again = list(digits.train()())
    assert all((a[0] == b[0]).all() for a, b in zip(train, again, strict=True))
    image[:] = 5
    assert list(digits.train()())[0][0].max() <= 1  # a sample is the reader's own no more


def test_diabetes():
    train, test = list(diabetes.train()()), list(diabetes.test()())
    assert (len(train), len(test)) == (353, 89)
    x, y = train[0]
    assert x.shape == (10,) and y.shape == (1,) and x.dtype == y.dtype == np.float32
    assert y[0] == 151 and len(diabetes.feature_names) == 10
    ages = sklearn.datasets.load_diabetes(scaled=False).data[:, 0]
    assert x[0] == pytest.approx((59 - ages.mean()) / (79 - 19), rel=1e-5)
    columns = np.array([x for x, _ in train + test])
    np.testing.assert_allclose(columns.max(0) - columns.min(0), 1, rtol=1e-5)
    np.testing.assert_allclose(columns.mean(0), 0, atol=1e-6)


def test_housing_made_up(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    train, test = list(uci_housing.train()()), list(uci_housing.test()())
    assert (len(train), len(test)) == (404, 102)
    assert {(x.shape, y.shape, x.dtype, y.dtype) for x, y in train} == {
        ((13,), (1,), np.dtype("float32"), np.dtype("float32"))
    }
    x, y = (np.array(part) for part in zip(*train, *test, strict=True))
    np.testing.assert_allclose(x.max(0) - x.min(0), 1, rtol=1e-5)
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-6)
    line = np.column_stack([x, np.ones(len(x))])
    rest = y[:, 0] - line @ np.linalg.lstsq(line, y[:, 0], rcond=None)[0]
    assert rest.std() < 0.5 * y.std()  # a line fits, though not exactly
    assert all((a[0] == b[0]).all() for a, b in zip(train, uci_housing.train()(), strict=True))


def test_housing_from_its_file(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".cache" / "paddle" / "dataset" / "uci_housing"
    folder.mkdir(parents=True)
    rows = np.random.default_rng(0).uniform(0, 10, (506, 14))
    np.savetxt(folder / "housing.data", rows)
    x = rows[:, :13]
    x = (x - x.mean(0)) / (x.max(0) - x.min(0))
    for part, wanted in ((uci_housing.train, slice(404)), (uci_housing.test, slice(404, 506))):
        for i, (a, b) in zip(range(506)[wanted], part()(), strict=True):
            np.testing.assert_allclose(a, x[i], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(b, rows[i, 13:], rtol=1e-5)
    (folder / "housing.data").write_text("1 2 three\n")
    with pytest.raises(ValueError, match=r"housing.data' must hold 14 numbers a row"):
        next(uci_housing.test()())


def test_a_missing_package_is_named(monkeypatch):
    bundled.load.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match="'digits' .* pip install scikit-learn"):
        next(digits.train()())


def test_text():
    words = text.build_dict()
    assert sorted(words.values()) == list(range(len(words)))
    assert words["<unk>"] == len(words) - 1 > 500
    assert words["the"] < words["object"] and words["<s>"] < 10
    assert len(text.build_dict(50)) < len(words)
    grams = list(text.train(words, 5)())
    assert all(len(g) == 5 and max(g) < len(words) for g in grams)
    expected = []
    for source, _ in text.train(words, 0, text.SEQ)():
        whole = [*source, words["<e>"]]
        expected += [tuple(whole[i : i + 5]) for i in range(len(whole) - 4)]
    assert grams == expected
    assert 5 < len(grams) / len(list(text.test(words, 5)())) < 15
    for source, target in dygraph.reader.firstn(text.test(words, 10, text.DataType.SEQ), 50)():
        assert source[0] == words["<s>"] and target[-1] == words["<e>"]
        assert source[1:] == target[:-1] and len(source) <= 10
    assert max(len(s) for s, _ in text.test(words, 0, text.SEQ)()) > 10
    with pytest.raises(ValueError, match="at least 1 for n-grams"):
        text.train(words, 0)
    with pytest.raises(ValueError, match="must have an index for '<s>'"):
        text.train({}, 3)


def test_a_reader_of_digits_feeds_a_model():
    batches = dygraph.reader.batch(dygraph.reader.shuffle(digits.train(), 500, seed=1), 32)
    feeder = dygraph.DataFeeder(["image", {"name": "label", "dtype": "int64"}])
    feed = feeder.feed(next(batches()))
    assert feed["image"].shape == (32, 64) and feed["label"].shape == (32, 1)
    net = dygraph.nn.Linear(64, 10)
    loss = dygraph.ops.softmax_with_cross_entropy(net(feed["image"]), feed["label"])
    assert loss.shape == (32, 1)


class TestFilesInFluidsFolder:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setattr(local_files, "FOLDER", str(tmp_path))
        return tmp_path

    def write(self, folder, name, data):
        (folder / os.path.dirname(name)).mkdir(exist_ok=True)
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    def test_mnist(self, folder):
        images = np.arange(2 * 784, dtype="uint8").reshape(2, 28, 28)
        head = np.array([2051, 2, 28, 28], ">i4").tobytes()
        labels = np.array([2049, 2], ">i4").tobytes() + bytes([7, 3])
        self.write(folder, "mnist/train-images-idx3-ubyte.gz", head + images.tobytes())
        self.write(folder, "mnist/train-labels-idx1-ubyte", labels)
        (first, seven), (second, three) = dataset.mnist.train()()
        assert (seven, three) == (7, 3) and first.shape == (784,) and first.dtype == np.float32
        assert first[0] == -1.0 and first[255] == 1.0
        assert abs(second[0] - (16 / 127.5 - 1)) < 1e-6
        for data, wanted in [
            (b"", "begin with the number 2049"),
            (labels[:-1], "must hold 2 bytes"),
            (labels + b"1", "got more"),
            (np.array([2049, 1], ">i4").tobytes() + b"1", "as many labels as images, got 1 and 2"),
        ]:
            self.write(folder, "mnist/train-labels-idx1-ubyte", data)
            with pytest.raises(ValueError, match=wanted):
                next(dataset.mnist.train()())
        with pytest.raises(FileNotFoundError, match="'t10k-images-idx3-ubyte' must be at"):
            next(dataset.mnist.test()())

    def test_cifar(self, folder):
        record = bytes([4]) + bytes([255]) * 3072
        self.write(folder, "cifar/test_batch.bin", record + record)
        samples = list(dataset.cifar.test10()())
        assert len(samples) == 2 and samples[1][1] == 4 and (samples[0][0] == 1.0).all()
        self.write(folder, "cifar/test.bin.gz", bytes([1, 99]) + bytes(3072))
        ((image, label),) = dataset.cifar.test100()()
        assert label == 99 and (image == 0).all() and image.shape == (3072,)
        self.write(folder, "cifar/test_batch.bin", record + record[:-1])
        with pytest.raises(ValueError, match="records of 3073 bytes, got a last one of 3072"):
            list(dataset.cifar.test10()())
        with pytest.raises(FileNotFoundError, match="'data_batch_1.bin' must be at"):
            next(dataset.cifar.train10()())

    def test_imikolov(self, folder):
        self.write(folder, "imikolov/ptb.train.txt", b" the cat sat \n the dog <unk> \n")
        self.write(folder, "imikolov/ptb.valid.txt", b" the cat \n")
        words = dataset.imikolov.build_dict(min_word_freq=1)
        assert words == {"<e>": 0, "<s>": 1, "the": 2, "cat": 3, "<unk>": 4}
        grams = list(dataset.imikolov.train(words, 3)())
        assert grams == [(1, 2, 3), (2, 3, 4), (3, 4, 0), (1, 2, 4), (2, 4, 4), (4, 4, 0)]
        test = list(dataset.imikolov.test(words, 0, dataset.imikolov.SEQ)())
        assert test == [([1, 2, 3], [2, 3, 0])]

    def test_what_is_not_read(self):
        with pytest.raises(AttributeError, match="does not read Fluid's 'movielens'.*write a read"):
            dataset.movielens  # noqa: B018
        with pytest.raises(AttributeError, match="Did you mean 'mnist'"):
            dataset.minst  # noqa: B018
