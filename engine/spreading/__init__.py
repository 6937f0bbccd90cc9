"""Spreading: work on pictures and rows in object storage, divided into partitions, on this machine or in a Ray cluster.

This room may import ``engine.publishing``, ``engine.transfer``, ``engine.training``, ``engine.ingest``,
``engine.spaces``, ``engine.catalog``, ``features`` and the nouns of ``engine``.
"""
