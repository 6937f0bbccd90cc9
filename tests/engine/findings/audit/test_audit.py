"""An audit finds the faults that were planted in a collection, and no others."""

from pathlib import Path

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.audit import KINDS, Audit, AuditRequest, Finding
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.recipe import Recipe

GROUPS, EACH, DIM = ("cat", "dog", "owl"), 30, 16


def rows_of(random: np.random.Generator, group: int, count: int, shift: float = 0.0) -> np.ndarray:
    """Return rows around the centre of a group."""
    return random.normal(size=(count, DIM)) + 9 * np.eye(DIM)[group] + shift


def filled(home: Home, name: str = "pets") -> Collection:
    """Return three groups of thirty items with two views each."""
    random = np.random.default_rng(0)
    made = home.create(name, [f"a=vectors:dim={DIM}", f"b=vectors:dim={DIM}"])
    for number, group in enumerate(GROUPS):
        rows = {view: rows_of(random, number, EACH) for view in ("a", "b")}
        made.items.put(
            [
                NewItem(f"{group}/{one:02}", rows={view: rows[view][one] for view in rows}, labels=(group,))
                for one in range(EACH)
            ]
        )
    return made


def train(collection: Collection) -> None:
    """Hold out the first six of each group."""
    keys = tuple(f"{group}/{one:02}" for group in GROUPS for one in range(6))
    collection.train(Recipe(spec="pca", views=("a", "b"), held_out=Filter(keys=keys)), space="made", activate=True)


def found(audit: Audit) -> dict[str, Finding]:
    """Return the findings by kind; each kind appears once."""
    kinds = [one.kind for one in audit.findings]
    assert len(set(kinds)) == len(kinds)
    assert kinds == sorted(kinds, key=KINDS.index)
    return dict(zip(kinds, audit.findings, strict=True))


def test_nothing_is_found_where_nothing_is_wrong(home: Home) -> None:
    """The audit states what it checked."""
    with filled(home) as pets:
        assert pets.audit().findings == ()
        assert any("'raw' learns nothing" in note for note in pets.audit().notes)
        train(pets)
        audit = pets.audit()
        assert (audit.findings, audit.notes) == ((), ())
        assert (audit.collection, audit.space, audit.spec, audit.items) == ("pets", "made", "pca", 90)


def test_held_out_copies_of_training_items_are_found(home: Home) -> None:
    """Each comes with its copy; copies on one side do not count."""
    with filled(home) as pets:
        a, b = pets.items.embed("a", space="raw"), pets.items.embed("b", space="raw")
        place = {key: number for number, key in enumerate(a.keys)}
        for copy, original in (("cat/01", "cat/20"), ("owl/03", "owl/25"), ("dog/00", "dog/01"), ("dog/21", "dog/22")):
            pets.items.put_vectors("a", [copy], a.vectors[[place[original]]])
            pets.items.put_vectors("b", [copy], b.vectors[[place[original]]])
        train(pets)
        finding = found(pets.audit())["held_out_copies"]
        assert (finding.count, finding.keys) == (2, ("cat/01", "owl/03"))
        assert finding.details == ("a copy of cat/20", "a copy of owl/25")
        assert "11% of those held out" in finding.sentence


def test_wrong_labels_are_doubtful_and_the_surest_come_first(home: Home) -> None:
    """Each has the label that the views suggest; the limit bounds the keys, not the count."""
    wrong = {"cat/03": "owl", "dog/07": "cat", "owl/29": "dog", "owl/11": "cat"}
    with filled(home) as pets:
        pets.items.update([ItemUpdate(key, labels=(label,)) for key, label in wrong.items()])
        train(pets)
        audit = found(pets.audit())
        assert set(audit) == {"doubtful_labels"}
        finding = audit["doubtful_labels"]
        assert finding.count == 4
        assert dict(zip(finding.keys, finding.values, strict=True)) == {key: key.partition("/")[0] for key in wrong}
        assert len(found(pets.audit(AuditRequest(limit=2)))["doubtful_labels"].keys) == 2


