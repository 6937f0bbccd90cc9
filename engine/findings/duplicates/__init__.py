"""Duplicates: pictures that show the same photograph, and pictures of the same moment.

``compared`` reads the pictures, ``candidates`` proposes pairs by fingerprints and views, ``rule`` decides by what
aligned thumbnails have in common, ``inspection`` compares previews and files where thumbnails are too small,
``grouping`` gathers copies, and ``keeping`` chooses the keeper and states the relations. ``duplicate_groups`` answers a
request, and ``judging`` keeps the judgements of people.
"""
