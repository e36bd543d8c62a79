"""A native program: its entries, memory, arenas, and the native code that runs it."""
