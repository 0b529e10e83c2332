"""Emitters of operators, one module for each family of csrc/operators."""
