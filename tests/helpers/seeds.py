"""Seeds of random tests: the same in every run, and others in each round of ``make explore``."""

import os

EXPLORED = "CROSSVIEW_SEED"
"""The variable with the seed of a round of ``make explore``."""


def explored() -> int | None:
    """Return the seed of the round, or None outside ``make explore``."""
    value = os.environ.get(EXPLORED)
    return None if value is None else int(value)


def seed_of(case: int) -> int:
    """Return the seed of a numbered case of a random test, and print it: pytest shows it with a failure."""
    seed = case + 1_000_003 * (explored() or 0)
    print("seed", seed)
    return seed
