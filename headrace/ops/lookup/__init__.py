"""Tables: keys and the values that belong to them."""
