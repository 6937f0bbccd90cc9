"""Each of two files becomes an item of its own, or the report names the file that does not."""

import unicodedata
from pathlib import Path

import pytest
from drawn import draw, encode

from crossview.engine.values.item import IndexOptions
from crossview.server.commands.backend import Backend

ONE = IndexOptions(workers=1)
NFC, NFD = (unicodedata.normalize(form, "été.png") for form in ("NFC", "NFD"))


@pytest.mark.parametrize("first", [NFC, NFD])
def test_files_whose_names_differ_in_unicode_form_only_are_reported(
    backend: Backend, tmp_path: Path, first: str
) -> None:
    """The first to come stays the item, in this run and in later ones."""
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / first).write_bytes(encode(draw("red", 0)))
    collection = backend.create("names", ["color"])
    assert collection.index([folder], ONE).failures == ()
    second = NFD if first == NFC else NFC
    (folder / second).write_bytes(encode(draw("green", 0)))
    if len(list(folder.iterdir())) == 1:
        pytest.skip("this file system takes both names for one")
    for _ in range(2):
        report = collection.index([folder], ONE)
        (failure,) = report.failures
        assert failure.key == str(folder / second)
        assert "already has this name" in failure.reason
        assert (report.added, report.updated) == (0, 0)
        (item,) = collection.items()
        assert item.source == str(folder / first)
    collection.close()


def test_both_are_new(backend: Backend, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in ((NFC, "red"), (NFD, "green")):
        (folder / name).write_bytes(encode(draw(colour, 0)))
    collection = backend.create("names", ["color"])
    report = collection.index([folder], ONE)
    assert (report.added, len(report.failures), collection.count()) == (1, 1, 1)
    collection.close()
