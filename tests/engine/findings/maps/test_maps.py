"""Maps: places by PCA and t-SNE, a measure of kept neighbourhoods, and changes of a stored map."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.findings.maps import making
from crossview.engine.findings.maps.making import kept_neighborhoods, placed
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import CancelledError, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import NewItem
from crossview.engine.values.map import MapRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.extras import install_command

GROUPS, SIZE = 6, 40
PCA_MAP = MapRequest(method="pca", view="v")


def rows() -> np.ndarray:
    generator = np.random.default_rng(0)
    centres = 8 * generator.normal(size=(GROUPS, 12))
    found = np.repeat(centres, SIZE, axis=0) + generator.normal(size=(GROUPS * SIZE, 12))
    return found.astype(np.float32)


@pytest.fixture
def made(home: Home) -> Iterator[Collection]:
    vectors = rows()
    with home.create("some", ["v=vectors:dim=12", "w=vectors:dim=3"]) as collection:
        items = [
            NewItem(
                f"{number % 5}/{number:03}", rows={"v": row}, labels=(f"g{number // SIZE}",), attributes={"n": number}
            )
            for number, row in enumerate(vectors)
        ]
        items += [NewItem("without", attributes={"n": 5}), NewItem("short", rows={"w": [1.0, 2.0, 3.0]})]
        collection.items.put(items)
        yield collection


def points_of(collection: Collection, number: int, **options: object) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    after = 0
    while True:
        page = collection.maps.points(number, after=after, limit=70, **options)  # type: ignore[arg-type]
        found |= {key: tuple(point) for key, point in zip(page.keys, page.points.tolist(), strict=True)}
        after = page.after
        if not after:
            return found


def test_pca_is_that_of_scikit_learn_and_each_item_has_its_place(made: Collection) -> None:
    info = made.maps.make(PCA_MAP)
    embedded = made.items.embed("v")
    vectors, keys = embedded.vectors, embedded.keys
    expected = PCA(2, random_state=0).fit(vectors)
    points = points_of(made, info.id)
    order = np.argsort([made.items.get(key).attributes["n"] for key in keys])  # as they were added
    found = np.array([points[keys[place]] for place in order])
    assert list(points) == [keys[place] for place in order]
    assert found == pytest.approx(PCA(2, random_state=0).fit_transform(vectors[order]), abs=1e-4)
    assert info.explained == pytest.approx(expected.explained_variance_ratio_.sum(), abs=1e-6)
    assert (info.left, info.top) == pytest.approx((found[:, 0].min(), found[:, 1].max()))
    assert (info.items, info.missing, info.method, info.space, info.view) == (240, 0, "pca", "raw", "v")


def test_the_figures_are_those_of_scikit_learn() -> None:
    vectors, points = rows(), PCA(2).fit_transform(rows()).astype(np.float32)
    found = kept_neighborhoods(vectors, points, 0)
    assert found.trustworthiness == pytest.approx(trustworthiness(vectors, points, n_neighbors=10), abs=1e-9)
    near, shown = (
        NearestNeighbors(n_neighbors=10).fit(one).kneighbors(return_distance=False) for one in (vectors, points)
    )
    shared = [len({*one} & {*other}) for one, other in zip(near.tolist(), shown.tolist(), strict=True)]
    assert found.recall == pytest.approx(np.mean(shared) / 10)
    assert kept_neighborhoods(vectors[:2], points[:2], 0) == (None, None, 0, 0)
    assert kept_neighborhoods(vectors[:5], points[:5], 0).neighbors == 2


def test_tsne_keeps_groups_together_and_is_the_same_each_time(made: Collection) -> None:
    steps = list[tuple[str, int]]()
    info = made.maps.make(
        MapRequest(method="tsne"), progress=lambda what, done, total, note="": steps.append((what, done))
    )
    points = points_of(made, info.id)
    assert info.method == "tsne"
    assert (info.recall or 0) > 0.4
    assert (info.trustworthiness or 0) > 0.95
    assert [done for what, done in steps if what == "placing items"][-1] == 750
    labels = [made.items.get(key).labels[0] for key in points]
    near = NearestNeighbors(n_neighbors=5).fit(list(points.values())).kneighbors(return_distance=False)
    assert np.mean([labels[one] == label for own, label in zip(near, labels, strict=True) for one in own]) > 0.99
    again = made.maps.make(MapRequest(method="tsne", renew=True))
    assert again.id != info.id
    assert points_of(made, again.id) == points
    with pytest.raises(NotFoundError, match=f"no map {info.id}; there are: {again.id}"):
        made.maps.get(info.id)


def test_a_map_stays_until_it_is_renewed_and_follows_its_items(made: Collection) -> None:
    """Later items have no place, and deleted ones have none any more; a new key keeps its place."""
    info = made.maps.make(PCA_MAP)
    made.items.put([NewItem("later", rows={"v": [0.0] * 12}, attributes={"n": 1000})])
    made.items.delete(["0/000"])
    assert (made.maps.make(PCA_MAP).id, made.maps()[0].missing) == (info.id, 1)
    points = points_of(made, info.id)
    assert "later" not in points
    assert "0/000" not in points
    assert points_of(made, info.id, filter="n >= 100 and n < 103") == {
        key: points[key] for key in ("0/100", "1/101", "2/102")
    }
    page = made.maps.points(info.id, field="label", filter="n <= 40", limit=50)
    assert [*page.values] == ["g0"] * 39 + ["g1"]
    assert made.maps.points(info.id, field="other", limit=1).values == (None,)
    some = made.maps.make(MapRequest(method="pca", view="v", filter=Filter("label in [g1, g2]")))
    assert (some.items, some.where) == (80, 'label in ["g1", "g2"]')
    assert len(made.maps()) == 2
    renewed = made.maps.make(MapRequest(method="pca", view="v", renew=True))
    assert (renewed.items, renewed.missing) == (240, 0)
    made.maps.delete(renewed.id)
    made.maps.delete(some.id)
    assert made.maps() == ()


def test_maps_go_with_their_generation_and_view(made: Collection) -> None:
    made.items.put([NewItem(item.key, rows={"w": [1.0, 2.0, n]}) for n, item in enumerate(made.items(limit=300))])
    made.train(Recipe(spec="cca", views=("v", "w"), dim=2), activate=False)
    trained = made.maps.make(MapRequest(space="cca", view="v", target="w", method="pca"))
    raw = made.maps.make(MapRequest(view="w", method="pca", space="raw"))
    assert (trained.target, trained.generation, raw.items) == ("w", 1, 241)
    made.spaces.delete("cca")
    assert [one.id for one in made.maps()] == [raw.id]
    made.views.delete("w")
    assert made.maps() == ()


def test_few_and_equal_items_have_places() -> None:
    for count in (1, 2, 5, 12):
        for method in ("pca", "tsne"):
            same = placed(np.ones((count, 4), np.float32), method, 0)
            assert same.points.shape == (count, 2)
            assert np.isfinite(same.points).all()
            assert np.isfinite(placed(rows()[:count, :1], method, 0).points).all()
    assert placed(rows()[:9], "tsne", 0).method == "pca"


def test_mistakes_name_their_remedy(made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="pca or tsne, not 'umap'"):
        MapRequest(method="umap")
    with pytest.raises(NotReadyError, match="no item of collection 'some' that fulfils the condition"):
        made.maps.make(MapRequest(filter=Filter("n > 9999"), method="pca"))
    with pytest.raises(InvalidInputError, match="at most 10,000 characters"):
        made.maps.make(MapRequest(filter=Filter(keys=[f"{number:06}" for number in range(2_000)]), method="pca"))
    info = made.maps.make(PCA_MAP)
    with pytest.raises(InvalidInputError, match="not of key"):
        made.maps.points(info.id, field="key")
    monkeypatch.setattr(making, "find_spec", lambda name: None)
    assert making.default_method() == "pca"
    with pytest.raises(NotReadyError, match=re.escape(install_command("map"))):
        made.maps.make(MapRequest(method="tsne"))


def test_a_cancelled_map_stores_nothing(made: Collection) -> None:
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 12:
            raise CancelledError("enough")

    with cancellable(check), pytest.raises(CancelledError):
        made.maps.make(MapRequest(method="tsne"))
    assert made.maps() == ()


def test_wide_vectors_fit_in_memory(made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A random projection nearly keeps distances."""
    monkeypatch.setattr(making, "MOST_BYTES", 4 * 240 * 8)
    info = made.maps.make(PCA_MAP)
    points = points_of(made, info.id)
    assert len(points) == 240


def test_a_copy_has_the_maps(made: Collection, home: Home, tmp_path: Path) -> None:
    info = made.maps.make(PCA_MAP)
    with home.copy("some", "copied") as copy:
        assert copy.maps() == made.maps()
        assert points_of(copy, info.id) == points_of(made, info.id)
