"""Recall against speed of searches among many items: ours, raw FAISS, and other indexes and stores of vectors."""
