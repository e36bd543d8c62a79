"""One plan -> one piece per device, joined by Send and Recv."""
