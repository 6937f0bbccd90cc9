"""Words find items also while the active space has no view of texts: the views themselves answer."""

import numpy as np
import pytest

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.explanation import ExplainRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

WORDS = ("the sea", "a red rose", "an old house")


def test_words_search_the_views_themselves_if_the_active_space_has_no_view_for_them(home: Home) -> None:
    """A space that a person names refuses them; a query without words never leaves the active space."""
    generator = np.random.default_rng(0)
    with home.create("art", ["color=vectors:dim=6", "text"]) as art:
        art.items.put(
            [NewItem(f"{n:02}", rows={"color": generator.normal(size=6)}, text=WORDS[n % 3]) for n in range(30)]
        )
        art.views.fit([])
        art.train(Recipe(spec="pca:3", views=("color",)))
        (hits,) = art.search(SearchRequest([Query(text="sea")], k=5))
        assert hits.hits == art.search(SearchRequest([Query(text="sea")], k=5, space="raw"))[0].hits
        assert {hit.text for hit in hits} == {"the sea"}
        assert next(iter(art.search_pages(SearchRequest([Query(text="sea")]))))[0].hits
        assert art.explain(ExplainRequest(SearchRequest([Query(text="sea")], k=1)))
        with pytest.raises(InvalidInputError, match="no view of space 'pca' accepts a query by a text"):
            art.search(SearchRequest([Query(text="sea")], space="pca"))
