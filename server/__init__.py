"""The outside edge: gRPC services, their client, and the command line."""
