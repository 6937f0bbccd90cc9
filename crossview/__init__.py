"""The public names of crossview: local collections, clients of servers, requests, results and errors.

The first use of a name imports its module, so importing the package itself takes no time. The module
``crossview.learners`` contains the learners, as scikit-learn estimators, and ``crossview.extractors`` what a package
needs for an extractor of its own.

>>> import crossview
>>> with crossview.open("flowers") as flowers:  # doctest: +SKIP
...     flowers.train(crossview.Recipe(spec="cca", views=("color", "sift")))
...     (hits,) = flowers.search(crossview.SearchRequest([crossview.Query("color", key="rose")], targets=("sift",)))
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossview.engine.values.errors import engine_installed

if TYPE_CHECKING:
    from crossview import extractors as extractors
    from crossview import learners as learners
    from crossview.engine.catalog.ingest.taxonomy_file import read_taxonomy as read_taxonomy
    from crossview.engine.catalog.transfer.foreign import ForeignData as ForeignData
    from crossview.engine.collections.collection import Collection as Collection
    from crossview.engine.collections.home import Home as Home
    from crossview.engine.publishing.address import engine_address as engine_address
    from crossview.engine.publishing.collection import PublishedCollection as PublishedCollection
    from crossview.engine.publishing.milvus import Milvus as Milvus
    from crossview.engine.publishing.object_storage import ObjectStorage as ObjectStorage
    from crossview.engine.publishing.publication import PublishRequest as PublishRequest
    from crossview.engine.publishing.publish import publish as publish
    from crossview.engine.values.any_collection import AnyCollection as AnyCollection
    from crossview.engine.values.audit import Audit as Audit
    from crossview.engine.values.audit import AuditRequest as AuditRequest
    from crossview.engine.values.audit import Finding as Finding
    from crossview.engine.values.changes import Change as Change
    from crossview.engine.values.changes import Changes as Changes
    from crossview.engine.values.changes import ChangesRequest as ChangesRequest
    from crossview.engine.values.changes import LearnedImportance as LearnedImportance
    from crossview.engine.values.changes import PairLabel as PairLabel
    from crossview.engine.values.comparisons import Answer as Answer
    from crossview.engine.values.comparisons import ItemComparisons as ItemComparisons
    from crossview.engine.values.comparisons import Question as Question
    from crossview.engine.values.comparisons import QuestionRequest as QuestionRequest
    from crossview.engine.values.conditions.filter import Filter as Filter
    from crossview.engine.values.conditions.filter import field as field
    from crossview.engine.values.duplicate import DuplicateGroup as DuplicateGroup
    from crossview.engine.values.duplicate import DuplicatePicture as DuplicatePicture
    from crossview.engine.values.duplicate import Duplicates as Duplicates
    from crossview.engine.values.duplicate import DuplicatesRequest as DuplicatesRequest
    from crossview.engine.values.duplicate import PairJudgement as PairJudgement
    from crossview.engine.values.errors import AlreadyExistsError as AlreadyExistsError
    from crossview.engine.values.errors import BusyError as BusyError
    from crossview.engine.values.errors import CancelledError as CancelledError
    from crossview.engine.values.errors import CrossviewError as CrossviewError
    from crossview.engine.values.errors import EmptyImageError as EmptyImageError
    from crossview.engine.values.errors import EngineFullError as EngineFullError
    from crossview.engine.values.errors import EngineUnavailableError as EngineUnavailableError
    from crossview.engine.values.errors import ExtractorError as ExtractorError
    from crossview.engine.values.errors import ImageError as ImageError
    from crossview.engine.values.errors import ImageTooLargeError as ImageTooLargeError
    from crossview.engine.values.errors import InputWarning as InputWarning
    from crossview.engine.values.errors import InvalidInputError as InvalidInputError
    from crossview.engine.values.errors import ModelError as ModelError
    from crossview.engine.values.errors import NotAnImageError as NotAnImageError
    from crossview.engine.values.errors import NotEnoughMemoryError as NotEnoughMemoryError
    from crossview.engine.values.errors import NotFoundError as NotFoundError
    from crossview.engine.values.errors import NotInstalledError as NotInstalledError
    from crossview.engine.values.errors import NotReadyError as NotReadyError
    from crossview.engine.values.errors import StorageError as StorageError
    from crossview.engine.values.errors import TruncatedImageError as TruncatedImageError
    from crossview.engine.values.evaluation import Confused as Confused
    from crossview.engine.values.evaluation import Confusion as Confusion
    from crossview.engine.values.evaluation import Curve as Curve
    from crossview.engine.values.evaluation import Evaluation as Evaluation
    from crossview.engine.values.evaluation import EvaluationDifference as EvaluationDifference
    from crossview.engine.values.evaluation import EvaluationRequest as EvaluationRequest
    from crossview.engine.values.evaluation import EvaluationRow as EvaluationRow
    from crossview.engine.values.evaluation import Overlap as Overlap
    from crossview.engine.values.evaluation import PerQuery as PerQuery
    from crossview.engine.values.evaluation import QueryExample as QueryExample
    from crossview.engine.values.explanation import AgreeingPart as AgreeingPart
    from crossview.engine.values.explanation import Agreement as Agreement
    from crossview.engine.values.explanation import Contribution as Contribution
    from crossview.engine.values.explanation import ExplainRequest as ExplainRequest
    from crossview.engine.values.explanation import Explanation as Explanation
    from crossview.engine.values.explanation import Place as Place
    from crossview.engine.values.feedback import FeedbackInfo as FeedbackInfo
    from crossview.engine.values.feedback import Judgement as Judgement
    from crossview.engine.values.hits import HitLists as HitLists
    from crossview.engine.values.info import CollectionInfo as CollectionInfo
    from crossview.engine.values.info import SpaceInfo as SpaceInfo
    from crossview.engine.values.info import Threshold as Threshold
    from crossview.engine.values.info import TrainingCost as TrainingCost
    from crossview.engine.values.info import Tuning as Tuning
    from crossview.engine.values.info import ViewInfo as ViewInfo
    from crossview.engine.values.item import DeletedPicture as DeletedPicture
    from crossview.engine.values.item import Failure as Failure
    from crossview.engine.values.item import ImportReport as ImportReport
    from crossview.engine.values.item import IndexOptions as IndexOptions
    from crossview.engine.values.item import Item as Item
    from crossview.engine.values.item import ItemUpdate as ItemUpdate
    from crossview.engine.values.item import NewItem as NewItem
    from crossview.engine.values.item import Picture as Picture
    from crossview.engine.values.item import ValueCount as ValueCount
    from crossview.engine.values.map import MapRequest as MapRequest
    from crossview.engine.values.query import CalibrationRequest as CalibrationRequest
    from crossview.engine.values.query import Embedding as Embedding
    from crossview.engine.values.query import Hit as Hit
    from crossview.engine.values.query import HitList as HitList
    from crossview.engine.values.query import ItemEmbeddings as ItemEmbeddings
    from crossview.engine.values.query import ItemNeighbors as ItemNeighbors
    from crossview.engine.values.query import LabelShare as LabelShare
    from crossview.engine.values.query import LikeliestClass as LikeliestClass
    from crossview.engine.values.query import OneQuery as OneQuery
    from crossview.engine.values.query import Query as Query
    from crossview.engine.values.query import RequestOptions as RequestOptions
    from crossview.engine.values.query import SameRequest as SameRequest
    from crossview.engine.values.query import SearchRequest as SearchRequest
    from crossview.engine.values.query import SuggestedLabels as SuggestedLabels
    from crossview.engine.values.query import Suggestions as Suggestions
    from crossview.engine.values.query import SuggestRequest as SuggestRequest
    from crossview.engine.values.query import Verdict as Verdict
    from crossview.engine.values.recipe import Grouping as Grouping
    from crossview.engine.values.recipe import Pair as Pair
    from crossview.engine.values.recipe import Recipe as Recipe
    from crossview.engine.values.recipe import Tune as Tune
    from crossview.engine.values.strategy import Combined as Combined
    from crossview.engine.values.strategy import Listed as Listed
    from crossview.engine.values.strategy import Moved as Moved
    from crossview.engine.values.strategy import Nearest as Nearest
    from crossview.engine.values.strategy import Weighted as Weighted
    from crossview.server.client.channels import ClientTls as ClientTls
    from crossview.server.client.client import AsyncClient as AsyncClient
    from crossview.server.client.client import Client as Client
    from crossview.server.wire.errors import DeadlineExceededError as DeadlineExceededError
    from crossview.server.wire.errors import OverloadedError as OverloadedError
    from crossview.server.wire.errors import ServerFaultError as ServerFaultError
    from crossview.server.wire.errors import ServerStoppedError as ServerStoppedError
    from crossview.server.wire.errors import ServerUnavailableError as ServerUnavailableError

_NAMES = {
    "crossview.engine.values.any_collection": "AnyCollection",
    "crossview.engine.values.map": "MapRequest",
    "crossview.engine.catalog.ingest.taxonomy_file": "read_taxonomy",
    "crossview.engine.catalog.transfer.foreign": "ForeignData",
    "crossview.engine.publishing.address": "engine_address",
    "crossview.engine.publishing.collection": "PublishedCollection",
    "crossview.engine.publishing.milvus": "Milvus",
    "crossview.engine.publishing.object_storage": "ObjectStorage",
    "crossview.engine.publishing.publication": "PublishRequest",
    "crossview.engine.publishing.publish": "publish",
    "crossview.engine.values.audit": "Audit AuditRequest Finding",
    "crossview.engine.values.changes": "Change Changes ChangesRequest LearnedImportance PairLabel",
    "crossview.engine.values.duplicate": "DuplicateGroup DuplicatePicture Duplicates DuplicatesRequest PairJudgement",
    "crossview.engine.collections.collection": "Collection",
    "crossview.engine.values.comparisons": "Answer ItemComparisons Question QuestionRequest",
    "crossview.engine.values.conditions.filter": "Filter field",
    "crossview.engine.values.errors": "AlreadyExistsError BusyError CancelledError CrossviewError EmptyImageError "
    "EngineFullError EngineUnavailableError ExtractorError ImageError ImageTooLargeError "
    "InputWarning InvalidInputError ModelError NotAnImageError "
    "NotEnoughMemoryError NotFoundError NotInstalledError NotReadyError StorageError TruncatedImageError",
    "crossview.engine.values.evaluation": "Confused Confusion Curve Evaluation EvaluationDifference EvaluationRequest "
    "EvaluationRow Overlap PerQuery QueryExample",
    "crossview.engine.values.explanation": "AgreeingPart Agreement Contribution Explanation ExplainRequest Place",
    "crossview.engine.values.feedback": "FeedbackInfo Judgement",
    "crossview.engine.values.hits": "HitLists",
    "crossview.engine.collections.home": "Home",
    "crossview.engine.values.info": "CollectionInfo SpaceInfo Threshold TrainingCost Tuning ViewInfo",
    "crossview.engine.values.item": "DeletedPicture Failure ImportReport IndexOptions Item ItemUpdate NewItem Picture "
    "ValueCount",
    "crossview.engine.values.query": "CalibrationRequest Embedding Hit HitList ItemEmbeddings ItemNeighbors LabelShare "
    "LikeliestClass OneQuery Query RequestOptions SameRequest SearchRequest SuggestedLabels SuggestRequest "
    "Suggestions Verdict",
    "crossview.engine.values.recipe": "Grouping Pair Recipe Tune",
    "crossview.engine.values.strategy": "Combined Listed Moved Nearest Weighted",
    "crossview.server.client.channels": "ClientTls",
    "crossview.server.client.client": "AsyncClient Client",
    "crossview.server.wire.errors": "DeadlineExceededError OverloadedError ServerFaultError ServerStoppedError "
    "ServerUnavailableError",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", "connect", "create", "extractors", "learners", *sorted(_MODULES)]
"""Without ``open``: import * must not hide Python's."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("crossview")
    if name in ("extractors", "learners"):
        with engine_installed():
            return import_module(f"crossview.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with engine_installed():
        return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "open"])


