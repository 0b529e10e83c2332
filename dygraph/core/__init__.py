"""Variable and what its methods need: checks, sizes, indexing, NumPy, exchange, promotion."""
