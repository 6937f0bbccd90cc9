"""Conditions decided for items alone, and by expressions of Milvus, both agree with the embedded engine."""

import random
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from conditions import contents
from conditions import tests_of as usual_tests
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.expression import expression_of, passing, quoted
from crossview.engine.publishing.spellings import MOST_SPELLINGS, spellings
from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.conditions.tree import (
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
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Capture, FileChanges, Item, NewItem

pytestmark = pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")

WORDS = [
    *("K", "\u212a", "k", "é", "e\u0301", "e", "ệ", "e\u0302\u0323", "ê\u0323", "q\u0323\u0301", "q\u0301\u0323"),
    *(
        "क\u093c",
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
    ),
    *(
        "\uffff",
        "<",
        "<\u0338",
        "a/1",
        "a/é1",
        "a/e\u03011",
        "a\u0301/1",
        "a/\u0301",
        "a1",
        "a1\u0301",
        "photo",
        "photo\u0301",
    ),
    *("2021-05", "2021-05-01", "2021;05", "2021\u037e05", "2021-04-30T23:30:00-02:00", "2021-05-02T00:30:00+01:00"),
    *(
        "2021-05-01T10",
        "2021-05-01 10:00",
        "9999-12-31",
        "0001-01-01",
        "a%",
        "a_",
        "a*",
        "%",
        "a\tb",
        "a\nb",
        "\r",
        "\x01",
    ),
    *("\x7f", '"', '""', "\\", '\\"', '" or key != "', "'", "\\n", "\\u0041", "key", "true", "1", "IMG_1.jpg"),
]
"""Texts with special spellings, ends or characters, and those that look alike."""
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.0, -1, -0.5, 2**53, 2**53 - 1, 2.0**63, 1e300, 5e-324, -0.0, "", [], {}, [[]], [{}]),
    *([1], [1.0], [True], [None], ["1"], ["K"], [1, "e\u0301", True, None, 2.5], [[1]], [{"y": 1}], ["2021-05-01"]),
    *({"y": 5}, {"y": [5, "K"]}, {"y": {"z": 1}}, {"y": None}, {"0": 5}, [5, 6]),
]
NAMES = ["a b", "a/b", "~0", "~1", "0", "01", "-", "\\", '"]', "a\tb", "\x01", "é", "", "file", "not", "x]", "a%"]
PATHS = [("x",), ("x",), ("x", "y"), ("x", "y", "z"), ("x", "0"), ("w",), ("file", "camera"), ("file", "width")]


def various() -> list[NewItem]:
    """Items with each of the values above, alone and together with others."""
    drawn, values = random.Random(0), [*VALUES, *WORDS]
    return [
        NewItem(
            f"{drawn.choice(['', 'a/', 'é/'])}{WORDS[number % len(WORDS)]}{number}",
            rows={view: np.ones(2, np.float32) for view in drawn.choice(["v", "w", "vw"])},
            labels=tuple(drawn.sample(WORDS, number % 3)),
            attributes={"x": value, drawn.choice(NAMES): drawn.choice(values), "w": drawn.choice(WORDS)},
            text=drawn.choice(["", *WORDS]),
            source=drawn.choice(["", "/photos/é/1.jpg", drawn.choice(WORDS)]),
            capture=Capture(file={"camera": drawn.choice(WORDS), "width": number}) if number % 4 == 0 else None,
        )
        for number, value in enumerate(values)
    ] + [NewItem("bare", rows={"v": np.ones(2, np.float32)})]


ITEMS = various()


