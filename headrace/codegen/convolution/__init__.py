"""Windows: Winograd's method, pooling, blocked layouts, who does which call."""
