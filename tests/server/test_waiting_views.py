"""A view of pictures that cannot be fitted yet stops no other view, for any source of the pictures."""

import json
from pathlib import Path

import numpy as np
import pytest
from drawn import encode, write_pictures
from typer.testing import CliRunner

from crossview.engine.catalog.transfer.foreign import ForeignData
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.server.commands.backend import Backend
from crossview.server.commands.cli import app

VIEWS = ("color", "sift:words=8", "gist", "text")
REASON = "view 'sift' cannot be fitted: 8 visual words need at least 8 distinct descriptors"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder with two pictures of one colour each."""
    folder = tmp_path / "plain"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.png").write_bytes(encode(np.full((40, 40, 3), 90 * number, np.uint8)))
    return folder


def test_a_folder_is_indexed_and_a_later_run_fits_the_view(backend: Backend, plain: Path) -> None:
    with backend.create("plain", VIEWS) as made:
        report = made.index([plain], IndexOptions(workers=1))
        assert (report.added, report.failures) == (2, ())
        (note,) = report.notes
        assert note.startswith(REASON)
        assert note.endswith("the items have rows of color, gist, and a later run fits the view again")
        again = made.index([plain], IndexOptions(workers=1))
        assert (again.added, again.updated, again.unchanged, again.notes) == (0, 0, 2, (note,))
        write_pictures(plain, 6)
        more = made.index([plain], IndexOptions(workers=1))
        assert (more.added, more.updated, more.notes) == (18, 2, ())
        assert {item.views for item in made.items(limit=100)} == {("color", "sift", "gist")}


def test_pictures_of_programs_get_rows_of_the_other_views(backend: Backend, plain: Path) -> None:
    """The report names the view; given again after a fit, the pictures get its rows. Texts are fitted without it."""
    items = [NewItem(path.stem, image=path.read_bytes()) for path in sorted(plain.iterdir())]
    with backend.create("put", VIEWS) as made:
        report = made.items.put(items)
        assert (report.added, report.failures) == (2, ())
        (note,) = report.notes
        assert "view 'sift' is not fitted, so these pictures have no rows of this view" in note
        assert made.items.put(items).unchanged == 2
        made.items.put([NewItem("a", text="red roof"), NewItem("b", text="blue sea and sky")])
        made.views.fit(())
        assert {view.name: view.fitted for view in made.views()} == {
            "color": True,
            "sift": False,
            "gist": True,
            "text": True,
        }
        made.views.fit([path.read_bytes() for path in write_pictures(plain / "more", 6)], views=["sift"])
        assert made.items.put(items).updated == 2
        assert made.items.get("0").views == ("color", "sift", "gist")


def test_data_with_pictures_are_imported(backend: Backend, plain: Path) -> None:
    (plain / "a.jsonl").write_text("".join(json.dumps({"image": f"{number}.png"}) + "\n" for number in range(2)))
    with backend.create("data", VIEWS) as made:
        report = ForeignData(plain / "a.jsonl").import_into(made)
        assert (report.added, report.failures) == (2, ())
        assert report.notes[0].startswith(REASON)


def test_one_picture_is_enough_for_the_default_views(tmp_path: Path, plain: Path) -> None:
    """It is the first command of a new user, on a folder of icons."""
    arguments = ["index", "icons", str(plain), "--home", str(tmp_path / "home")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "2 added" in result.output
    assert "300 visual words need at least 300 distinct descriptors" in " ".join(result.output.split())


def test_without_another_view_of_pictures_there_is_nothing_to_index(backend: Backend, plain: Path) -> None:
    with backend.create("words", ["sift:words=8"]) as made, pytest.raises(NotReadyError, match="8 visual words need"):
        made.index([plain], IndexOptions(workers=1))
