"""What the user builds: nodes and tensors in an append-only graph, with scopes and collections."""
