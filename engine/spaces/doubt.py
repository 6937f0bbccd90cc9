"""Doubt about words: whether pictures are nearer to them than chance would have it."""

from sklearn.metrics.pairwise import cosine_similarity

from crossview.engine.spaces.columns import Column
from crossview.engine.spaces.examples import as_numbers
from crossview.engine.spaces.version import SearchState
from crossview.features.conse import Conse
from crossview.index.base import Ids

_FIRST = 5
"""Nearest pictures that are looked at."""
_PART, _MORE = 0.5, 0.06
"""The cosine of words and the nearest pictures of what they name is at least this part of that of words and the nearest
name of a class, and this much more (docs/decisions/fusion.md)."""


def words_fit(state: SearchState, column: Column, ids: Ids) -> bool:
    """Return whether the words of a query fit the pictures with these ids, the nearest first, or nobody can tell.

    A picture is a mean of the names of a model's classes (see ``Conse``). Words that are far from every name are far
    from every picture, too, so that the nearest name states how near pictures of what they name would be.
    """
    view, target = column.crossing
    parts = state.version.joined_view(view).parts
    extractor = state.version.loaded.extractor(parts[0])
    if not (column.is_foreign and len(parts) == 1 and isinstance(extractor, Conse) and len(ids)):
        return True
    place = "names", state.space.name, state.indexed.identity, view, target
    names = state.version.remembered.value(
        place, lambda: state.space.probe(view, extractor.names, [str(target)])[target]
    )
    pictures = state.indexed.indexes[target].index.get(ids[:_FIRST])
    words, names, pictures = (as_numbers(target, rows) for rows in (column.vector[None], names, pictures))
    known, near = cosine_similarity(words, names).max(), cosine_similarity(words, pictures).mean()
    return bool(near >= _PART * known + _MORE)
