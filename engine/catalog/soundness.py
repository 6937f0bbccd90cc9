"""Checks of a catalog whose rows come from a file: crossview can write its names, dimensions and numbers."""

import re
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.description import RAW, check_space_name, raw_info, space_info
from crossview.engine.catalog.extractors import ExtractorKind, check_view_name, inputs_of, unfitted_extractor
from crossview.engine.catalog.joined import part_names
from crossview.engine.catalog.spaces import Generation
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.values.conditions.filter import condition_of
from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.index_choice import AUTO, KINDS, SKETCHES, IndexChoice, checked_choice
from crossview.engine.values.info import Threshold
from crossview.engine.values.map import METHODS
from crossview.features.contract import STEPS

_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]{0,99} [\w.!+-]{1,50}|unknown", re.ASCII)
"""The name and version of a package."""
_STATED = len(ExtractorKind._fields) + 1
"""Number of entries in the description of an extractor of another package."""
_MOST_EFFORT = 2**31 - 1
"""Maximum effort of a search, which messages and libraries store in 32 bits."""
_MOST_TARGET = 200
"""Maximum number of characters of a target's name, which is part of a file's name."""


def check_sound(tx: Transaction) -> None:
    """Raise ValueError, which describes the problem, unless crossview could have written every name and number."""
    if (count := tx.count_collections()) != 1:
        raise ValueError(f"it describes {count} collections")
    head, views = tx.head(), tx.views.all()
    numbers = (head.purged, tx.items.last_sequence(), *(generation.sequence for generation in tx.spaces.generations()))
    if not all(0 <= number <= head.sequence for number in numbers):
        raise ValueError(f"a change has a number above the last change, {head.sequence}")
    for view in views:
        _check_view(tx, view)
    try:
        for name in tx.spaces.in_use():
            check_space_name(name)
        _check_spaces(tx, {view.name for view in views})
        for view in views:
            _thresholds(tx, RAW, view.revision)
        _check_choices(tx)
        _check_maps(tx, {view.name for view in views})
    except (CrossviewError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its spaces cannot be read ({error})") from error


def _check_view(tx: Transaction, view: ViewRecord) -> None:
    try:
        check_view_name(view.name)
        _check_packaged(view)
        extractor = unfitted_extractor(view)
    except (ValueError, TypeError) as error:
        raise ValueError(f"view {view.name[:40]!r} is invalid ({error})") from error
    if inputs_of(view) != extractor.inputs and view.packaged is not None:
        raise ValueError(f"view {view.name!r} does not have the inputs of its extractor")
    if view.dim != extractor.dim or view.revision < extractor.fitted:
        raise ValueError(f"view {view.name!r} has dimension {view.dim} at revision {view.revision}")
    if tx.rows.misfits(view):
        raise ValueError(f"a row of view {view.name!r} does not have {view.dim} values")


def _check_packaged(view: ViewRecord) -> None:
    """Raise ValueError unless the view describes an extractor of another package as crossview does, and no other.

    Messages quote the name of the package, so it can contain nothing else.
    """
    from crossview.features.registry import package_of

    facts = view.packaged
    if facts is None:
        if package_of(view.extractor):
            raise ValueError("it does not name the package of its extractor")
        return
    package, inputs, steps = (facts.get(name) for name in ("package", "inputs", "steps"))
    if not isinstance(package, str) or not _PACKAGE.fullmatch(package):
        raise ValueError("the package of its extractor has an invalid name")
    if inputs not in (["image"], ["text"], ["image", "text"]) or not isinstance(steps, list) or len(facts) != _STATED:
        raise ValueError("its extractor is described wrongly")
    if not set(steps) <= set(STEPS) or not all(isinstance(facts.get(key), bool) for key in ("robust", "learns_labels")):
        raise ValueError("its extractor is described wrongly")


def _check_spaces(tx: Transaction, views: set[str]) -> None:
    used, generations = tx.spaces.in_use(), tx.spaces.generations()
    numbers = {(record.space, record.generation) for record in generations}
    if lacking := used.items() - numbers:
        raise ValueError(f"the generation {lacking.pop()} does not exist")
    if (active := tx.active_space()) not in ("", RAW, *used):
        raise ValueError(f"the active space {active[:40]!r} does not exist")
    for record in generations:
        _check_generation(tx, record, views)


def _check_generation(tx: Transaction, record: Generation, views: set[str]) -> None:
    info = space_info(record, [record], "", _thresholds(tx, record.space, record.generation))
    if wrong := mistyped(info):
        raise ValueError(f"{wrong} of space {record.space!r} has a wrong type")
    for target in (*info.targets, *info.dim):
        if not isinstance(target, str) or not 0 < len(target) <= _MOST_TARGET or "\0" in target:
            raise ValueError(f"a target of space {record.space!r} has the invalid name {repr(target)[:40]}")
    parts = {part for view in info.views for part in part_names(view)}
    if record.generation < 1 or not parts <= views:
        raise ValueError(
            f"generation {record.generation} of space {record.space!r} uses unknown views: {', '.join(sorted(parts))}"
        )


def _check_choices(tx: Transaction) -> None:
    infos = {(record.space, record.generation): space_info(record, [record], "") for record in tx.spaces.generations()}
    for (space, generation), choices in tx.spaces.index_choices().items():
        info = raw_info(tx) if space == RAW else infos.get((space, generation))
        if info is None:
            raise ValueError(
                f"an index belongs to generation {generation} of space {space[:40]!r}, which does not exist"
            )
        for target, tree in choices.items():
            kind = _checked_choice(tree).kind
            exists = target.partition(":")[0] in info.views if kind == SKETCHES else target in info.targets
            if not exists or (info.binary and kind != SKETCHES):
                raise ValueError(f"target {target[:40]!r} of space {space!r} cannot have an index of kind {kind!r}")


def _checked_choice(tree: Mapping[str, Any]) -> IndexChoice:
    choice = IndexChoice.from_json(tree)
    if wrong := mistyped(choice):
        raise ValueError(f"{wrong} of an index has a wrong type")
    checked_choice(choice.asked, choice.recall, choice.vectors)
    if choice.kind not in (*KINDS, SKETCHES) or choice.kind == AUTO:
        raise ValueError(f"an index has the unknown kind {choice.kind[:40]!r}")
    curves = [curve for row in choice.measured for curve in row.curves]
    points = [point for curve in curves for point in curve.points]
    counts = *(row.queries for row in choice.measured), *(row.k for row in curves), *(row.effort for row in points)
    shares = (
        *(row.confirmed for row in choice.measured),
        *(row.share for row in curves),
        *(row.recall for row in points),
    )
    if not all(type(count) is int and 0 < count <= _MOST_EFFORT for count in counts):
        raise ValueError("an index has an effort or a number of queries that is not a number above 0")
    if choice.items < 0:
        raise ValueError("an index has a number of items below 0")
    if not all(0 <= share <= 1 for share in (*shares, *(row.error for row in points))):
        raise ValueError("an index has a recall that is not a share")
    return choice


def _check_maps(tx: Transaction, views: set[str]) -> None:
    for record in tx.maps.all():
        if wrong := mistyped(record.info(0)):
            raise ValueError(f"{wrong} of map {record.id} has a wrong type")
        if not set(part_names(record.view)) <= views or record.method not in METHODS:
            raise ValueError(f"map {record.id} has an unknown view or method")
        condition_of(record.condition)
        tx.maps.places(record.id)


def _thresholds(tx: Transaction, space: str, generation: int) -> tuple[Threshold, ...]:
    thresholds = tx.spaces.thresholds(space, generation)
    for threshold in thresholds:
        if wrong := mistyped(threshold):
            raise ValueError(f"{wrong} of a threshold of space {space!r} has a wrong type")
        if not len(threshold.distances) == len(threshold.probabilities) > 0:
            raise ValueError(f"a threshold of space {space!r} has no probability for each distance")
    return thresholds


def mistyped(value: Any, kind: Any = None) -> str:
    """Return the name of a dataclass field whose value has another type than annotated; "" if all types are right.

    The annotations are those of ``kind`` [default: the class of ``value``].
    """
    hints = get_type_hints(kind or type(value))
    names = [field.name for field in fields(kind or value)]
    return next((name for name in names if not _is(getattr(value, name), hints[name])), "")


def _is(value: Any, hint: Any) -> bool:
    kind, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(_is(value, option) for option in args)
    if kind is tuple:  # of any length
        return isinstance(value, tuple) and all(_is(part, args[0]) for part in value)
    if kind is Mapping:
        return isinstance(value, dict) and all(_is(key, args[0]) and _is(part, args[1]) for key, part in value.items())
    if isinstance(hint, type) and is_dataclass(hint):
        return isinstance(value, hint) and not mistyped(value)
    if hint is float:
        return type(value) in (int, float)
    return type(value) is hint
