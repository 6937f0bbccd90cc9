"""What learns and measures: examples, supervision, training, tuning, evaluation and its measures.

May import ``engine.spaces``, ``engine.catalog``, ``engine.learners``, ``engine.runtime``, ``features`` and
the nouns of ``engine``.
"""
