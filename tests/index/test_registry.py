"""Kinds of index have names: the stored statement of a space's index is enough to make it again."""

import json
from dataclasses import asdict

import pytest

from crossview.index.multi_index import AutoBinaryIndex
from crossview.index.registry import KINDS, IndexSpec
from crossview.index.reranked import RerankedIndex


def test_every_kind_makes_an_empty_index_of_the_width():
    """The width counts components or bits; an index that re-ranks has both, and its factor is a parameter."""
    for kind in KINDS:
        made = IndexSpec(kind, {"factor": 3}).empty(12, 5) if kind == "reranked" else IndexSpec(kind).empty(12)
        assert (len(made), made.dim) == (0, 12)
    reranked = IndexSpec("reranked", {"factor": 3}).empty(12, 5)
    assert isinstance(reranked, RerankedIndex)
    assert reranked.factor == 3


def test_a_spec_comes_back_from_json():
    """It is equal to the stored one, and of the same kind."""
    spec = IndexSpec("binary")
    again = IndexSpec(**json.loads(json.dumps(asdict(spec))))
    assert again == spec
    assert isinstance(again.empty(8), AutoBinaryIndex)


def test_an_unknown_kind_is_refused_with_the_known_ones():
    """A space that a later version stored may name such a kind."""
    with pytest.raises(ValueError, match="no kind of index 'graph'; there are: exact, flat"):
        IndexSpec("graph")
