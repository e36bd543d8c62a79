"""Vocabulary: element types, shapes, errors, device names, origins, options.  Imports nothing of ours."""
