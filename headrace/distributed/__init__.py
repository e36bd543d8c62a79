"""The same pieces on many machines: a master plans a step, workers run its pieces, values meet by RPC."""
