"""Codebooks: the training data of the fitted views of an evaluation."""

from collections.abc import Iterable

from crossview.engine.catalog import state
from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import kind_of
from crossview.engine.catalog.joined import joined_view


def codebooks(tx: Transaction, names: Iterable[str], queries: set[str], what: str = "queries") -> str:
    """Return the training data of fitted views in words, and the number of queries among them."""
    sentences = []
    parts = {part.name: part for name in names for part in joined_view(tx, name).parts}
    for view in [parts[name] for name in sorted(parts)]:
        packed = tx.views.state(view, view.revision)
        if packed is None:
            continue
        fitted = state.unpack(packed)
        known = fitted["keys"]
        seen = "which ones is not known" if known is None else f"{len(queries & set(known))} {what} among them"
        labels = "any labels they had" if kind_of(view).learns_labels else "no labels"
        sentences.append(
            f"{view.name}: revision {view.revision}, fitted with {labels} on "
            f"{fitted['pictures']} {fitted.get('kind', 'pictures')}, {seen}"
        )
    return "; ".join(sentences) or "no view that takes part has a codebook"
