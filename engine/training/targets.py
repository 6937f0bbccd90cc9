"""Targets of an evaluation: the views of the items to find, or one notion of similarity."""

from collections.abc import Sequence

from crossview.engine.errors import InvalidInputError, NotReadyError
from crossview.engine.evaluation import ITEMS, EvaluationRequest
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target, view_of

NO_LABEL = "no item with these views has a label: index with `labels='folder'` or a CSV file"


def notion_of(spaces: Sequence[Space], request: EvaluationRequest) -> str:
    """Return the notion of similarity of the requested targets; "" if they have no notion.

    Raises InvalidInputError for targets of several notions, each of which has labels of its own.
    """
    known = {name for space in spaces for name in space.pipeline.metric_names_}
    named = dict.fromkeys(target.partition(":")[2] or target for target in request.targets)
    if not known.intersection(named):
        return ""
    if len(named) > 1:
        raise InvalidInputError(
            f"an evaluation measures one notion at a time, by its own labels, not {', '.join(named)}"
        )
    return next(iter(named))


def target_views(
    spaces: Sequence[Space], request: EvaluationRequest, by: str, notion: str
) -> dict[str, tuple[str, ...]]:
    """Return, by space, the views of the items to find: those that the space can match with the query view.

    Raises NotFoundError for unknown views and targets, InvalidInputError if no space can match them, NotReadyError
    without labels if nothing else can be measured.
    """
    matched = {space.name: _matched(space, request, notion) for space in spaces}
    found = {name: tuple(dict.fromkeys(target.view for target in targets)) for name, targets in matched.items()}
    if not any(found.values()):
        spaces[0].targets_for(request.view, request.targets)
    if by != ITEMS:
        return found
    found = {name: tuple(target for target in views if target != request.view) for name, views in found.items()}
    if any(found.values()):
        return found
    across = f"items find their own other view in a space across views, in other views than {request.view!r}"
    if request.by:
        raise InvalidInputError(f"{across}: measure such a space, as of multi-npp or cca, or by labels")
    raise NotReadyError(f"{NO_LABEL}; without labels {across}")


def _matched(space: Space, request: EvaluationRequest, notion: str) -> Sequence[Target]:
    """Return the requested targets that a space has; for a notion that it lacks, the view itself."""
    if notion and notion not in space.pipeline.metric_names_:
        return space.targets_of(request.view)
    names = [one for one in request.targets if notion or space.cross_view or view_of(one) == request.view]
    return space.targets_for(request.view, names) if names or not request.targets else ()
