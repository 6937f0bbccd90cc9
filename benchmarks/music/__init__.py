"""Embeddings of 400 music artists from what people answered: no features but genres."""
