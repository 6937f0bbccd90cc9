"""Views of a collection: what is said of them, and their extractors at a revision."""

import json
from collections.abc import Iterable
from typing import Any

from engine import state
from engine.catalog import Transaction, ViewRecord
from engine.errors import InvalidInputError, NotFoundError, NotReadyError
from engine.info import ViewInfo
from features import EXTRACTORS, Extractor, extractor


def view_info(record: ViewRecord) -> ViewInfo:
    """Return what is told of a view."""
    return ViewInfo(
        record.name, record.extractor, dict(record.params), record.dim, record.revision, record.revision > 0
    )


def parse_view(spec: str) -> Extractor:
    """Return the unfitted extractor of ``name`` or ``name:param=value:param=value``, such as ``sift:words=100``.

    Raises InvalidInputError for an unknown extractor or parameter, naming the known ones.
    """
    name, *pairs = spec.strip().split(":")
    params: dict[str, Any] = {}
    for pair in pairs:
        key, found, value = pair.partition("=")
        if not found:
            raise InvalidInputError(f"view {spec!r}: write parameters as name:key=value, not {pair!r}")
        params[key] = parse_value(value)
    try:
        return extractor(name, params)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"view {spec!r}: {error}") from error


def parse_value(text: str) -> Any:
    """Return a value from its text: JSON where it is, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def add_views(tx: Transaction, specs: Iterable[str]) -> None:
    """Write the views of a new collection."""
    extractors = [parse_view(spec) for spec in specs]
    names = [one.name for one in extractors]
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(f"a collection needs distinct views; there are: {', '.join(EXTRACTORS)}")
    for one in extractors:
        tx.views.add(one.name, one.name, one.params(), one.dim, revision=int(one.fitted))


def find_view(tx: Transaction, name: str) -> ViewRecord:
    """Return a view by name; NotFoundError lists those that exist."""
    views = {view.name: view for view in tx.views.all()}
    if name not in views:
        raise NotFoundError(f"no view {name!r} in collection {tx.name()!r}; there are: {', '.join(views)}")
    return views[name]


def check_fitted(tx: Transaction, view: ViewRecord) -> None:
    """Raise NotReadyError, with the remedy, if a view must be fitted before it has rows."""
    if view.revision == 0:
        name = tx.name()
        raise NotReadyError(
            f"view {view.name!r} of collection {name!r} is not fitted: "
            f"run 'crossview index {name} PATH', or 'crossview fit {name} PATH' to fit it only"
        )


def load_extractor(tx: Transaction, view: ViewRecord) -> Extractor:
    """Return a view's extractor at its current revision; NotReadyError if it must be fitted first."""
    check_fitted(tx, view)
    made = extractor(view.extractor, view.params)
    packed = tx.views.state(view, view.revision)
    return made if packed is None else made.load_state(state.unpack(packed)["fitted"])