def test_an_item_far_from_all_others_is_an_outlier(home: Home) -> None:
    """The mean of its views decides, for any label."""
    with filled(home) as pets:
        far = {view: np.full((1, DIM), 60.0, np.float32) for view in ("a", "b")}
        for view, row in far.items():
            pets.items.put_vectors(view, ["dog/12"], row)
        finding = found(pets.audit())["outliers"]
        assert (finding.count, finding.keys) == (1, ("dog/12",))


def test_files_that_are_gone_empty_or_closed_are_found(home: Home, tmp_path: Path) -> None:
    """A request can leave the files alone, as a server does."""
    with filled(home) as pets:
        (tmp_path / "here.jpg").write_bytes(b"x")
        (tmp_path / "empty.jpg").write_bytes(b"")
        (tmp_path / "folder.jpg").mkdir()
        for key, name in (("cat/01", "here"), ("cat/02", "empty"), ("cat/03", "gone"), ("cat/04", "folder")):
            pets.items.put([NewItem(key, source=str(tmp_path / f"{name}.jpg"))])
        audit = found(pets.audit())
        assert audit["missing_files"].keys == ("cat/03",)
        assert audit["unreadable_files"].keys == ("cat/02", "cat/04")
        quiet = pets.audit(AuditRequest(files=False))
        assert quiet.findings == ()
        assert any("are not opened" in note for note in quiet.notes)


@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_newer_items_are_counted_and_their_drift_is_measured(home: Home, shift: float) -> None:
    """Items like the earlier ones are newer, but do not drift."""
    random = np.random.default_rng(1)
    with filled(home) as pets:
        train(pets)
        rows = {view: rows_of(random, 1, 40, shift) for view in ("a", "b")}
        pets.items.put([NewItem(f"new/{one:02}", rows={view: rows[view][one] for view in rows}) for one in range(40)])
        audit = found(pets.audit())
        assert audit["newer_items"].count == 40
        assert audit["newer_items"].keys[0] == "new/39"
        assert "31% of the items are newer" in audit["newer_items"].sentence
        assert ("drift" in audit) == bool(shift)
        if shift:
            assert all(key.startswith("new/") for key in audit["drift"].keys)
            assert audit["drift"].count > 30


def test_rows_and_spaces_out_of_date_are_found(home: Home) -> None:
    """The view of texts was fitted again, and some texts lack rows."""
    words = ("red cat", "blue dog", "green owl", "red owl", "blue cat", "green dog")
    with home.create("texts", ["text:dim=2"]) as texts:
        texts.items.put([NewItem(f"{number}", text=words[number % 6]) for number in range(12)], workers=1)
        texts.views.fit([])
        texts.train(Recipe(spec="pca", views=("text",), dim=2), space="made", activate=True)
        assert not {"outdated_rows", "lacking_rows", "outdated_space"} & found(texts.audit()).keys()
        texts.views.fit([], views=["text"], refit=True)
        audit = found(texts.audit())
        assert audit["outdated_space"].view == "text"
        assert any("is out of date" in note for note in texts.audit().notes)
        texts.views.add("more=text:dim=2")
        finding = found(texts.audit())["lacking_rows"]
        assert (finding.count, finding.view) == (12, "more")


def test_labels_that_no_view_tells_are_found(home: Home) -> None:
    """The training reports them the same way, with the names to leave out."""
    random = np.random.default_rng(2)
    with filled(home) as pets:
        keys = [item.key for item in pets.items(limit=100)]
        pets.items.update(
            [ItemUpdate(key, labels=(key.partition("/")[0], random.choice(["2019", "2020"]).item())) for key in keys]
        )
        pets.train(Recipe(spec="class-instance", views=("a", "b"), holdout=0.4), space="made", activate=True)
        finding = found(pets.audit())["unclear_labels"]
        assert set(finding.values) >= {"2019", "2020"}
        assert not set(finding.values) & set(GROUPS)


def test_mistakes_are_refused(home: Home) -> None:
    with filled(home) as pets:
        with pytest.raises(InvalidInputError, match="limit must be at least 1, not 0"):
            pets.audit(AuditRequest(limit=0))
        with pytest.raises(NotFoundError, match="no space 'no'"):
            pets.audit(AuditRequest(space="no"))
    with home.create("empty", ["color"]) as empty:
        assert empty.audit().findings == ()
