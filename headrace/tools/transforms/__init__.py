"""TransformGraph and its transforms of GraphDefs: one family per file."""
