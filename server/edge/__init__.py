"""The gRPC edge: passes calls to the dispatcher and returns the answers; implements health and reflection itself."""
