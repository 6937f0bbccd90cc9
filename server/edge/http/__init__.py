"""The calls over HTTP/1.1: Connect, gRPC-Web, plain JSON and uploads of pictures, on the dispatcher of gRPC."""
