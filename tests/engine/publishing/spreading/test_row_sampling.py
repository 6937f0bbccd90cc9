"""A sample of rows becomes a collection, in which labels keep their shares."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spread_rows import extracted

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.spreading.sampling import SampleRequest, sample_rows
from crossview.engine.training.training_sample import stratified
from crossview.engine.values.errors import AlreadyExistsError, InvalidInputError

LEAST = 5


@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=6),
    st.integers(1, 400),
    st.integers(0, 99),
)
def test_labels_keep_their_shares(counts: list[int], most: int, seed: int) -> None:
    """Each label gives at least five items, if there is room, and otherwise its share within one; 0 means no label."""
    labels = [() if label == 0 else (str(label),) for label, count in enumerate(counts) for _ in range(count)]
    drawn = stratified(labels, most, seed)
    assert len(drawn) == min(most, len(labels))
    assert list(drawn) == sorted(set(drawn.tolist()))
    found = Counter(labels[at] for at in drawn.tolist())
    if len(labels) <= most or most < LEAST * len(counts):
        return
    for label, count in Counter(labels).items():
        assert found[label] >= min(LEAST, count)
        if all(most * other >= LEAST * len(labels) for other in Counter(labels).values()):
            assert abs(found[label] - most * count / len(labels)) <= 1 + len(counts)


def test_several_labels_count_each() -> None:
    """A rare label beside a frequent one gives five items."""
    labels = [("cat", "white") if number < 7 else ("cat",) for number in range(1_000)]
    found = Counter(label for at in stratified(labels, 20, 0).tolist() for label in labels[at])
    assert found["white"] >= LEAST
    assert found["cat"] == 20


@pytest.fixture(scope="module")
def rows(place: Path, indexed: Collection) -> Path:
    extracted(place, place / "to-sample", partition=4)
    return place / "to-sample"


def test_a_sample_has_the_rows_and_the_space(place: Path, indexed: Collection, rows: Path, home: Home) -> None:
    """They are those of the bundle, so that queries by pictures find the same items; the seed determines the sample."""
    given_ = {"rows": str(rows), "size": 15, "bundle": str(place / "bundles"), "published": "pets"}
    made = sample_rows(SampleRequest(to="one", **given_), home)
    assert (made.rows, made.items, made.labels) == (18, 15, 3)
    sample_rows(SampleRequest(to="two", **given_), home)
    with home.open("one") as one, home.open("two") as two:
        assert one.items.keys() == two.items.keys()
        assert Counter(item.labels for item in one.items(limit=99)) == {("cat",): 7, ("dog",): 5, ("owl",): 3}
        for view in ("color", "sift", "gist"):
            hits, known = (
                found.search(view=view, key=key, targets=view, space="raw", k=3)[0].hits[0].distance
                for found, key in ((one, one.items.keys()[0]), (two, one.items.keys()[0]))
            )
            assert hits == known
        picture = place / one.items.keys()[0]
        (found,) = one.search(view="sift", image=picture, targets="sift", space="raw", k=1)
        assert found.hits[0].key == one.items.keys()[0]


def test_without_a_bundle_views_take_vectors(rows: Path, home: Home) -> None:
    """Views have the names and widths of the columns."""
    sample_rows(SampleRequest(rows=str(rows), to="bare", size=5), home)
    with home.open("bare") as bare:
        assert {view.name: view.dim for view in bare.views()} == {"color": 64, "sift": 8, "gist": 512}
        assert bare.count() == 5


def test_a_sample_that_fails_leaves_no_collection(rows: Path, home: Home, place: Path) -> None:
    """An existing collection stays."""
    with pytest.raises(InvalidInputError, match="at least one item"):
        sample_rows(SampleRequest(rows=str(rows), to="none", size=0), home)
    assert "none" not in home.names()
    with pytest.raises(AlreadyExistsError):
        sample_rows(SampleRequest(rows=str(rows), to="pets"), home)
    assert "pets" in home.names()
