"""Neighbourhoods: which items a learner takes to be similar, by their labels or by pairs that were given."""

import csv
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from engine.errors import InvalidInputError, NotFoundError
from engine.examples import Examples
from engine.learners.chain import Chain
from engine.recipe import Pair


def read_pairs(path: Path | str) -> tuple[Pair, ...]:
    """Return the pairs of a CSV with two keys of similar items on each line; a first line ``key_a,key_b`` is a header.

    Raises InvalidInputError for a file that cannot be read, holds no pair, or a line that is none.
    """
    pairs: list[Pair] = []
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            for line in lines:
                cells = [cell.strip() for cell in line]
                if not any(cells) or (not pairs and [cell.lower() for cell in cells] == ["key_a", "key_b"]):
                    continue
                if len(cells) != 2 or not all(cells):
                    raise InvalidInputError(
                        f"{path}, line {lines.line_num}: expected key_a,key_b but found {','.join(line)!r}"
                    )
                pairs.append(Pair(cells[0], cells[1], lines.line_num))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"pairs cannot be read from {path}: {error}") from error
    if not pairs:
        raise InvalidInputError(f"{path} holds no pairs: each line names two similar items, key_a,key_b")
    return tuple(pairs)


def check_pairs(pairs: Sequence[Pair], known: Collection[str]) -> None:
    """Raise NotFoundError for a pair with a key that is not among the known, InvalidInputError for one of one item."""
    for number, pair in enumerate(pairs, 1):
        where = f"pairs, line {pair.line}" if pair.line else f"pair {number}"
        for key in (pair.first, pair.second):
            if key not in known:
                raise NotFoundError(f"{where}: there is no item {key!r}")
        if pair.first == pair.second:
            raise InvalidInputError(f"{where}: {pair.first!r} is paired with itself")


def with_pairs(found: Examples, pairs: Iterable[tuple[str, str]]) -> Examples:
    """Return the examples with what pairs of keys say of their similarity; every item is similar to itself.

    Pairs of items that are not among the examples are left out; InvalidInputError if none is left.
    """
    positions = {key: position for position, key in enumerate(found.keys)}
    joined = [(positions[one], positions[two]) for one, two in pairs if one in positions and two in positions]
    if not joined:
        raise InvalidInputError("no pair joins two of the items to learn from: they lack the views, or are held out")
    first, second = np.array(joined).T
    itself = np.arange(len(found))
    rows, columns = np.concatenate([first, second, itself]), np.concatenate([second, first, itself])
    similar = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(len(found), len(found)))
    similar.data[:] = 1  # a pair that is given twice was added up
    return replace(found, similar=similar)


def similarity(pipeline: Chain, training: Examples) -> dict[str, Any]:
    """Return what a pipeline's ``fit`` is told of the examples' similarity: "y", and "neighbors" where there are pairs.

    Items are similar if they share a label where the learners understand that, else if their sets of labels are equal.

    Raises InvalidInputError for pairs that the learner does not take.
    """
    if training.similar is not None:
        if not pipeline.takes_neighbors:
            raise InvalidInputError(
                f"{pipeline.steps[-1].name} does not learn from pairs of items: take a learner such as multi-npp"
            )
        return {"y": training.classes(), "neighbors": training.similar}
    shared = pipeline.multilabel and training.several_labels()
    return {"y": training.indicators() if shared else training.classes()}
