"""Native forms of what the host does: random numbers, checksums."""
