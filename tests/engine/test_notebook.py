"""Notebooks show values escaped and small, and as text if they fail."""

import pytest
from terminal import reached

import crossview
from crossview.engine.collections.home import Home
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.hits import Hit, HitList, HitLists
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe

LABEL = "<script>alert(1)</script>"


@pytest.fixture
def filled(home: Home) -> Home:
    with home.create("some", ["v=vectors:dim=2", "w=vectors:dim=2"]) as made:
        rows = [{"v": [number, number % 3], "w": [number % 3, number]} for number in range(30)]
        made.items.put([NewItem(f"<b>{n}", rows=row, labels=(LABEL, "x")[n % 2 :]) for n, row in enumerate(rows)])
        made.train(Recipe(spec="cca", dim=2, holdout=0.3), space="shared")
    return home


@pytest.mark.parametrize("backend", ["local", "remote"])
def test_collections_spaces_hits_and_evaluations_are_shown(filled: Home, backend: str) -> None:
    with reached(filled, backend) as where:
        opened = (
            crossview.open("some", home=filled.path) if backend == "local" else crossview.connect(where[1]).open("some")
        )
        with opened as made:
            evaluation = made.evaluate(EvaluationRequest(view="v", spaces=("shared",)))
            hits = made.search(view="v", key="<b>3", targets=("v", "w"), k=5)
            values = (made, made.info(), made.spaces.get("shared"), hits, hits[0], evaluation)
            for value in values:
                text = value._repr_html_()  # type: ignore[attr-defined]
                assert text.startswith('<div class="crossview"><style>')
                assert "<script" not in text
                assert "<b>" not in text
                assert "http" not in text
            assert hits._repr_html_().count("<h4>") == 2  # type: ignore[attr-defined]
            assert "mAP" in evaluation._repr_html_()
            assert "&lt;script&gt;" in made._repr_html_()  # type: ignore[attr-defined]
        assert made._repr_html_() is None or backend == "remote"  # type: ignore[attr-defined]


def test_many_pictures_are_shown_in_part() -> None:
    """A value takes at most some hundred kilobytes."""
    picture = b"\xff\xd8\xff" + bytes(20_000)
    one = HitList(0, "t", tuple(Hit(key=f"k{n}", distance=1.0, target="t") for n in range(60)))
    shown = HitLists([one.illustrated(lambda key: picture)] * 30)._repr_html_()
    assert shown is not None
    assert 10 <= shown.count("<img") <= 15
    assert len(shown) < 600_000
    assert "and 18 more lists" in shown


def test_a_failure_leaves_the_text() -> None:
    def broken(key: str) -> bytes:
        raise RuntimeError("lost")

    one = HitList(0, "t", (Hit(key="k", distance=1.0, target="t"),)).illustrated(broken)
    assert one._repr_html_() is None
    assert "k" in repr(one)
