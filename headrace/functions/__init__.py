"""The functions of TF's public interface over ops: optional arguments, name scopes, old spellings.

Declared ops say what happens; functions are how a user asks for it.  One file per family.
"""
