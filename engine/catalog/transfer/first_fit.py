"""The first fit of a collection's views, here or on a server; a view that cannot be fitted yet stops no other."""

from collections.abc import Iterable, Sequence

from crossview.engine.catalog.ingest.plan import waiting_note
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.item import Failure, Picture


def unfitted_pictures(collection: AnyCollection) -> list[str]:
    """Return the names of the unfitted views that learn from pictures."""
    return [view.name for view in collection.views() if not view.fitted and "image" in view.inputs]


def fit_pictures(
    collection: AnyCollection, pictures: Iterable[Picture], views: Sequence[str], seed: int = 0
) -> tuple[str, ...]:
    """Fit views on pictures, and return notes on those that have too few.

    Raises NotReadyError if no view of pictures is fitted then.
    """
    try:
        collection.views.fit(pictures, views=views, seed=seed)
    except NotReadyError as error:
        fitted = [view.name for view in collection.views() if view.fitted and "image" in view.inputs]
        if not fitted:
            raise
        return (waiting_note(str(error), fitted),)
    return ()


def fit_texts(collection: AnyCollection) -> list[Failure]:
    """Fit the unfitted views of texts, and compute the missing rows of texts; return the views with too few texts."""
    views = [view for view in collection.views() if "text" in view.inputs]
    if views:
        try:
            collection.views.fit(())
        except NotReadyError as error:
            return [Failure(next((view.name for view in views if not view.fitted), "text"), str(error))]
    return []
