"""Feature columns: what a model reads of an example, and how it becomes numbers."""
