"""A declared op and its nodes as TF's messages, OpDef and NodeDef."""
