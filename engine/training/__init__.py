"""Learning and measuring: examples, supervision, training, tuning, evaluation and its measures."""
