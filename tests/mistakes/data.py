"""Data sets and loaders."""

import numpy as np

import dygraph
from dygraph import io


class Squares(io.Dataset):
    """A data set whose item 5 is another size, or raises."""

    def __init__(self, fault=None):
        self.fault = fault

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(f"sample {i} of {len(self)} samples")
        if i == 5 and self.fault == "raises":
            raise RuntimeError(f"cannot read image {i}.png")
        return np.ones(4 if i == 5 and self.fault == "ragged" else 3, "float32"), i


def no_dataset():
    io.DataLoader(5)


def a_generator_for_a_dataset():
    loader = io.DataLoader(x for x in range(3))
    for _ in range(2):
        list(loader)


def dataset_without_length():
    class Data(io.Dataset):
        def __getitem__(self, i):
            return i

    list(io.DataLoader(Data()))


def dataset_without_getitem():
    class Data(io.Dataset):
        def __len__(self):
            return 3

    list(io.DataLoader(Data()))


def class_for_a_dataset():
    io.DataLoader(Squares)


def ragged_samples():
    list(io.DataLoader(Squares("ragged"), batch_size=8))


def worker_that_raises():
    list(io.DataLoader(Squares("raises"), batch_size=4, num_workers=1))


def loop_that_raises():
    list(io.DataLoader(Squares("raises"), batch_size=4))


def batch_of_zero():
    io.DataLoader(Squares(), batch_size=0)


def negative_workers():
    io.DataLoader(Squares(), num_workers=-1)


def shuffle_and_sampler():
    io.DataLoader(Squares(), shuffle=True, sampler=io.SequenceSampler(Squares()))


def none_samples():
    class Data(io.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return None

    return f"None stays None, {list(io.DataLoader(Data(), batch_size=2))}"


def text_samples_of_differing_kind():
    class Data(io.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return "a" if i else np.ones(2)

    list(io.DataLoader(Data(), batch_size=2))


def tensor_dataset_of_other_lengths():
    io.TensorDataset([np.ones((3, 2)), np.ones(4)])


def split_of_another_sum():
    io.random_split(Squares(), [3, 3])


def sampler_beyond_the_data():
    list(io.DataLoader(Squares(), sampler=[0, 8], batch_size=2))


def keyword_of_another_library():
    io.DataLoader(Squares(), persistent_workers=True)


def reader_that_is_not_a_function():
    dygraph.batch([1, 2, 3], batch_size=2)()


def reader_that_is_called_already():
    def reader():
        yield from range(3)

    list(dygraph.batch(reader(), batch_size=2)())


def feeder_with_too_few_fields():
    feeder = dygraph.DataFeeder(["x", "y"])
    feeder.feed([(np.ones(2),), (np.ones(2),)])


def unknown_data_set():
    return dygraph.dataset.mnits
