"""Items on a line: vectors of one view, each a number in every column, and searches among them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.item import NewItem
from crossview.engine.values.query import HitList, Query, SearchRequest

DIM = 4


def row(number: float) -> NDArray[np.float32]:
    return np.full(DIM, number, np.float32)


def numbered(*numbers: int, **options: Any) -> list[NewItem]:
    return [NewItem(f"item/{number:03}", rows={"v": row(number)}, **options) for number in numbers]


def request(number: float = 10, k: int = 3, **options: Any) -> SearchRequest:
    return SearchRequest([Query("v", vector=row(number))], k=k, **options)


def keys(found: Sequence[HitList]) -> list[str]:
    return [hit.key for hit in found[0].hits]
