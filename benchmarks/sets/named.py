"""All sets by name, and their division: every choice is made on the sets for development alone.

The sets for reports are measured once for each change of a default, and ``division.json`` lists each time.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.sets.drawn import DRAWN
from benchmarks.sets.real import LOADERS as REAL
from benchmarks.sets.real import Loader
from benchmarks.sets.split import Data, split_of_rows

DIVISION: Mapping[str, Any] = json.loads((Path(__file__).parent / "division.json").read_text(encoding="utf-8"))
"""Names of the sets for "development" and for a "report", and the "looks" at the latter: date and reason."""
PARTS = ("development", "report")
DEVELOPMENT: Sequence[str] = tuple(DIVISION["development"])


def _drawn(name: str, data: Path, cache: Path) -> Data:
    return partial(split_of_rows, *DRAWN[name](), None)


LOADERS: Mapping[str, Loader] = {**REAL, **{name: partial(_drawn, name) for name in DRAWN}}


def load(name: str, data: Path, cache: Path) -> Data:
    """Return a set by name; MissingDataError where its files are missing."""
    return LOADERS[name](data, cache)


def sets_argument(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    """Add ``--sets``: names of sets, or of a part of the division."""
    choices = [*LOADERS, *PARTS]
    parser.add_argument(
        "--sets", nargs="+", choices=choices, default=default, help="which of them, or a part of division.json"
    )


def sets_of(options: argparse.Namespace) -> list[str]:
    """Return the names of the chosen sets, each once."""
    return list(dict.fromkeys(name for choice in options.sets for name in DIVISION.get(choice, [choice])))
