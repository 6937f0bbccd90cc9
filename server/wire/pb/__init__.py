"""The gRPC interface, generated from proto/ by tools/proto.py."""
