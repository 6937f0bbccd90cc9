"""Arguments of a space from its stored state, which an earlier version may have written."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.registry import from_state
from crossview.engine.spaces.match import Match, Novelty
from crossview.engine.spaces.scores import ScoreScale
from crossview.engine.spaces.sketches import Sketch
from crossview.engine.spaces.training_keys import PackedKeys, packed_keys
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import Argument, NotReadyError, call
from crossview.engine.values.info import ConstraintCounts
from crossview.engine.values.recipe import Grouping
from crossview.index.registry import IndexSpec


def restored_values(name: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a named space from its state; values that an earlier version did not store get defaults.

    Raises NotReadyError if this version of crossview cannot read a learner.
    """
    constraints, counts = tree.get("constraints"), tree.get("constraint_counts")
    return {
        "pipeline": _pipeline(name, tree["pipeline"]),
        "trained": _packed(tree["training_keys"]),
        "pairs": tuple((first, second) for first, second in tree.get("pairs", ())),
        "constraints": constraints and ItemComparisons.from_state(constraints),
        "constraint_counts": counts and ConstraintCounts(**counts),
        "taxonomy": (found := tree.get("taxonomy")) and Taxonomy(dict(found)),
        "group_by": _grouping(tree.get("group_by")),
        "index": IndexSpec(**tree["index"]) if "index" in tree else None,
        "scales": tuple(ScoreScale(**scale) for scale in tree.get("scales", ())),
        "sketches": tuple(Sketch(**sketch) for sketch in tree.get("sketches", ())),
        "matches": tuple(Match(**match) for match in tree.get("matches", ())),
        "novelties": tuple(Novelty(**novelty) for novelty in tree.get("novelties", ())),
    }


def _pipeline(name: str, stored: Mapping[str, Any]) -> Chain:
    """Return the learners of a named space; NotReadyError if this version cannot read them."""
    try:
        return cast(Chain, from_state(stored))
    except ValueError as error:
        raise NotReadyError(
            f"space {name!r} was trained by an earlier version, whose learner does not exist any more ({error}): "
            "train it again as ",
            Argument("space", name),
            ", or delete it with: ",
            call("collection.spaces.delete", name),
        ) from error


def _packed(stored: PackedKeys | list[str]) -> PackedKeys:
    """Return the packed keys of a state; earlier versions stored a list."""
    return packed_keys(stored) if isinstance(stored, list) else stored


def _grouping(stored: tuple[str, Sequence[tuple[str, str]]] | None) -> Grouping | None:
    return stored and Grouping(stored[0], dict(stored[1]))
