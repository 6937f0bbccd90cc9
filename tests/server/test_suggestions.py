"""The suggest command and its RPC: the printed output, the written file, and its acceptance."""

import csv

import pytest
from terminal import BACKENDS, BOTH, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import ItemUpdate, NewItem


@pytest.fixture
def home(tmp_path):
    """Ten cats and ten dogs, and two of each without labels."""
    made = Home(tmp_path / "home")
    fill_rows(made, 12)
    with made.open("rows") as rows:
        rows.items.update([ItemUpdate(f"{group}/{number}", labels=()) for group in ("cat", "dog") for number in (3, 4)])
    return made


def _lines(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("backend", BACKENDS)
def test_suggested_labels_are_accepted_from_a_file(home, tmp_path, backend):
    """The file has a line for each label; label --from takes it, and only then is anything written."""
    file = tmp_path / "labels.csv"
    keys = ["cat/3", "dog/3", "dog/4"]
    with reached(home, backend) as where:
        before = result_of("show", "rows", *where)["sequence"]
        text = done("suggest", "rows", *keys, "--view", "color", "--out", file, *where)
        assert f"wrote 3 labels to {file}; accept them with:" in text
        assert f"crossview annotate rows --from {file} {' '.join(where)}" in text
        assert result_of("show", "rows", *where)["sequence"] == before
        assert _lines(file) == [["key", "label"], ["cat/3", "cat"], ["dog/3", "dog"], ["dog/4", "dog"]]
        assert result_of("annotate", "rows", "--from", file, *where)["updated"] == 3
        assert result_of("item", "show", "rows", "dog/4", *where)["labels"] == ["dog"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_printed(home, backend):
    """It is a table with the command that accepts each, JSON, or CSV; an item's own labels are shown without a vote."""
    with reached(home, backend) as where:
        command = ["suggest", "rows", "cat/3", "dog/1", "--view", "gist", "--voters", 5, *where]
        text = done(*command)
        assert "shares are calibrated on 20 labelled items of view 'gist', none of which votes on itself" in text
        assert f"crossview annotate rows cat/3 --label cat {' '.join(where)}" in text
        made = result_of(*command)
        assert [(one["input"], one["known"]) for one in made["results"]] == [("cat/3", []), ("dog/1", ["dog"])]
        assert [[label["label"] for label in one["labels"]] for one in made["results"]] == [["cat"], ["dog"]]
        lines = list(csv.DictReader(done(*command, "--csv").splitlines()))
        assert [(one["input"], one["label"], one["suggested"]) for one in lines if one["suggested"] == "yes"] == [
            ("cat/3", "cat", "yes"),
            ("dog/1", "dog", "yes"),
        ]
        unsure = done(*command, "--min-share", 1)
        assert "no label is sure enough" in unsure
        assert "crossview set" not in unsure


def test_both_backends_suggest_the_same(home):
    found = []
    for backend in BOTH:
        with reached(home, backend) as where:
            found.append(result_of("suggest", "rows", "cat/3", "dog/4", "--view", "color", *where))
    assert found[0] == found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_pictures_are_suggested_labels(home, pictures, tmp_path, backend):
    """An input that is not a key is a file; the file that accepts it names the picture as label --from does."""
    with home.create("drawn", ("color",)) as made:
        made.items.put(
            [NewItem(f"{path.parent.name}/{path.name}", image=path.read_bytes(), labels=(path.parent.name,))
             for path in sorted(pictures.glob("*/*.jpg"))]
        )  # fmt: skip
    picture = sorted(pictures.glob("dots/*.jpg"))[0]
    with reached(home, backend) as where:
        done("suggest", "drawn", picture, "--view", "color", "--voters", 3, "--out", tmp_path / "out.csv", *where)
        assert _lines(tmp_path / "out.csv")[1:] == [[str(picture.resolve()), "dots"]]
        missing = run("suggest", "drawn", "nothing.jpg", "--view", "color", *where)
        assert missing.exit_code == 1
        assert "no item 'nothing.jpg' in collection 'drawn'" in missing.stderr


def test_values_that_cannot_be_are_refused(home):
    with reached(home, "remote") as where:
        refused = run("suggest", "rows", "cat/3", "--view", "color", "--min-share", 2, *where)
        assert "min_share must be a probability between 0 and 1, not 2" in refused.stderr
