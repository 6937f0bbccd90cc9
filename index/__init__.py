"""Vectors in, neighbours out: the indexes behind one protocol, and the exact twins that judge them."""
