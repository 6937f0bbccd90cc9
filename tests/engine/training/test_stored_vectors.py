"""Evaluations find items in the indexes of a space, and read only the rows of queries and training items."""

import numpy as np
import pytest
from rows import each, fill, item

from crossview.engine.spaces.versions import Versions
from crossview.engine.training import stored_vectors
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.recipe import Recipe


@pytest.fixture
def some(home):
    with fill(home, "some", [item(*one) for one in each(20)]) as made:
        yield made


def evaluations(collection, name):
    """Return the figures of a space, by labels and by items."""
    requests = [
        EvaluationRequest(view="color", spaces=(name,), k=(1, 3), per_query=True, hits=5, databases=("mixed",)),
        EvaluationRequest(view="color", spaces=(name,), by="items"),
    ]
    found = [collection.evaluate(request) for request in requests]
    return [one.rows for one in found], [one.hits for one in found[0].per_query]


@pytest.mark.parametrize("spec", ["cca", "posteriors:linear,dot", "cca,itq:4", "cca,itq:6", "hybrid"])
def test_the_vectors_of_indexes_are_those_of_rows(some, monkeypatch, spec):
    """Figures and hits are the same with stored vectors and with vectors made of their rows."""
    rerank = 2 if spec == "cca,itq:6" else 0
    some.train(Recipe(spec=spec, views=("color", "gist"), holdout=0.5, rerank=rerank), space="made")
    (rows, hits) = evaluations(some, "made")
    monkeypatch.setattr(Versions, "index_at", lambda *_: None)
    (expected, expected_hits) = evaluations(some, "made")
    assert rows == expected
    for found, wanted in zip(hits, expected_hits, strict=True):
        assert all(np.array_equal(*pair) for pair in zip(found, wanted, strict=True))


def test_few_rows_are_read(some, monkeypatch):
    """It reads the rows of three queries and of the training items, among 60; a refit reads all."""
    some.train(Recipe(spec="cca", views=("color", "gist"), holdout=0.5), space="made")
    read = []

    def with_rows(tx, items):
        read.append(len(items))
        return original(tx, items)

    original = stored_vectors.with_rows
    monkeypatch.setattr(stored_vectors, "with_rows", with_rows)
    some.evaluate(EvaluationRequest(view="color", spaces=("made",), max_queries=3))
    monkeypatch.setattr(stored_vectors, "MOST_TRAINED", 10)
    some.evaluate(EvaluationRequest(view="color", spaces=("made",), max_queries=3))
    some.evaluate(EvaluationRequest(view="color", spaces=("made",), max_queries=3, refit=True))
    assert read == [33, 13, 60]


def test_an_index_of_a_later_state_is_not_used(some):
    """A change after the beginning of an evaluation does not enter it."""
    some.train(Recipe(spec="cca", views=("color", "gist"), holdout=0.5), space="made")
    opened = some._opened
    with opened.read() as tx:
        space = opened.loaded.get(tx, "made")
        target = space.targets[0]
        assert len(opened.versions().index_at(tx, space, target)) == 60
        some.items.put([item("cat", 20)])
        assert opened.versions().index_at(tx, space, target) is None
    with opened.read() as tx:
        assert len(opened.versions().index_at(tx, space, target)) == 61
    some.items.delete([one.key for one in some.items(limit=100)])
    with pytest.raises(NotReadyError):
        some.evaluate(EvaluationRequest(view="color", spaces=("made",)))
