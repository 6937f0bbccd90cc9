"""The gRPC edge: it passes calls to the dispatcher and carries the answers back; health and reflection are its own."""
