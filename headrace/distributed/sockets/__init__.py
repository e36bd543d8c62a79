"""Who reads the sockets of our own connections, and HTTP/2 with as little as calls of gRPC need."""
