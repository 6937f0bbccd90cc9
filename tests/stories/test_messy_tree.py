"""A person indexes a messy tree with its metadata, searches it by conditions, and annotates it by files and back."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from messy_tree import Facts, build
from story import done, refused, result_of, run, served

pytestmark = pytest.mark.long


def items(*where: object, home: Path) -> dict[str, dict[str, Any]]:
    found = result_of("list", "tree", "--limit", 1000, *where, home=home)
    return {item["key"].removeprefix("tree/"): item for item in found}


def test_a_person_with_a_messy_tree(tmp_path: Path) -> None:
    tree, home = tmp_path / "tree", tmp_path / "home"
    facts = build(tree)
    done("create", "tree", "--views", "color", home=home)
    index(facts, tree, home)
    the_facts_are_true(facts, tree, home)
    ask(facts, home)
    to_and_fro(facts, tree, home, tmp_path / "listing.csv")
    words_of_the_owner(tree, home)


def index(facts: Facts, tree: Path, home: Path) -> None:
    """Index twice: a line is a count, a file with its reason, or a kind left out; the second run changes nothing."""
    result = run("index", "tree", tree, home=home)
    assert result.returncode == 0, result.stderr
    assert "Truncated" not in result.stderr
    first, left_out, *failures = result.stdout.splitlines()
    assert first.startswith(
        f"{len(facts.pictures)} added, 0 updated, 0 unchanged, {len(facts.unusable) + 1} could not be"
    )
    assert left_out == "left out: " + ", ".join(f"{facts.skipped[kind]} {kind}" for kind in sorted(facts.skipped))
    reasons = dict(line.strip().removeprefix(f"{tree}/").split(": ", 1) for line in failures)
    clashing = {path for path in reasons if unicodedata.normalize("NFC", path).endswith("ü twice.png")}
    assert len(clashing) == 1
    assert set(reasons) - clashing == set(facts.unusable)
    assert all(reasons.values())
    assert reasons["broken/empty.jpg"] == "the file is empty"
    again = done("index", "tree", tree, home=home)
    assert again.startswith(f"0 added, 0 updated, {len(facts.pictures)} unchanged")


def the_facts_are_true(facts: Facts, tree: Path, home: Path) -> None:
    """Check that every picture is an item with its size and its facts; the place is shown on request alone."""
    found = items(home=home)
    assert set(found) == set(facts.pictures)
    for group in facts.copies:
        assert len({found[path]["file"]["hash"] for path in group}) == 1
    for path, item in found.items():
        stated = {name: value for name, value in facts.metadata.get(path, {}).items() if "itude" not in name}
        assert item["file"].items() >= {"width": item["width"], "height": item["height"], **stated}.items()
        assert (item["labels"], item["attributes"]) == ([], {})
    for path in facts.bare:
        assert set(found[path]["file"]) == {"bytes", "format", "hash", "height", "width"}
    placed = {path for path, stated in facts.metadata.items() if "latitude" in stated}
    assert not any("latitude" in item["file"] for item in found.values())
    out = done("index", "tree", tree, "--metadata", "all", home=home)
    assert out.startswith(f"0 added, {len(placed)} updated, {len(found) - len(placed)} unchanged")
    assert set(items("--where", "file.latitude between 48.8 and 48.9", home=home)) == placed
    assert done("index", "tree", tree, "--metadata", "basic", home=home).startswith(f"0 added, {len(placed)} updated")


def ask(facts: Facts, home: Path) -> None:
    """Search by time, camera and stars, in any order, and with a typing error."""
    taken = {path: stated["taken"] for path, stated in facts.metadata.items() if "taken" in stated}
    late = {path for path, time in taken.items() if time >= "2021-05"}
    assert set(items("--where", "file.taken >= 2021-05", home=home)) == late
    assert list(items("--where", "file.taken exists", "--sort-by", "file.taken", home=home)) == sorted(
        taken, key=lambda path: taken[path], reverse=True
    )
    lines = done("list", "tree", "--count", "--per", "file.camera", home=home).splitlines()
    assert [line.split()[-1] for line in lines if "EOS" in line or "D70" in line or "iPhone" in line] == ["3", "3", "3"]
    wrong = run("list", "tree", "--where", "file.camra = Canon", home=home)
    assert wrong.stdout.strip().endswith("0 of 0 items")
    assert wrong.stderr.strip().startswith("note: no item has the attribute 'file.camra' (similar: file.camera")


def to_and_fro(facts: Facts, tree: Path, home: Path, listing: Path) -> None:
    """Give labels and attributes by paths as people write them, and restore the listing to the byte."""
    rows = ["cameras/0.jpg,a;b,1", r"cameras\1.jpg,c,", f"{tree}/cameras/2.jpg,d,=1+1", "./odd names/a;b.png,e,"]
    listing.write_text("\n".join(["path,labels,note", *rows, '"odd names/say ""x"".png",f,', ""]))
    out = done("annotate", "tree", "--from", listing, home=home)
    assert out.splitlines()[0].startswith("0 added, 5 updated, 0 unchanged, 0 could not be used")
    assert out.splitlines()[1:] == ["new attributes: note"]
    assert items(home=home)["cameras/0.jpg"]["labels"] == ["a", "b"]
    text = done("list", "tree", "--csv", home=home)
    listing.write_text(text, newline="")
    done("annotate", "tree", "tree/cameras/0.jpg", "--label", "x", home=home)
    with served(home) as server:
        assert "0 could not be used" in done("annotate", "tree", "--from", listing, "--server", server, home=home)
        assert done("list", "tree", "--csv", "--server", server, home=home) == text
    assert done("list", "tree", "--csv", home=home) == text
    listing.write_text("image_path,label\ncameras/0.jpg,x\n")
    assert "the first column must be path or key, not image_path" in refused(
        "annotate", "tree", "--from", listing, home=home
    )
    assert len(items(home=home)) == len(facts.pictures)


def words_of_the_owner(tree: Path, home: Path) -> None:
    """Turn keywords into labels, except for pictures whose labels a person chose."""
    done("annotate", "tree", "tree/cameras/xmp.jpg", "--clear", "labels", home=home)
    done("index", "tree", tree, "--labels", "keywords", home=home)
    found = items(home=home)
    assert found["cameras/xmp.jpg"]["labels"] == []
    assert found["cameras/0.jpg"]["labels"] == ["a", "b"]
    done("index", "tree", tree, "--labels", "keywords", "--replace-labels", home=home)
    assert items(home=home)["cameras/xmp.jpg"]["labels"] == ["dog", "sea & sand"]
    assert items(home=home)["cameras/iptc.jpg"]["labels"] == ["beach", "Été; 2021"]


def test_a_seed_makes_the_same_bytes(tmp_path: Path) -> None:
    """The same seed makes the same files, and another seed other pictures."""
    trees = [build(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    assert trees[0] == trees[1]
    one, same, other = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in "abc"
    )
    assert one == same
    assert one.keys() == other.keys()
    assert one != other
