"""Schedules that count in another way in Fluid; ``fluid.dygraph`` has these."""

from dygraph.lr import by_step
from dygraph.lr.per_step import LearningRateDecay

__all__ = ["NoamDecay", "PiecewiseDecay"]


class NoamDecay(LearningRateDecay):
    """Fluid's `dygraph.lr.NoamDecay`: it counts steps from 1, and each call advances it.

    Parameters
    ----------
    d_model : float
        The width of the model, above 0.
    warmup_steps : float
        For how many steps the rate rises, above 0.
    begin : int, default 1
        The number of the first step.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.
    learning_rate : float, default 1.0
        The factor of all.

    Examples
    --------
    >>> import dygraph.static as fluid
    >>> rate = fluid.dygraph.NoamDecay(d_model=4, warmup_steps=4)
    >>> [rate() for _ in range(4)]
    [0.0625, 0.125, 0.1875, 0.25]
    """

    def __init__(self, d_model, warmup_steps, begin=1, step=1, dtype="float32", learning_rate=1.0):
        super().__init__(begin, step, dtype)
        self._shape = by_step.NoamDecay(d_model, warmup_steps, learning_rate)
        self.d_model, self.warmup_steps = self._shape.d_model, self._shape.warmup_steps
        self.learning_rate = self._shape.learning_rate

    def _rate(self):
        return self._shape._rate_at(self.step_num)


class PiecewiseDecay(LearningRateDecay):
    """Fluid's `dygraph.lr.PiecewiseDecay`: it begins at any step, and each call advances it.

    Parameters
    ----------
    boundaries : list of int
        The steps at which the rate changes, in ascending order.
    values : list of float
        The rates, one more than boundaries.
    begin : int
        The number of the first step.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Raises
    ------
    InvalidArgumentError
        The lengths do not fit, or the boundaries do not rise.

    Examples
    --------
    >>> import dygraph.static as fluid
    >>> rate = fluid.dygraph.PiecewiseDecay([1, 3], [1.0, 0.5, 0.1], begin=0)
    >>> [rate() for _ in range(4)]
    [1.0, 0.5, 0.5, 0.1]
    """

    def __init__(self, boundaries, values, begin, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self._shape = by_step.PiecewiseDecay(boundaries, values)
        self.boundaries, self.values = self._shape.boundaries, self._shape.values

    def _rate(self):
        return self._shape._rate_at(self.step_num)