@st.composite
def special_tests(draw: st.DrawFn) -> FieldTest:
    """A test of a special text, or of a value anywhere in the attributes."""
    paths = st.sampled_from(PATHS) | st.sampled_from(NAMES).map(lambda name: (name,))
    kind = draw(st.sampled_from(["label", "key", "text", "path", "view", "missing", *["attribute"] * 4]))
    field = Field(kind, draw(paths) if kind == "attribute" else ())
    operator = draw(st.sampled_from(["in", "in", "exists", *COMPARISONS, *OF_TEXT]))
    values: st.SearchStrategy[Any] = st.sampled_from(WORDS) | st.sampled_from([item.key for item in ITEMS])
    values |= st.tuples(values, st.integers(0, 3)).map(lambda one: one[0][: one[1]])
    if kind in ("attribute", "missing") and operator not in OF_TEXT:
        values |= st.sampled_from(["2021-05", "2021-05-01", "2021-04-30T23:30:00Z", "9999-12", "0001-01-01"]).map(Date)
        values |= st.sampled_from([0, 1, 1.0, -0.5, 5, 2**53, 2**53 - 1, 2.0**63, 1e300, 5e-324])
        values |= st.sampled_from([None, True, False]) if operator == "in" else st.nothing()
    fewest, most = {"exists": (0, 0), "in": (kind == "view", 3)}.get(operator, (1, 1))
    return FieldTest(field, operator, tuple(draw(st.lists(values, min_size=fewest, max_size=most))))


def trees(tests: st.SearchStrategy[FieldTest]) -> st.SearchStrategy[Condition]:
    """Trees of a few tests."""
    some: st.SearchStrategy[Condition] = st.recursive(
        tests,
        lambda parts: parts.map(Not) | st.lists(parts, max_size=3).map(All) | st.lists(parts, max_size=3).map(Either),
        max_leaves=5,
    )
    return st.just(EVERY) | some


@st.composite
def a_test(draw: st.DrawFn) -> FieldTest:
    """A test of any kind, whose message does not contain the items."""
    return draw(special_tests() | usual_tests(SCALARS))


SCALARS = [
    NewItem(
        item.key,
        attributes={name: one for name, one in (item.attributes or {}).items() if not isinstance(one, list | dict)},
    )
    for item in ITEMS
]
TESTS = a_test()


class Stored:
    """Items in the embedded engine, and as it returns them."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.items = collection, collection.items(limit=1_000)

    def passing(self, condition: Condition) -> set[str]:
        """Return the keys of the items that fulfil a condition."""
        found = passing(condition, self.items)
        return {item.key for item, passes in zip(self.items, found, strict=True) if passes}


class Published:
    """Items in an engine of Milvus, and in the embedded engine."""

    def __init__(self, stored: Stored, kept: Callable[[str], set[str]], negates: bool) -> None:
        self.stored, self.negates = stored, negates
        self.kept = kept
        """Returns the keys of the items that an expression keeps."""

    def check(self, condition: Condition) -> None:
        """Check that the expression of a condition keeps the items that it must."""
        wanted, expression = self.stored.passing(condition), expression_of(condition, self.negates)
        kept = self.kept(expression.text)
        assert wanted <= kept, (str(condition), expression, wanted - kept)
        assert not expression.exact or wanted == kept, (str(condition), expression, kept - wanted)
        assert not (expression.exact and expression.inexact)
        assert expression.exact or expression.text or expression.inexact


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    views = ["v=vectors:dim=2", "w=vectors:dim=2"]
    with Home(tmp_path_factory.mktemp("stored")).create("stored", views) as collection:
        assert collection.items.put(ITEMS).failures == ()
        collection.items.follow_files(FileChanges(missing=tuple(item.key for item in ITEMS[::7])))
        yield Stored(collection)


@pytest.fixture(scope="module")
def lite(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """Milvus Lite with the items."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries use what others have deprecated
        pymilvus = pytest.importorskip("pymilvus", reason="Milvus Lite is not installed")
        lite = pytest.importorskip("milvus_lite.server_manager", reason="Milvus Lite is not installed")
    path = str(tmp_path_factory.mktemp("lite") / "items.db")
    client = pymilvus.MilvusClient(path)
    yield published(pymilvus, client, stored)
    client.close()
    lite.server_manager_instance.release_server(path)


