"""The type of the result that each command prints with --json."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.transfer.exporting import Exported
from crossview.engine.catalog.transfer.mapping import Meaning
from crossview.engine.findings.questions.collected_answers import NotionAnswers
from crossview.engine.publishing.publication import Publication
from crossview.engine.publishing.spreading.outcomes import Extraction, Sample
from crossview.engine.training.guide import LearnerGuide
from crossview.engine.values.changes import Change, Changes
from crossview.engine.values.duplicate import Duplicates, PairJudgement
from crossview.engine.values.evaluation import Evaluation
from crossview.engine.values.explanation import Explanation
from crossview.engine.values.feedback import FeedbackInfo, Judgement
from crossview.engine.values.info import CollectionInfo, SpaceInfo, Threshold, ViewInfo
from crossview.engine.values.item import ImportReport, Item
from crossview.engine.values.map import MapInfo
from crossview.engine.values.plan import Plan
from crossview.engine.values.query import HitList, SuggestedLabels, Verdict
from crossview.features.base import Input, QueryWords
from crossview.server.client.job import Job
from crossview.server.commands.ask import WrittenComparisons
from crossview.server.commands.audit import PrintedAudit
from crossview.server.commands.backups import Compacted, Copy
from crossview.server.commands.collections import Alias, Renamed
from crossview.server.commands.common import Deleted
from crossview.server.commands.count import CountedItems
from crossview.server.commands.doctor import PrintedDiagnoses
from crossview.server.commands.doctor_checks import Diagnosis
from crossview.server.commands.duplicates import SpreadLabels
from crossview.server.commands.embed import PrintedEmbedding, WrittenEmbeddings
from crossview.server.commands.feedback import DeletedJudgements, ForgottenAnswers, RememberedAnswers
from crossview.server.commands.items import DeletedItems
from crossview.server.commands.keys import CreatedKey, PrintedKey
from crossview.server.commands.models import CheckedModel, OfferedModel, PrintedModel
from crossview.server.commands.neighbors import WrittenNeighbors
from crossview.server.commands.publish import PublishedName, Unpublished
from crossview.server.commands.search import HitCount
from crossview.server.commands.stats import Stats
from crossview.server.commands.transfer import ImportedData


@dataclass(frozen=True, kw_only=True)
class DescribedCollection(CollectionInfo):
    """A collection with the inconsistencies in it."""

    findings: list[str]


@dataclass(frozen=True, kw_only=True)
class InputLabels(SuggestedLabels):
    """The suggested labels for an input, which is a key or the path of a picture."""

    input: str


@dataclass(frozen=True)
class SuggestedInputs:
    """The suggestions for all inputs."""

    results: list[InputLabels]
    calibration: str


@dataclass(frozen=True, kw_only=True)
class PairVerdict(Verdict):
    """A pair of inputs, and whether they are the same."""

    a: str
    b: str


@dataclass(frozen=True)
class LeftOut:
    """A pair of inputs without an answer."""

    a: str
    b: str
    reason: str


@dataclass(frozen=True)
class Verdicts:
    """The answers for all pairs."""

    results: list[PairVerdict]
    left_out: list[LeftOut]


@dataclass(frozen=True)
class ExplainedSearch:
    """The lists of a search with --explain, and the explanations of their first hits."""

    results: list[HitList]
    explanations: list[Explanation]


RESULTS: dict[str, Any] = {
    "learners": list[LearnerGuide] | LearnerGuide,
    "publish add": Publication,
    "publish list": list[PublishedName],
    "publish remove": Unpublished,
    "create": CollectionInfo,
    "list": list[str] | list[Item] | CountedItems,
    "stats": Stats,
    "show": DescribedCollection,
    "rename": Renamed,
    "copy": CollectionInfo,
    "alias": list[Alias] | Alias | Deleted,
    "delete": Deleted,
    "backup": Copy,
    "restore": CollectionInfo,
    "compact": Compacted,
    "export": Exported,
    "import": CollectionInfo | ImportedData,
    "index": ImportReport,
    "annotate": ImportReport,
    "rows extract": Extraction,
    "rows sample": Sample,
    "rows place": Publication,
    "item show": Item,
    "item delete": DeletedItems,
    "view add": ViewInfo,
    "view list": list[ViewInfo],
    "view fit": list[ViewInfo],
    "view place": ImportReport,
    "view delete": Deleted,
    "train": SpaceInfo | Job,
    "tune": SpaceInfo | Job,
    "evaluate": Evaluation | Job,
    "compare": Evaluation | Job,
    "audit": PrintedAudit,
    "ask": list[NotionAnswers] | WrittenComparisons,
    "space list": list[SpaceInfo],
    "space activate": SpaceInfo,
    "space extend": SpaceInfo | Job,
    "space assign": SpaceInfo | Job,
    "space reindex": SpaceInfo | Job,
    "space delete": Deleted,
    "search": list[HitList] | ExplainedSearch | list[HitCount],
    "explain": list[Explanation],
    "suggest": SuggestedInputs,
    "embed": list[PrintedEmbedding] | WrittenEmbeddings,
    "neighbors": WrittenNeighbors,
    "map": MapInfo | list[MapInfo] | Job,
    "calibrate": Threshold | Job,
    "verify": Verdicts,
    "changes": Changes | Change,
    "duplicates": Duplicates | PairJudgement | list[PairJudgement] | SpreadLabels,
    "feedback list": list[FeedbackInfo],
    "feedback show": list[Judgement],
    "feedback undo": Judgement,
    "feedback delete": DeletedJudgements,
    "feedback remember": RememberedAnswers,
    "feedback forget": ForgottenAnswers,
    "key create": CreatedKey,
    "key list": list[PrintedKey],
    "key grant": PrintedKey,
    "key revoke": PrintedKey,
    "model get": list[OfferedModel],
    "model add": CheckedModel,
    "model list": list[PrintedModel],
    "model show": PrintedModel,
    "model check": CheckedModel,
    "model remove": Deleted,
    "doctor": PrintedDiagnoses,
    "plan": Plan,
    "job list": list[Job],
    "job show": Job,
    "job cancel": Job,
    "job wait": Job,
}
"""The result of each command with --json: the first form without further options, and the others with some."""


def types_below(annotation: Any) -> Iterator[type]:
    """Yield the dataclasses of an annotation, and those of their fields."""
    if is_dataclass(annotation):
        yield annotation  # type: ignore[misc]  # a class, never an instance
        hints = field_types(annotation)  # type: ignore[arg-type]
        for field in fields(annotation):
            yield from types_below(hints[field.name])
    else:
        for part in get_args(annotation):
            yield from types_below(part)


def field_types(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields. Modules that the help of commands loads import no numpy for theirs."""
    names = {"np": np, "NDArray": NDArray, "Meaning": Meaning, "ImportReport": ImportReport, "Diagnosis": Diagnosis}
    return get_type_hints(kind, localns={**names, "Input": Input, "QueryWords": QueryWords})


def named(annotation: Any) -> str:
    """Return the JSON form of an annotation in words, such as ``list of Item, or null``."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return ", or ".join(dict.fromkeys(map(named, parts)))
    if origin is Literal:
        return " or ".join(f'"{value}"' for value in parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"object of {named(parts[1])}"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"list of {named(parts[0])}"
    if origin is np.ndarray:
        return "list of number"
    words = {bool: "true or false", int: "number", float: "number", NoneType: "null", Any: "value"}
    if annotation in words:
        return words[annotation]
    return str(annotation.__name__) if isinstance(annotation, type) and is_dataclass(annotation) else "string"
