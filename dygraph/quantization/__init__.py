"""Numbers of 8 bits after training: weights by channel, activations by what calibration saw.

>>> import dygraph
>>> sorted(dygraph.quantization.__all__)
['KL', 'MinMax', 'Percentile', 'quantize']
"""

from dygraph.quantization.post_training import quantize
from dygraph.quantization.ranges import KL, MinMax, Percentile

__all__ = ["KL", "MinMax", "Percentile", "quantize"]
