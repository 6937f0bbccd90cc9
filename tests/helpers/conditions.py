"""Strategies of hypothesis for items and conditions that are likely to pass some of them."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.tree import (
    COMPARISONS,
    EVERY,
    OF_TEXT,
    Condition,
    Field,
    FieldTest,
    Not,
    all_of,
    any_of,
)
from crossview.engine.values.item import NewItem

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.sampled_from(
    ["année", 'a"b', "a\\b", "", "a.b", "$", "$.x", "[0]", "a'b", "x\u0301", "名", "A", "a", "label", "and", "2021-05"]
)
NUMBERS = st.sampled_from([0, 1, 1.0, -1, 0.1, 2**53, 2**53 - 1, 2.0**53, -(2**53), 2.0**63, 1e300, 5e-324, -0.0])
DATES = st.sampled_from(
    [
        "2021-05-01",
        "2021-05-31T23:59:59Z",
        "2021-06-01T00:30:00+01:00",
        "2021-05-01 10:00",
        "2020-02-29",
        "2021-05-01T1",
    ]
)
TEXTS = st.sampled_from(["1", "1999", "true", "null", "", "é", "%", "IMG_1.jpg", "img 2.JPG", "Straße", "a*b"])
SCALARS = (
    st.none()
    | st.booleans()
    | NUMBERS
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | DATES
    | st.text(CHARACTERS, max_size=5)
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(NAMES, SCALARS, max_size=2)
LABELS = st.sampled_from(["cat", "Cat", "c%", "c_t", "chat noir", "é", "e\u0301", "猫"])
PREFIXES = st.sampled_from(["a", "A", "a%", "a_", "a/", "ä", "\\", '"', "", "x%y"])
ATTRIBUTES = st.dictionaries(NAMES | st.text(CHARACTERS, max_size=5), VALUES, max_size=4)
TAGS = st.lists(LABELS, max_size=2).map(tuple)
ASKED_DATES = st.sampled_from(["2021-05", "2021-05-01", "2021-05-31T23:59:59Z", "2020-02", "2021-06-01T00:30+01:00"])
PATTERNS = st.sampled_from(["*", "?", "img*", "*.jpg", "IMG?1*", "*a*", "a\\*b", "", "??", "*1*.?pg"])


@st.composite
def contents(draw: st.DrawFn, view: str = "v") -> list[NewItem]:
    """A few items, whose keys often begin alike."""
    keys = draw(st.lists(st.tuples(PREFIXES, st.integers(0, 99)), min_size=1, max_size=5, unique=True))
    row = np.ones(2, np.float32)
    return [
        NewItem(
            f"{prefix}{number}",
            rows={view: row},
            labels=draw(TAGS),
            attributes=draw(ATTRIBUTES),
            text=draw(st.none() | TEXTS) or "",
        )
        for prefix, number in keys
    ]


@st.composite
def tests_of(draw: st.DrawFn, items: list[NewItem]) -> FieldTest:
    """A test that some of the items are likely to pass: its values are often theirs."""
    kind = draw(st.sampled_from(["attribute", "attribute", "attribute", "label", "key", "text", "view", "path"]))
    if kind == "attribute":
        path, value = draw(_attributes(items))
        field = Field("attribute", path)
    else:
        field = Field(kind)
        own = {
            "key": st.sampled_from([item.key for item in items]),
            "label": LABELS,
            "view": st.sampled_from(["v", "w"]),
        }
        value = draw(own.get(kind, TEXTS) | TEXTS)
    operator = draw(st.sampled_from(["in", "in", "exists", *COMPARISONS, *OF_TEXT]))
    if operator == "exists":
        return FieldTest(field, "exists")
    if operator in OF_TEXT:
        text = draw(PATTERNS) if operator == "like" else value if isinstance(value, str) else "a"
        return FieldTest(field, operator, (text,))
    dated = st.builds(Date, ASKED_DATES) if kind == "attribute" else st.nothing()
    if operator == "in":
        others = SCALARS | dated if kind == "attribute" else TEXTS
        return FieldTest(field, "in", (value, *draw(st.lists(others, max_size=2))))
    ordered = isinstance(value, str | int | float) and not isinstance(value, bool)
    return FieldTest(field, operator, (draw(st.just(value) | dated) if ordered else draw(st.just(1) | dated),))


@st.composite
def _attributes(draw: st.DrawFn, items: list[NewItem]) -> tuple[tuple[str, ...], Any]:
    """A path of attributes, and a scalar that is often the value of an item there."""
    there = list[tuple[tuple[str, ...], Any]]()
    for item in items:
        for name, value in (item.attributes or {}).items():
            if isinstance(value, dict):
                there += [((name, inner), one) for inner, one in value.items()]
            else:
                there += [((name,), one) for one in (value if isinstance(value, list) else [value])]
    anything = st.tuples(NAMES.map(lambda name: (name,)), SCALARS)
    return draw(st.sampled_from(there) | anything if there else anything)


def conditions(items: list[NewItem]) -> st.SearchStrategy[Condition]:
    """Trees of a few tests."""
    return st.just(EVERY) | st.recursive(
        tests_of(items),
        lambda parts: (
            parts.map(Not)
            | st.lists(parts, min_size=1, max_size=3).map(all_of)
            | st.lists(parts, min_size=1, max_size=3).map(any_of)
        ),
        max_leaves=6,
    )
