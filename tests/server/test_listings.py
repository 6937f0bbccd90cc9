"""The output of list --csv is the input of label --from, and files of spreadsheets are read with a note."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import ItemUpdate, NewItem

VIEW = "v=vectors:dim=1"
CHARACTERS = st.sampled_from('ab;,"\\ \n\r\t=+-@') | st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(CHARACTERS, min_size=1, max_size=6)
NOTIONS = st.sampled_from(["color", "head"])
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda some: st.lists(some, max_size=2) | st.dictionaries(TEXTS, some, max_size=2), max_leaves=4
)
UPDATES = st.fixed_dictionaries(
    {
        "labels": st.lists(TEXTS, max_size=3).map(tuple),
        "text": TEXTS | st.just(""),
        "attributes": st.dictionaries(TEXTS, VALUES, max_size=3),
        "notion_labels": st.dictionaries(NOTIONS, st.lists(TEXTS, min_size=1, max_size=2).map(tuple), max_size=2),
    }
)
KEYS = ("a", "b/ c;d", 'e"f"', "./g", " h ")


def annotated(home: Home, name: str) -> list[tuple[Any, ...]]:
    with home.open(name) as made:
        return [(one.key, one.labels, one.text, one.attributes, one.notion_labels) for one in made.items()]


def made(home: Home, name: str, views: str = VIEW) -> None:
    with home.create(name, [views]) as collection:
        collection.items.put([NewItem(key, rows={"v": [0.0]}) for key in KEYS])


@settings(max_examples=25)
@given(updates=st.lists(UPDATES, min_size=1, max_size=len(KEYS)), others=st.lists(UPDATES, max_size=len(KEYS)))
def test_a_listing_gives_back_what_was_listed(
    tmp_path_factory: pytest.TempPathFactory, updates: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    """It leaves its own collection as it is, and changes another one with items of the same keys.

    Both listings are then equal to the byte.
    """
    home = Home(tmp_path_factory.mktemp("home"))
    made(home, "one")
    made(home, "two")
    with home.open("one") as one:
        one.items.update([ItemUpdate(key, **update) for key, update in zip(KEYS, updates, strict=False)])
    before = annotated(home, "one")
    listing, text = home.path / "r.csv", done("list", "one", "--csv", "--home", home.path)
    listing.write_text(text, encoding="utf-8", newline="")
    for name in ("one", "two"):
        done("annotate", name, "--from", listing, "--home", home.path)
        assert annotated(home, name) == before
        assert done("list", name, "--csv", "--home", home.path) == text


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_alone_are_lines(tmp_path: Path, backend: str) -> None:
    """The command prints all of them, or a sample; --json and --csv are other forms."""
    home = Home(tmp_path / "home")
    made(home, "one")
    with reached(home, backend) as where:
        listed = [item["key"] for item in result_of("list", "one", *where)]
        assert done("list", "one", "--keys-only", *where).splitlines() == listed
        (drawn,) = done("list", "one", "--keys-only", "--sample", 1, *where).splitlines()
        assert drawn in listed
        assert run("list", "one", "--keys-only", "--csv", *where).exit_code == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_emptied_cell_of_a_listing_clears(tmp_path: Path, backend: str) -> None:
    """It does so in any table; source and views are not read, and become no attributes."""
    home = Home(tmp_path / "home")
    made(home, "one")
    full = {"labels": ("e", "f;g"), "text": "t", "attributes": {"n": 1}, "notion_labels": {"color": ("red",)}}
    with home.open("one") as one:
        one.items.update([ItemUpdate(key, **full) for key in KEYS[:2]])
    listing = tmp_path / "r.csv"
    with reached(home, backend) as where:
        header, *rows = done("list", "one", "--csv", *where).splitlines()
        assert 'a,"e;""f;g""","{""n"": 1}",t,,v,"{""color"": [""red""]}",' in rows
        listing.write_text(f'{header}\na,,,,,v,\n"b/ c;d",e,,,,v,"{{""color"": [""blue""]}}"\n')
        done("annotate", "one", "--from", listing, *where)
        items = {item["key"]: item for item in result_of("list", "one", *where)}
    cleared, changed = (items[key] for key in KEYS[:2])
    for item in (cleared, changed):
        assert (item["text"], item["attributes"]) == ("", {})
    assert (cleared["labels"], cleared["notion_labels"]) == ([], {})
    assert (changed["labels"], changed["notion_labels"]) == (["e"], {"color": ["blue"]})


SHEETS = {
    "semicolons": b"key;label;year\na;x;1999\n",
    "tabs": b"key\tlabel\tyear\na\tx\t1999\n",
    "Windows-1252": "key,label,year\na,x,1999\nb,\u00e9t\u00e9,\n".encode("cp1252"),
    "UTF-16": "key\tlabel\tyear\na\tx\t1999\n".encode("utf-16"),
}


@pytest.mark.parametrize("kind", SHEETS)
def test_files_of_spreadsheets_are_read_with_a_note(tmp_path: Path, kind: str) -> None:
    """Cells may have any separator, and letters any encoding; the note is on stderr, once."""
    home = Home(tmp_path / "home")
    made(home, "one")
    (tmp_path / "l.csv").write_bytes(SHEETS[kind])
    result = run("annotate", "one", "--from", tmp_path / "l.csv", "--home", home.path, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("note: ") == 1
    assert str(tmp_path / "l.csv") in result.stderr
    assert json.loads(result.stdout)["result"]["updated"] == 1
    assert ("a", ("x",), "", {"year": 1999}, {}) in annotated(home, "one")
