"""Small public datasets, from local files."""
