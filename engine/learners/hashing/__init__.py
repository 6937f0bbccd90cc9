"""Learners whose embeddings are binary codes."""
