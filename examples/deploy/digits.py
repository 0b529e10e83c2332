"""Which digit does a scan show? In Python, by the model that train.py wrote.

python examples/deploy/digits.py examples/out/deploy/7.pgm
"""

import sys
from pathlib import Path

import numpy as np

from dygraph.inference import Predictor

MODEL = Path(__file__).resolve().parents[1] / "out" / "deploy" / "digits.dygraph"


def read_scan(path):
    """A PGM image of 8 x 8 pixels and 16 greys as numbers from 0 to 1, [1, 1, 8, 8]."""
    head, grey = Path(path).read_bytes()[:-64], Path(path).read_bytes()[-64:]
    if head.split() != [b"P5", b"8", b"8", b"16"]:
        sys.exit(f"{path} must be a PGM image of 8 x 8 pixels with 16 greys")
    return np.frombuffer(grey, "uint8").reshape(1, 1, 8, 8).astype("float32") / 16


predictor = Predictor(MODEL)
for path in sys.argv[1:]:
    (probability,) = predictor.run([read_scan(path)])
    print(f"{probability.argmax()} ({100 * probability.max():.0f} %)")
