"""Collections that move out of a home and in: folders of Parquet files, and the files of other programs.

Imports ``engine``, ``engine.catalog``, ``engine.catalog.ingest`` and ``features``, and pyarrow only at its use.
"""
