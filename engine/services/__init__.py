"""The services of a collection, each of which works on one noun: items, views, spaces, memory and storage.

They share one open collection (``opened``) and may import every other room; ``engine.collection`` builds them.
"""
