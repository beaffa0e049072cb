//! End to end: the built binary, real sockets, real clients.
