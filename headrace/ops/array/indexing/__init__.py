"""Elements and rows by index, mask or label: gathers, scatters, segments, partitions."""
