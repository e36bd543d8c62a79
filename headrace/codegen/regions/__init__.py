"""Which nodes of a piece compile together (`regions.py`), and tensor arrays as plain memory inside of
such a region (`array_ops.py`)."""
