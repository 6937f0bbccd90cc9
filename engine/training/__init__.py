"""Learning and measuring: examples, supervision, training, tuning, evaluation and its measures.

This room may import ``engine.spaces``, ``engine.catalog``, ``engine.learners``, ``engine.runtime``, ``features`` and
the nouns of ``engine``.
"""
