"""Conditions decided for items alone, and by expressions of Milvus: they agree with the embedded engine."""

import random
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conditions import contents
from conditions import tests_of as drawn_tests
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.collection import Collection
from crossview.engine.conditions.dates import Date
from crossview.engine.conditions.filter import Filter, field
from crossview.engine.conditions.tree import (
    COMPARISONS,
    EVERY,
    MAX_DEPTH,
    OF_TEXT,
    All,
    Condition,
    Either,
    Field,
    FieldTest,
    Not,
)
from crossview.engine.errors import InvalidInputError
from crossview.engine.home import Home
from crossview.engine.item import Capture, FileChanges, Item, NewItem
from crossview.engine.publishing.expression import expression_of, fulfils, passing, quoted
from crossview.engine.publishing.spellings import MOST_SPELLINGS, spellings

pytestmark = pytest.mark.filterwarnings("ignore::crossview.engine.errors.InputWarning")

WORDS = [
    *(
        "K",
        "\u212a",
        "k",
        "é",
        "e\u0301",
        "e",
        "ệ",
        "e\u0302\u0323",
        "ê\u0323",
        "q\u0323\u0301",
        "q\u0301\u0323",
        "क\u093c",
    ),
    *(
        "क",
        "\u0958",
        "가",
        "\u1100\u1161",
        "각",
        "\u1100",
        "か",
        "が",
        "か\u3099",
        "Å",
        "\u212b",
        "猫",
        "🙂",
        "\uffff",
        "<",
        "<\u0338",
    ),
    *(
        "a/1",
        "a/é1",
        "a/e\u03011",
        "a\u0301/1",
        "a/\u0301",
        "a1",
        "a1\u0301",
        "2021-05",
        "2021-05-01",
        "2021;05",
        "2021\u037e05",
    ),
    *(
        "2021-04-30T23:30:00-02:00",
        "2021-05-02T00:30:00+01:00",
        "2021-05-01T10",
        "2021-05-01 10:00",
        "9999-12-31",
        "0001-01-01",
    ),
    *(
        '"',
        '""',
        "\\",
        '\\"',
        '" or key != "',
        "a%",
        "a_",
        "a*",
        "%",
        "'",
        "a\tb",
        "a\nb",
        "\r",
        "\x01",
        "\x7f",
        "\\n",
        "\\u0041",
    ),
]
"""Texts whose spellings, ends or characters are special, and those that look alike."""
DEEP = [{"x": {"y": 5}}, {"x": {"y": [5, "K"]}}, {"x": [{"y": 5}]}, {"x": {"0": 5}}, {"x": [5]}, {"x": {}}, {"x": []}]
FORMS = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    -1,
    2**53,
    2**53 - 1,
    2.0**63,
    1e300,
    5e-324,
    -0.0,
    "1",
    "true",
    "",
    [],
    {},
    [[]],
]
LISTS = [[1], [1.0], [True], [None], ["1"], ["K"], [1, "e\u0301", True, None, 2.5], [[1]], [{"x": 1}], ["2021-05-01"]]
ODD_NAMES = ["a b", "a/b", "~0", "~1", "0", "01", "-", "\\", '"]', "a\tb", "\x01", "é", "file", "not", "x]"]


def made_items() -> list[NewItem]:
    """Items with each of the values above, alone and together with others."""
    drawn = random.Random(0)
    values = [*FORMS, *LISTS, *WORDS, *(DEEP[number]["x"] for number in range(len(DEEP)))]
    items = list[NewItem]()
    for number, value in enumerate(values):
        word, other = drawn.choice(WORDS), WORDS[number % len(WORDS)]
        attributes = {"x": value, drawn.choice(ODD_NAMES): drawn.choice(values), "w": word}
        items.append(
            NewItem(
                f"{other}{number}" if number % 3 else f"a/{other}{number}",
                rows={view: np.ones(2, np.float32) for view in drawn.choice([("v",), ("v", "w"), ("w",)])},
                labels=tuple(drawn.sample(WORDS, number % 3)),
                attributes=attributes if number % 5 else {},
                text=drawn.choice([other, "", "1999", "IMG_1.jpg"]),
                source=drawn.choice(["", word, "/photos/é/1.jpg"]),
                capture=Capture(stamp="x", file={"camera": word, "width": number}) if number % 4 == 0 else None,
            )
        )
    return items


ITEMS = made_items()


@st.composite
def word_tests(draw: st.DrawFn) -> FieldTest:
    """A test of a special text, or of a value anywhere in attributes."""
    path = draw(st.sampled_from([("x",), ("x", "y"), ("x", "0"), ("w",), ("file", "camera"), ("file", "width")]))
    kinds = st.sampled_from(["label", "key", "text", "path", "view", "attribute", "attribute"])
    field = draw(kinds.map(lambda kind: Field(kind, path if kind == "attribute" else ())) | ODD_FIELDS)
    words = st.sampled_from(WORDS) | st.sampled_from([item.key for item in ITEMS])
    words |= st.tuples(words, st.integers(0, 3)).map(lambda one: one[0][: one[1]])
    operator = draw(st.sampled_from(["in", "in", "exists", *COMPARISONS, *OF_TEXT]))
    if operator == "exists":
        return FieldTest(field, "exists")
    values: st.SearchStrategy[Any] = words
    if field.kind == "attribute" and operator not in OF_TEXT:
        dates = st.sampled_from(["2021-05", "2021-05-01", "2021-04-30T23:30:00Z", "9999-12", "0001-01-01"]).map(Date)
        numbers = st.sampled_from([one for one in FORMS if isinstance(one, int | float) and not isinstance(one, bool)])
        values = words | dates | numbers
        values |= st.sampled_from([None, True, False]) if operator == "in" else st.nothing()
    most = 3 if operator == "in" else 1
    return FieldTest(field, operator, tuple(draw(st.lists(values, min_size=min(most, 1), max_size=most))))


