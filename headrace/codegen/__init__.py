"""Piece -> native program: regions, fusion, kernel IR, LLVM, library calls, memory, cache."""
