"""Ingest: files, pictures, texts, vectors and annotations, and the fitting of views, into the catalog.

It also reads the files of comparisons and pairs that training learns from.
"""
