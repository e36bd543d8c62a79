"""Matrices that are described rather than stored: products and solutions use their structure.

`base.py` has the interface; each other file one kind; `algebra.py` what products, inverses,
adjoints and Cholesky factors of operators are, so that structure is kept.
"""
