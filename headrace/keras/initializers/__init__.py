"""What weights start from, by name."""
