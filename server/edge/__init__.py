"""The transports: gRPC with health and reflection, HTTP, pages, and the server that runs them all."""