ODD_FIELDS = st.sampled_from(ODD_NAMES).map(lambda name: Field("attribute", (name,)))


def trees(tests: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    """Trees of a few tests."""
    some = st.recursive(
        tests,
        lambda parts: parts.map(Not) | st.lists(parts, max_size=3).map(All) | st.lists(parts, max_size=3).map(Either),
        max_leaves=5,
    )
    return st.just(EVERY) | some


CONDITIONS = trees(word_tests() | drawn_tests(ITEMS))


@dataclass(frozen=True, repr=False)
class Stored:
    """The items as the embedded engine returns them, and an engine that has them, too."""

    collection: Collection
    items: list[Item]
    kept: Callable[[str], set[str]]
    """Returns the keys of the items that an expression of the engine keeps."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    views = ["v=vectors:dim=2", "w=vectors:dim=2"]
    with Home(tmp_path_factory.mktemp("made")).create("made", views) as collection:
        assert collection.items.put(ITEMS).failures == ()
        collection.items.follow_files(FileChanges(missing=[item.key for item in ITEMS[::7]]))
        yield collection


@pytest.fixture(scope="module")
def items(made: Collection) -> list[Item]:
    return list(made.items())


@pytest.fixture(scope="module")
def lite(items: list[Item], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Milvus Lite with the items."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries use what newer ones deprecate
        pymilvus = pytest.importorskip("pymilvus")
        manager = pytest.importorskip("milvus_lite.server_manager").server_manager_instance
    path = str(tmp_path_factory.mktemp("lite") / "items.db")
    client = pymilvus.MilvusClient(path)
    yield filled(pymilvus, client, items)
    client.close()
    manager.release_server(path)


def filled(pymilvus: Any, client: Any, items: Sequence[Item]) -> Engine:
    """Return an engine that has been given the items."""
    types, schema = pymilvus.DataType, pymilvus.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("key", types.VARCHAR, is_primary=True, max_length=4_096)
    for name in ("labels", "views"):
        schema.add_field(name, types.ARRAY, element_type=types.VARCHAR, max_capacity=4_096, max_length=4_096)
    schema.add_field("attributes", types.JSON)
    for name in ("source", "text"):
        schema.add_field(name, types.VARCHAR, max_length=65_535)
    schema.add_field("vector", types.FLOAT_VECTOR, dim=2)
    index = pymilvus.MilvusClient.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="L2")
    client.create_collection("items", schema=schema, index_params=index, consistency_level="Strong")
    rows = [
        {"key": item.key, "labels": list(item.labels), "views": list(item.views), "attributes": dict(item.attributes),
         "source": item.source, "text": item.text, "vector": [0.0, 0.0]}
        for item in items
    ]  # fmt: skip
    client.insert("items", rows)
    return lambda text: {row["key"] for row in client.query("items", filter=text, output_fields=["key"], limit=16_384)}


def check(engine: Engine, condition: Condition, items: Sequence[Item], negates: bool) -> None:
    """Check that the expression of a condition keeps the items that it must."""
    wanted = {item.key for item, passes in zip(items, passing(condition, items), strict=True) if passes}
    expression = expression_of(condition, negates)
    kept = engine(expression.text)
    assert wanted <= kept, (str(condition), expression, wanted - kept)
    if expression.exact:
        assert wanted == kept, (str(condition), expression, kept - wanted)
        assert expression.inexact == ()
    elif not expression.text:
        assert expression.inexact


@settings(max_examples=400, deadline=None, derandomize=True)
@given(CONDITIONS)
def test_items_fulfil_the_conditions_that_the_catalog_finds_them_by(
    made: Collection, items: list[Item], condition: Condition
) -> None:
    wanted = {item.key for item in made.items(Filter(condition))}
    assert {item.key for item, passes in zip(items, passing(condition, items), strict=True) if passes} == wanted
    assert all(fulfils(condition, item) is (item.key in wanted) for item in items[::9])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_items_fulfil_what_the_catalog_decides(kept: Collection, data: st.DataObject) -> None:
    """Also items of any other content."""
    kept.items.delete([item.key for item in kept.items()])
    assert kept.items.put(data.draw(contents())).failures == ()
    items = kept.items()
    asked = [NewItem(item.key, attributes=item.attributes) for item in items]
    for condition in data.draw(st.lists(trees(drawn_tests(asked)), min_size=8, max_size=8)):
        wanted = [item.key for item in kept.items(Filter(condition))]
        assert [item.key for item in items if fulfils(condition, item)] == wanted


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A collection that each example fills anew."""
    with Home(tmp_path_factory.mktemp("kept")).create("kept", ["v=vectors:dim=2"]) as collection:
        yield collection


@settings(max_examples=1_000, deadline=None, derandomize=True)
@given(CONDITIONS)
def test_an_engine_keeps_all_items_that_fulfil_a_condition_and_no_other_one_if_its_expression_is_exact(
    lite: Engine, items: list[Item], condition: Condition
) -> None:
    check(lite, condition, items, negates=False)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(word_tests() | drawn_tests(ITEMS))
def test_each_test_and_its_opposite_keep_what_they_must(lite: Engine, items: list[Item], test: FieldTest) -> None:
    check(lite, test, items, negates=False)
    check(lite, Not(test), items, negates=False)
