"""Values of every kind that items are given: usual ones, odd ones, and impossible ones."""

import random
from typing import Any

import numpy as np

from crossview.engine.values.item import NewItem

TEXTS = (
    *(
        "",
        " ",
        "a",
        "é",
        "e\u0301",
        "ﬁ",
        "\u212b",
        "猫",
        "🙂",
        "👨\u200d👩",
        "\ufeff",
        "\ufffe",
        "\uffff",
        "\U0010ffff",
    ),
    *(
        "\n",
        "\r\n",
        "\t",
        "\x1b[2J",
        "\x7f",
        "\x85",
        "\u2028",
        "\u202e",
        "%",
        "_",
        "'",
        '"',
        "\\",
        "/",
        "..",
        "$",
        "[0]",
    ),
    *("null", "true", "1", "1.0", "NaN", "{}", "collections/x/items/y", "x" * 1024, "x" * 1025, "é" * 5_000),
    *("\0", "a\0b", "\ud800", "\udfff", "a\udc80"),
)
NUMBERS = (
    *(0, 1, -1, 2**31, -(2**31) - 1, 2**32, 2**53 - 1, 2**53, -(2**53), 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64),
    *(10**308, 10**309, 10**4_000, 0.0, -0.0, 1.0, 0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1e16, 1e22, 1e300),
    *(1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**64), float("nan"), float("inf"), float("-inf")),
)
OTHERS = (None, True, False, b"bytes", {1, 2}, object, np.float32(0.5), np.float64(0.5), np.int64(3), 1j)
_DEEPEST = 18


class OddValues:
    """A generator of items, the same for a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def item(self, number: int) -> NewItem:
        """Return an item; most have at most one field out of order."""
        odd = self._random.randrange(12)
        return NewItem(
            f"{number:06}{self._text() if odd == 0 else 'é'}",
            rows={"v": [float(number % 7), 1.0]},
            labels=self._chosen(odd == 1, None, tuple(self._text() for _ in range(self._random.randrange(3))), ("a",)),
            attributes=self._chosen(odd in (2, 3, 4, 5, 6, 7), {"x": number}, self._object(0), {}),
            text=self._chosen(odd == 8, "words", self._text() * self._random.choice((1, 3)), None),
            source=self._text() if odd == 9 else "/photos/1.png",
            notion_labels={"hue": tuple(self._text() for _ in range(2))} if odd == 10 else {},
        )

    def _chosen(self, odd: bool, usual: Any, strange: Any, other: Any) -> Any:
        return strange if odd else self._random.choice((usual, other))

    def _text(self) -> str:
        if self._random.random() < 0.5:
            return self._random.choice(TEXTS)
        return "".join(chr(self._random.choice((*range(32, 127), 233, 0x4E00, 0x1F600))) for _ in range(4))

    def _value(self, depth: int) -> Any:
        kind = self._random.random()
        if kind < 0.3:
            return self._random.choice(NUMBERS)
        if kind < 0.4:
            return self._random.choice((self._random.randrange(-(2**60), 2**60), self._random.gauss(0, 1e6)))
        if kind < 0.65:
            return self._text()
        if kind < 0.75:
            return self._random.choice(OTHERS)
        if kind < 0.77:
            return self._deep()
        if depth > 3:
            return None
        return self._object(depth + 1) if kind < 0.88 else self._sequence(depth + 1)

    def _sequence(self, depth: int) -> Any:
        made = [self._value(depth) for _ in range(self._random.randrange(4))]
        return tuple(made) if self._random.random() < 0.3 else made

    def _object(self, depth: int) -> Any:
        made = {self._text(): self._value(depth) for _ in range(self._random.randrange(1, 3))}
        return made | {1: "one"} if self._random.random() < 0.02 else made

    def _deep(self) -> Any:
        value: Any = 1
        for _ in range(self._random.randrange(_DEEPEST)):
            value = [value] if self._random.random() < 0.5 else {"a": value}
        return value
