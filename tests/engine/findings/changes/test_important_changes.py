"""Changes of a collection of drawn pages: important ones are found, judged later, and reported."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pages import ADVERT, NEWS, SIDE, DrawnPage

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.findings.changes import important_changes
from crossview.engine.values.changes import Changes, ChangesRequest, PairLabel
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import IndexOptions

VIEW = "regions=gist:grid=4:size=64"
PAGE = DrawnPage(hours=60)
ONE = IndexOptions(workers=1)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Sixty hours of a page, with its source."""
    folder = tmp_path_factory.mktemp("page")
    PAGE.save(folder / "shots", html=True)
    made = Home(folder / "home").create("page", [VIEW])
    made.index([folder / "shots"], ONE)
    return made


def balanced_accuracy(found: Changes, page: DrawnPage = PAGE) -> float:
    said, true = np.array([change.important for change in found.changes]), np.array(page.important)
    return float(np.mean([said[true].mean(), 1 - said[~true].mean()]))


def share(found: Changes, box: tuple[int, int, int, int]) -> float:
    """Return the importance of the cells whose centres are in a box."""
    importance = np.array(found.importance).reshape(4, 4)
    centres = SIDE * (np.arange(4) + 0.5) / 4
    left, top, right, bottom = box
    inside = np.outer((centres > top) & (centres < bottom), (centres > left) & (centres < right))
    return float(importance[inside].sum())


@pytest.mark.parametrize("form", ["diagonal", "full", "structural"])
def test_news_are_found_without_a_label_and_adverts_are_left_out(filled: Collection, form: str) -> None:
    found = filled.changes(ChangesRequest(form=form))  # type: ignore[arg-type]
    assert balanced_accuracy(found) > 0.9
    assert share(found, NEWS) > 0.7
    assert share(found, ADVERT) < 0.2
    assert sum(found.importance) == pytest.approx(1)
    assert (found.versions, found.source, found.period) == (60, "names", "4h")
    assert len(found.changes) == 59
    assert [change.time for change in found.changes] == sorted(change.time for change in found.changes)
    assert {change.hours for change in found.changes} == {1.0}


def test_regions_say_where_a_change_is(filled: Collection) -> None:
    found = filled.changes(ChangesRequest())
    for change in found.changes:
        assert sum(change.regions) == pytest.approx(1)
    important = [change for change in found.changes if change.important]
    shares = np.mean([change.regions for change in important], axis=0)
    assert np.argmax(shares) % 4 < 3  # news is on the left


def test_later_versions_are_judged_by_what_was_learned(filled: Collection) -> None:
    found = filled.changes(ChangesRequest())
    again = filled.changes(ChangesRequest(learned=found.learned, after=found.changes[40].later))
    assert [(one.later, one.important) for one in again.changes] == [
        (one.later, one.important) for one in found.changes[41:]
    ]
    np.testing.assert_allclose(
        [one.importance for one in again.changes], [one.importance for one in found.changes[41:]], rtol=1e-9
    )
    assert again.learned == found.learned
    assert not filled.changes(ChangesRequest(learned=found.learned, after=found.changes[-1].later)).changes


def test_labels_are_heeded_whatever_names_their_versions(filled: Collection) -> None:
    """Keys or names of files name them, in either order; the last label counts; unclear pairs are not asked again."""
    before = filled.changes(ChangesRequest())
    first, second, third = (before.changes[place] for place in before.questions[:3])
    labels = [
        PairLabel(first.earlier, first.later, not first.important),
        PairLabel(first.later, first.earlier, first.important),
        PairLabel(Path(second.earlier).name, Path(second.later).name, not second.important),
        PairLabel(third.earlier, third.later, None),
    ]
    after = filled.changes(ChangesRequest(labels=labels))
    places = {change.later: change for change in after.changes}
    assert places[first.later].label is first.important
    assert places[second.later].label is (not second.important)
    assert places[third.later].label is None
    assert after.learned.labels == 2
    assert not {after.changes[place].later for place in after.questions} & {first.later, second.later, third.later}


def test_questions_are_the_least_sure(filled: Collection) -> None:
    found = filled.changes(ChangesRequest())
    away = [abs(np.log(found.changes[place].importance)) for place in found.questions]
    assert away == sorted(away)


