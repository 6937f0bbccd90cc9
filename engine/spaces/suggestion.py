"""Suggestion: labels for queries by calibrated votes of the labelled items that are nearest; nothing is written."""

from collections.abc import Mapping

from engine.catalog.catalog import Transaction
from engine.catalog.lookup import item_id
from engine.errors import InvalidInputError, NotReadyError
from engine.query import LabelShare, SuggestedLabels, Suggestions, SuggestRequest
from engine.spaces.calibration import Calibration, calibrate
from engine.spaces.live import LiveSpace
from engine.spaces.query_rows import Extractors, query_rows
from engine.spaces.search import StaleError, by_view, check_queries
from engine.spaces.voting import Voters


def check_request(request: SuggestRequest) -> None:
    """Raise InvalidInputError for what no collection could answer."""
    check_queries(request.queries, request.k)
    if not 0 <= request.min_share <= 1:
        raise InvalidInputError(f"min_share must be a probability, from 0 to 1, not {request.min_share:g}")


def suggest(tx: Transaction, live: LiveSpace, extractors: Extractors, request: SuggestRequest) -> Suggestions | None:
    """Return the labels of every query; None if the search has to begin again, as in ``search.answer``.

    Raises NotReadyError where no item has a label, and what ``search.answer`` does.
    """
    labels = tx.items.labels()
    if not labels:
        raise NotReadyError(
            f"no item of collection {tx.name()!r} has a label to suggest: label some with: "
            f"crossview label {tx.name()} --from FILE.csv"
        )
    queries, results, protocols = request.queries, {}, []
    try:
        for view, numbers in by_view(queries).items():
            rows = query_rows(tx, extractors, view, queries, numbers)
            keys = [queries[number].key for number in numbers]
            own = [None if key is None else item_id(tx, key) for key in keys]
            voters = Voters(tx, live, view, request.targets, request.k, labels)
            shares, calibration = voters.shares(rows, own), calibrate(voters)
            protocols.append(calibration.protocol)
            for number, item, votes in zip(numbers, own, shares, strict=True):
                known = () if item is None else labels.get(item, ())
                results[number] = _suggested(number, votes, calibration, request.min_share, known)
    except StaleError:
        return None
    return Suggestions(tuple(results[number] for number in range(len(queries))), "; ".join(protocols))


def _suggested(
    number: int, votes: Mapping[str, float], calibration: Calibration, min_share: float, known: tuple[str, ...]
) -> SuggestedLabels:
    """Return the labels with votes, the most probable first: those that are probable enough, and the others."""
    found = sorted(
        (LabelShare(label, calibration.probability(votes), votes) for label, votes in votes.items()),
        key=lambda one: (-one.votes, one.label),
    )
    passed = tuple(one for one in found if one.share >= min_share)
    return SuggestedLabels(number, passed, tuple(found[len(passed) :]), known)
