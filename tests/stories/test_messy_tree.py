"""The facts of the messy tree are true of an indexed copy."""

import unicodedata
from pathlib import Path

import pytest
from messy_tree import build
from story import result_of


@pytest.mark.filterwarnings("default")
def test_the_facts_are_true(tmp_path: Path):
    """Its pictures are the items, its unusable files the failures, and the rest is counted as left out."""
    facts, home = build(tmp_path / "tree"), tmp_path / "home"
    result_of("create", "tree", "--views", "color", home=home)
    report = result_of("index", "tree", tmp_path / "tree", home=home)
    items = {item["key"].removeprefix("tree/"): item for item in result_of("list", "tree", "--limit", 1000, home=home)}
    assert set(items) == set(facts.pictures)
    clash = {unicodedata.normalize("NFC", path) for path in facts.clashing}
    failed = {Path(one["key"]).relative_to(tmp_path / "tree").as_posix() for one in report["failures"]}
    assert failed - clash - set(facts.clashing) == set(facts.unusable)
    assert report["skipped"] == facts.skipped
    for group in facts.copies:
        assert len({items[path]["content_hash"] for path in group}) == 1
    assert len({item["content_hash"] for item in items.values()}) == len(items) - sum(len(g) - 1 for g in facts.copies)
    again = result_of("index", "tree", tmp_path / "tree", home=home)
    assert (again["added"], again["updated"], again["unchanged"]) == (0, 0, len(items))


def test_a_seed_makes_the_same_bytes(tmp_path: Path):
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
