"""``--captions labels``: pictures are found by the words of their labels, here and through a server."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crossview.engine.values.item import IndexOptions, ItemUpdate
from crossview.server.commands.backend import Backend
from crossview.server.commands.cli import app
from crossview.server.edge.listen import RunningServer

OPTIONS = IndexOptions(labels="folder", captions="labels", workers=1)


def texts(collection) -> dict[str, int]:
    """Return how many items have each text."""
    found = [item.text for item in collection.items(limit=1000)]
    return {text: found.count(text) for text in sorted(set(found))}


def test_texts_follow_the_labels_and_those_of_people_stay(backend: Backend, pictures: Path, tmp_path: Path) -> None:
    own = tmp_path / "captions.csv"
    own.write_text("dots/dots-00.jpg,spots\n")
    with backend.create("captioned", views=("color",)) as made:
        made.index([pictures], IndexOptions(labels="folder", captions=own, workers=1))
        made.index([pictures], OPTIONS)
        assert texts(made) == {"bricks": 6, "dots": 5, "spots": 1, "waves": 6}
        again = made.index([pictures], OPTIONS)
        assert (again.updated, again.unchanged) == (0, 18)
        made.items.update([ItemUpdate("pictures/waves/waves-00.jpg", labels=("2_stormy_sea",))])
        assert texts(made)["waves"] == 6
        assert made.index([pictures], OPTIONS).updated == 1
        assert texts(made) == {"bricks": 6, "dots": 5, "spots": 1, "stormy sea": 1, "waves": 5}


def test_the_words_of_new_pictures_and_of_pictures_with_new_content(
    backend: Backend, pictures: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "0_rough-sea"
    folder.mkdir()
    first, second = ((pictures / "waves" / f"waves-0{number}.jpg").read_bytes() for number in (0, 1))
    (folder / "a.jpg").write_bytes(first)
    with backend.create("captioned", views=("color",)) as made:
        made.index([tmp_path], OPTIONS)
        assert texts(made) == {"rough sea": 1}
        (folder / "a.jpg").write_bytes(second)
        (folder / "b.jpg").write_bytes(first)
        made.index([tmp_path], OPTIONS)
        assert texts(made) == {"rough sea": 2}
        (key, _) = (item.key for item in made.items())
        made.items.update([ItemUpdate(key, labels=())])
        made.index([tmp_path], IndexOptions(captions="labels", workers=1))
        assert texts(made) == {"": 1, "rough sea": 1}


def test_without_any_label_a_note_names_the_option(backend: Backend, pictures: Path) -> None:
    with backend.create("captioned", views=("color",)) as made:
        report = made.index([pictures], IndexOptions(captions="labels", workers=1))
    assert report.notes == ("no picture has a label, and so none got a text: give `labels='folder'`, too",)


@pytest.mark.usefixtures("nothing_stays")
def test_the_command_annotates_by_labels(server: RunningServer, pictures: Path) -> None:
    def run(*words: object) -> str:
        result = CliRunner().invoke(app, [*map(str, words), "--server", server.address])
        assert result.exit_code == 0, result.output
        return result.output

    run("create", "captioned", "--views", "color")
    run("index", "captioned", pictures, "--labels", "folder", "--workers", 1)
    assert "18 updated" in run("annotate", "captioned", "--captions", "labels")
    assert "18 unchanged" in run("annotate", "captioned", "--captions", "labels")
    noted = run("index", "captioned", pictures, "--captions", "labels")
    assert "18 unchanged" in noted
