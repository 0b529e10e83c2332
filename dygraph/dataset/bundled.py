"""The data sets of scikit-learn, which is imported at the first use."""

import functools

__all__ = ["load"]


@functools.cache
def load(name, **options):
    """The result of ``sklearn.datasets.load_<name>``. ImportError names the package to install."""
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ImportError(
            f"the data set '{name}' comes with scikit-learn, which is not installed: "
            "pip install scikit-learn"
        ) from error
    return getattr(datasets, f"load_{name}")(**options)
