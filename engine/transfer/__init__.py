"""Collections that move out of a home and in: folders of Parquet files, and the files of other programs.

Imports ``engine``, ``engine.catalog``, ``engine.ingest`` and ``features``, and pyarrow only at its use.
"""