def open(name: str, home: Path | str | None = None) -> "Collection":  # noqa: A001 - crossview.open reads like Python's open
    """Open a collection of a home, as a context manager.

    Args:
        name: name of the collection.
        home: folder of the collections [default: $CROSSVIEW_HOME, or ~/.crossview].

    Raises:
        NotFoundError: the collection does not exist; the message lists the existing ones.
        InvalidInputError: the home is a file.
        StorageError: the collection cannot be read.
    """
    from crossview.engine.collections.home import Home

    return Home(home).open(name)


def create(
    name: str, views: Sequence[str] | None = None, *, description: str = "", home: Path | str | None = None
) -> "Collection":
    """Create a collection in a home; see ``Home.create``.

    ``views`` are specifications of views, such as ``sift:words=200`` [default: as ``Home.create``]. ``home`` is as in
    ``open``. Raises InvalidInputError, AlreadyExistsError, StorageError.
    """
    from crossview.engine.collections.home import Home

    return Home(home).create(name, views, description)


def connect(
    address: str, timeout: float | None = None, *, key: str | None = None, tls: "ClientTls | None" = None
) -> "Client":
    """Return a client of a server: a context manager with the methods of a ``Home``.

    ``address`` is HOST:PORT, grpcs://HOST:PORT for TLS, or unix:PATH. ``tls`` names the files of TLS, such as
    ``ClientTls(ca="ca.pem")``; with it, HOST:PORT also means TLS. ``timeout`` is the maximum time of each call in
    seconds [default: unlimited]. ``key`` is the key that the server asks for, as ``crossview key create`` printed it.
    Raises InvalidInputError unless the timeout is positive and the files can be read.

    Connecting is lazy: if no server answers, the first call raises ServerUnavailableError.
    """
    from crossview.server.client.client import Client

    return Client(address, timeout, key, tls=tls)
