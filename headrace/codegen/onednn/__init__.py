"""oneDNN through its C interface: primitives, layouts, recipes."""