def test_the_source_counts_where_every_version_has_some(filled: Collection) -> None:
    found = filled.changes(ChangesRequest())
    assert len(found.learned.weights) == 3
    for change, important in zip(found.changes, PAGE.important, strict=True):
        assert change.links is not None
        assert change.images is not None
        assert (change.links > 0.6) is important
    without = filled.changes(ChangesRequest(structure=False))
    assert len(without.learned.weights) == 1
    assert without.changes[0].links is None


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (ChangesRequest(form="round"), "form must be one of"),  # type: ignore[arg-type]
        (ChangesRequest(period="soon"), "such as 4h or 4steps"),
        (ChangesRequest(extreme=0), "positive"),
        (ChangesRequest(after="x"), "needs learned"),
        (ChangesRequest(labels=[PairLabel("no", "body", True)]), "'no' is not a version"),
    ],
)
def test_what_cannot_be_asked_is_refused(filled: Collection, request_: ChangesRequest, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        filled.changes(request_)


def test_a_label_compares_two_versions(filled: Collection) -> None:
    key = filled.changes(ChangesRequest()).changes[0].later
    with pytest.raises(InvalidInputError, match="with itself"):
        filled.changes(ChangesRequest(labels=[PairLabel(key, key, True)]))


def test_what_was_learned_on_another_grid_is_refused(filled: Collection) -> None:
    learned = replace(filled.changes(ChangesRequest()).learned, grid=5)
    with pytest.raises(InvalidInputError, match="5 cells a side"):
        filled.changes(ChangesRequest(learned=learned))


def test_a_collection_without_regions_says_how_to_get_some(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with home.create("plain", ["color"]) as plain:
        with pytest.raises(NotReadyError, match=r"`collection.views.add\("):
            plain.changes(ChangesRequest())
        with pytest.raises(InvalidInputError, match="'color' is color"):
            plain.changes(ChangesRequest(view="color"))
        with pytest.raises(NotFoundError):
            plain.changes(ChangesRequest(view="other"))


def test_too_few_and_identical_versions_are_said(tmp_path: Path) -> None:
    page = DrawnPage(hours=6)
    page.save(tmp_path / "shots", last=2)
    with Home(tmp_path / "home").create("page", [VIEW]) as made:
        made.index([tmp_path / "shots"], ONE)
        with pytest.raises(NotReadyError, match="needs 3 or more versions"):
            made.changes(ChangesRequest())
        for hour in range(2, 6):
            page.picture(0).save(tmp_path / "shots" / page.name(hour))
        page.picture(0).save(tmp_path / "shots" / page.name(1))
        made.index([tmp_path / "shots"], ONE)
        with pytest.raises(NotReadyError, match="no two versions differ"):
            made.changes(ChangesRequest())


def test_other_sizes_gaps_strays_and_files_that_are_gone_are_noted(tmp_path: Path) -> None:
    paths = PAGE.save(tmp_path / "shots")
    PAGE.picture(0).resize((80, 80)).save(tmp_path / "shots" / "logo.png")
    for path in paths[20:30]:
        path.unlink()
    PAGE.picture(40).resize((200, 100)).save(paths[40])
    with Home(tmp_path / "home").create("page", [VIEW]) as made:
        made.index([tmp_path / "shots"], ONE)
        paths[5].unlink()
        gone = made.index([tmp_path / "shots"], ONE).missing
        found = made.changes(ChangesRequest(gone=gone))
    text = "\n".join(found.notes)
    assert "1 of 49 pictures are not 160 x 160" in text
    assert "left out: 1 of 50 without a time (such as logo.png) in their names" in text
    assert "1 versions whose files have disappeared are left out" in text
    assert "the longest time is 11 hours" in text
    assert found.versions == 49
    assert not any("logo.png" in key for change in found.changes for key in (change.earlier, change.later))


def test_of_many_versions_the_newest_are_learned_from(filled: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = filled.changes(ChangesRequest())
    monkeypatch.setattr(important_changes, "MOST", 40)
    found = filled.changes(ChangesRequest())
    assert found.notes == ("the metric is learned from the newest 40 versions",)
    assert found.learned.quadruplets < everything.learned.quadruplets
    assert len(found.changes) == 59