def published(pymilvus: Any, client: Any, stored: Stored, negates: bool = False) -> Published:
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
        {"key": item.key, "labels": list(item.labels), "views": list(item.views), "attributes": dict(item.attributes)}
        | {"source": item.source, "text": item.text, "vector": [0.0, 0.0]}
        for item in stored.items
    ]
    client.insert("items", rows)

    def kept(text: str) -> set[str]:
        return {row["key"] for row in client.query("items", filter=text, output_fields=["key"], limit=16_384)}

    return Published(stored, kept, negates)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(condition=trees(TESTS))
def test_items_fulfil_the_conditions_that_the_catalog_finds_them_by(stored: Stored, condition: Condition) -> None:
    wanted = {item.key for item in stored.collection.items(Filter(condition), limit=1_000)}
    assert stored.passing(condition) == wanted
    assert all(passing(condition, [item])[0] == (item.key in wanted) for item in stored.items[::9])


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A collection that each example fills again."""
    with Home(tmp_path_factory.mktemp("emptied")).create("emptied", ["v=vectors:dim=2"]) as collection:
        yield collection


@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data())
def test_items_of_any_content_fulfil_what_the_catalog_decides(emptied: Collection, data: st.DataObject) -> None:
    emptied.items.delete([item.key for item in emptied.items()])
    assert emptied.items.put(data.draw(contents())).failures == ()
    items = list(emptied.items())
    asked = [NewItem(item.key, attributes=item.attributes) for item in items]
    for condition in data.draw(st.lists(trees(usual_tests(asked)), min_size=8, max_size=8)):
        wanted = [item.key for item in emptied.items(Filter(condition))]
        assert [item.key for item in items if passing(condition, [item])[0]] == wanted


@settings(max_examples=600, deadline=None, derandomize=True)
@given(test=TESTS)
def test_an_engine_keeps_the_items_that_pass_a_test_or_its_opposite(lite: Published, test: FieldTest) -> None:
    """It keeps no other items, if the expression is exact."""
    lite.check(test)
    lite.check(Not(test))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(condition=trees(TESTS))
def test_an_engine_keeps_the_items_that_fulfil_a_condition(lite: Published, condition: Condition) -> None:
    """It keeps no other items, if the expression is exact."""
    lite.check(condition)


def test_a_text_in_an_expression_is_never_code(lite: Published) -> None:
    """For any text, the engine finds the items that have it, and only these."""
    for word in WORDS:
        for field in (Field("text"), Field("path"), Field("label"), Field("attribute", ("w",))):
            lite.check(FieldTest(field, "in", (word,)))
            lite.check(FieldTest(field, "in", (word, "猫")))
        if "\n" not in word and "\r" not in word:
            assert expression_of(FieldTest(Field("text"), "in", (word,))).exact
            assert lite.kept(f"text in [{quoted(word)}]") == {one.key for one in lite.stored.items if one.text == word}
    for name in (*NAMES, *WORDS):
        lite.check(FieldTest(Field("attribute", (name,)), ">=", (0,)))
        lite.check(FieldTest(Field("attribute", ("x", name)), ">=", (0,)))


@pytest.mark.parametrize("text", ["a\nb", "\r", "a\0", "\ud800"])
def test_a_text_that_no_expression_can_have_is_refused_or_left_out(text: str) -> None:
    with pytest.raises(InvalidInputError, match="an engine cannot be asked for"):
        quoted(text)
    for field in (Field("key"), Field("label"), Field("attribute", (text,)), Field("attribute", ("x", text))):
        for operator in ("in", "prefix", ">="):
            test = FieldTest(field, operator, (text,)) if field.kind != "label" else FieldTest(field, "in", (text,))
            assert not expression_of(test).exact
            assert text not in expression_of(test).text


def test_parts_that_an_engine_cannot_decide_are_named() -> None:
    condition = Filter('label = a and text contains dog and (year >= 2021 or missing exists or file.camera like "x*")')
    expression = expression_of(condition.condition)
    assert expression.text == 'array_contains_any(labels, ["a"])'
    assert not expression.exact
    assert expression.inexact == ('text contains "dog"', "missing exists", 'file.camera like "x*"')
    negated = Filter("not label = a and not text contains dog and not year exists").condition
    assert expression_of(negated).inexact == ('not text contains "dog"',)
    assert expression_of(negated, negates=False).inexact == (
        'not label = "a"',
        'not text contains "dog"',
        "not year exists",
    )
    assert expression_of(Filter("year >= 2021").condition).inexact == ()
    assert expression_of(EVERY) == ("", True, ())


def test_an_expression_stays_within_the_limits_of_the_engine(lite: Published) -> None:
    """Conditions have any depth, and as many tests and values as conditions may have."""
    tree: Condition = FieldTest(Field("key"), "in", ("bare",))
    for number in range(MAX_DEPTH - 1):
        kind = Either if number % 2 else All
        tree = kind([FieldTest(Field("text"), "<", (str(one),)) for one in range(30)] + [tree])
    for condition in (
        tree,
        Either(FieldTest(Field("attribute", ("x",)), "in", (number, "K", True)) for number in range(1_000)),
        FieldTest(Field("key"), "in", ("bare", *(f"photos/été/{number}" for number in range(4_000)))),
    ):
        assert expression_of(condition, negates=False).exact
        lite.check(condition)
    endless = FieldTest(Field("key"), "in", tuple(f"{number:0200}" for number in range(10_000)))
    expression = expression_of(All([endless, FieldTest(Field("label"), "exists")]))
    assert expression[:2] == ("array_length(labels) != 0", False)
    assert len(expression.inexact[0]) < 300


@pytest.mark.parametrize("text", ["score.busy >= .5", "match >= .5"])
def test_scores_are_refused(text: str) -> None:
    for decide in (expression_of, lambda condition: passing(condition, [Item("a")])):
        with pytest.raises(InvalidInputError, match="a published collection cannot decide"):
            decide(Filter(text).condition)


def test_the_spellings_of_a_text_are_all_texts_with_its_normal_form() -> None:
    letters = "Kk\u212aeéêẹ\u0301\u0302\u0323\u0338<क\u093c\u0958\u1100\u1161\u11a8가각"
    by_form: dict[str, set[str]] = {}
    for text in map("".join, (one for length in range(4) for one in product(letters, repeat=length))):
        by_form.setdefault(unicodedata.normalize("NFC", text), set()).add(text)
    for form, texts in by_form.items():
        found = spellings(form)
        assert found is not None
        assert texts <= found
        assert {unicodedata.normalize("NFC", text) for text in found} == {form}
    assert spellings("K" * 10) is None is spellings("\u0301\u0323" * 9)
    assert len(spellings("K" * 9) or ()) == MOST_SPELLINGS


def test_bounds_of_texts_hold_for_all_spellings() -> None:
    """An expression on a text is one of Python, too, so all short texts can be tested."""
    letters = ["a", "K", "\u212a", "e", "é", "\u0301", "\u0323", "1", "/", ":", ";", "<", "क", "\u093c", "\u0958"]
    texts = ["", *letters, *map("".join, product(letters, repeat=2))]
    items = [Item(text) for text in texts if text]
    for operator, value in product(("in", "prefix", *COMPARISONS), texts):
        test = FieldTest(Field("key"), operator, (value,))
        for condition, passes in ((test, passing(test, items)), (Not(test), ~passing(test, items))):
            expression = expression_of(condition)
            code = compile(expression.text or "True", "", "eval")
            kept = np.array([eval(code, {"key": item.key}) for item in items])  # noqa: S307
            assert kept[passes].all(), (str(condition), expression)
            assert not expression.exact or not kept[~passes].any(), (str(condition), expression)
