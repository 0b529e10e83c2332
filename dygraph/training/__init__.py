"""`Model`, which trains a layer; its summary; the names for data-parallel training."""
