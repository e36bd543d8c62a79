"""GraphDef and FunctionDef in and out: nodes from messages, messages from nodes."""
