"""The data sets that come with scikit-learn, which is imported when one is asked for."""

import functools

__all__ = ["load"]


@functools.cache
def load(name, **options):
    """What ``sklearn.datasets.load_<name>`` gives. ImportError says what to install."""
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ImportError(
            f"the data set '{name}' comes with scikit-learn, which is not installed: "
            "pip install scikit-learn"
        ) from error
    return getattr(datasets, f"load_{name}")(**options)
