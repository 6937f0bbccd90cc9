"""Input of people has an effect or a reason: long captions, deep JSON, damaged arrays, keys that are not text."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossview.engine.catalog.checks import MAX_TEXT, check_characters, check_key
from crossview.engine.catalog.ingest.cells import json_or_text
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import NewItem

ROWS = np.ones((2, 3), np.float32)
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def made(home: Home):
    with home.create("made", ["v=vectors:dim=3"]) as opened:
        opened.items.put_vectors("v", ["a", "b"], ROWS)
        yield opened


def beyond(text: str, number: int) -> str:
    """Return a text whose last character is a number beyond all characters; only NumPy makes such."""
    codes = [*map(ord, text), number, 0]
    return np.array(codes, np.uint32).view(f"U{len(codes)}").tolist()[0]


def test_a_caption_is_as_long_as_a_text_may_be(made: Collection, tmp_path: Path) -> None:
    file = tmp_path / "captions.csv"
    file.write_text(f"key,caption\na,{'x' * MAX_TEXT}\n")
    assert made.items.annotate(file).updated == 1
    assert len(made.items.get("a").text) == MAX_TEXT
    file.write_text(f"key,caption\na,{'x' * (MAX_TEXT + 1)}\n")
    with pytest.raises(InvalidInputError, match="line 2: a text may have at most 1,000,000 characters"):
        made.items.annotate(file)


def test_deep_json_is_refused_by_line(made: Collection, tmp_path: Path) -> None:
    file = tmp_path / "deep.csv"
    file.write_text(f'key,label,x\na,l,"{DEEP}"\n')
    with pytest.raises(InvalidInputError, match=r"line 2: x: \[\[.*lists and objects more than 16 levels deep"):
        made.items.annotate(file)
    with pytest.raises(InvalidInputError, match="more than 16 levels deep"):
        json_or_text(DEEP)
    assert [json_or_text(text) for text in ("1", "[1]", "one", "[")] == [1, [1], "one", "["]


@pytest.mark.parametrize("text", [beyond("k", 0x7FFFFFFF), beyond("é", 0x110000), "k\ud800", "\udfff"])
def test_what_is_no_character_is_in_no_key_label_or_text(made: Collection, text: str) -> None:
    before = made.info().sequence
    with pytest.raises(InvalidInputError, match="a key must be Unicode"):
        made.items.put_vectors("v", [text], ROWS[:1])
    for item in (
        NewItem(text, rows={"v": ROWS[0]}),
        NewItem("k", rows={"v": ROWS[0]}, labels=(text,)),
        NewItem("k", rows={"v": ROWS[0]}, text=text),
        NewItem("k", rows={"v": ROWS[0]}, attributes={text: 1}),
        NewItem("k", rows={"v": ROWS[0]}, attributes={"x": [text]}),
        NewItem("k", rows={"v": ROWS[0]}, source=text),
    ):
        (failure,) = made.items.put([item]).failures
        assert "must be Unicode" in failure.reason
    assert made.info().sequence == before
    assert check_key("é\U0010ffff") == "é\U0010ffff"
    with pytest.raises(InvalidInputError, match="is not at position"):
        check_characters(text, "it", 10)


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("order", "<>")
def test_a_file_whose_keys_are_no_characters_is_refused(
    made: Collection, tmp_path: Path, length: int, order: str
) -> None:
    codes = np.array([*[0x61] * (length - 1), 0x62, *[0x61] * (length - 1), 0x7FFFFFFF], f"{order}u4")
    file = tmp_path / "v.npz"
    np.savez(file, keys=codes.view(f"{order}U{length}"), vectors=ROWS)
    before = made.info().sequence
    with pytest.raises(
        InvalidInputError, match="the key of row 2 contains 0x7fffffff, which is not a Unicode character"
    ):
        made.items.index_vectors("v", file)
    assert made.info().sequence == before


def array(shape: str, kind: str = "<f4") -> bytes:
    """Return an .npy file that states this shape and kind."""
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(24)


def archive(**members: bytes) -> bytes:
    """Return an .npz file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return data.getvalue()


@pytest.mark.parametrize(
    "shape",
    ["(-1, 3)", "(-2, -3)", "(2**70, 3)", "(18446744073709551616, 3)", "('a', 3)", "(2.5, 3)", "(2, 3", "(True, 3)"],
)
def test_an_array_of_an_impossible_shape_is_refused(made: Collection, tmp_path: Path, shape: str) -> None:
    file = tmp_path / "v.npz"
    for content in (array(shape), archive(keys=array("(2,)", "<U3"), vectors=array(shape))):
        file.write_bytes(content)
        with pytest.raises(InvalidInputError, match=r"v\.npz is not an array of numbers"):
            made.items.index_vectors("v", file)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not an array of numbers: No data left"),
        (archive(), "must contain two arrays, keys and vectors; it contains: none"),
        (archive(x=array("(2, 3)")), "it contains: x"),
        (b"PK", "is not an array of numbers"),
    ],
)
def test_an_empty_file_is_refused(made: Collection, tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "v.npz"
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=reason):
        made.items.index_vectors("v", file)


@pytest.mark.long
def test_whatever_is_wrong_with_a_file_has_a_reason(made: Collection, tmp_path: Path) -> None:
    """Bytes of files are changed, and ends cut off."""
    file, data = tmp_path / "v.npz", io.BytesIO()
    np.savez_compressed(data, keys=np.array(["a", "b"]), vectors=ROWS)
    generator = np.random.default_rng(0)
    for number in range(3_000):
        content = bytearray((data.getvalue(), array("(2, 3)"))[number % 2])
        for place in generator.integers(len(content), size=3):
            content[place] = generator.integers(256)
        file.write_bytes(content[: generator.integers(1, 2 * len(content))])
        outcome: Any = None
        try:
            outcome = made.items.index_vectors("v", file)
        except InvalidInputError as error:
            outcome = str(error)
        assert outcome
