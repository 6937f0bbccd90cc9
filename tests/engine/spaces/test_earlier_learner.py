"""A space of a learner that has changed since states the remedy, and can be trained again or deleted."""

import pytest
import sqlalchemy as sa
from rows import WIDTHS, each, fill, item

from crossview.engine.catalog import state
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.schema import generations
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

BOTH = tuple(WIDTHS)
ASKED = SearchRequest([Query(BOTH[0], vector=[1.0] * WIDTHS[BOTH[0]])])


@pytest.fixture
def aged(home: Home):
    """A collection whose active space has a setting that its learner once had."""
    with fill(home, "one", [item(group, number) for group, number in each()]) as made:
        made.train(Recipe(views=BOTH, spec="npp-hash:16"), space="codes")
        file = CollectionFolder(home.path / "one").database
    with sa.create_engine(f"sqlite:///{file}").begin() as connection:
        tree = state.unpack(connection.execute(sa.select(generations.c.state)).scalar_one())
        tree["pipeline"]["steps"]["0"]["params"]["eta"] = 0.1
        connection.execute(sa.update(generations).values(state=state.pack(tree)))
    with home.open("one") as found:
        yield found


def test_it_says_how_to_be_rid_of_it(aged: Collection):
    with pytest.raises(
        NotReadyError, match=r"space 'codes' was trained by an earlier version.*again as `space='codes'`"
    ):
        aged.search(ASKED)


def test_it_is_trained_again(aged: Collection):
    aged.train(Recipe(views=BOTH, spec="npp-hash:16"), space="codes")
    assert aged.search(ASKED)


def test_it_is_deleted(aged: Collection):
    aged.spaces.delete("codes")
    assert aged.search(ASKED)
