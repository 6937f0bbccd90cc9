"""Views of a collection: their descriptions, and their extractors at a revision.

The functions import the classes of extractors at use, so that describing a collection does not load OpenCV.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from crossview.engine.catalog import state
from crossview.engine.catalog.catalog import NamedViews, Transaction
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.values.errors import (
    AlreadyExistsError,
    Argument,
    Call,
    InvalidInputError,
    NotFoundError,
    NotInstalledError,
    NotReadyError,
    StorageError,
    Text,
    call,
)
from crossview.engine.values.info import ViewInfo
from crossview.features.base import READING, Extractor, ImageExtractor, Input, TextExtractor
from crossview.features.contract import NAME
from crossview.features.inputs import INPUTS, MODELS

if TYPE_CHECKING:
    from crossview.features.models.extractor import ModelExtractor

_MOST_CHARACTERS = 10_000


class ExtractorKind(NamedTuple):
    """The properties of an extractor that a view states, so that nothing need be imported."""

    inputs: frozenset[Input]
    steps: tuple[str, ...]
    robust: bool
    learns_labels: bool


def view_info(record: ViewRecord) -> ViewInfo:
    """Return the description of a view."""
    fields = {name: value for name, value in vars(record).items() if name not in ("id", "history", "packaged")}
    return ViewInfo(**fields, fitted=record.revision > 0, inputs=tuple(sorted(inputs_of(record))))


def parse_view(spec: str, home: Path) -> tuple[str, Extractor]:
    """Return the name and unfitted extractor of ``[name=]extractor[:param=value...]``, such as ``sift:words=100``.

    Without a name, the view has the name of its extractor; ``clip=vectors:dim=512`` is the view ``clip``, and
    ``clip=onnx:small`` the one by the model ``small``.

    Raises InvalidInputError for an invalid name, and for an unknown extractor or parameter; it lists the known ones.
    """
    from crossview.features.registry import extractor

    if len(spec) > _MOST_CHARACTERS:
        raise InvalidInputError(
            f"the description of a view may have at most {_MOST_CHARACTERS:,} characters, not {len(spec):,}"
        )
    head, *pairs = spec.strip().split(":")
    first, equals, second = head.partition("=")
    if "+" in first:
        raise InvalidInputError(
            f"{first!r} cannot name a view: '+' joins existing views, as in ", Argument("views", [first])
        )
    params, kind = dict[str, Any](), second if equals else first
    for number, pair in enumerate(pairs):
        key, equals, value = pair.partition("=")
        if not equals and number < len(MODELS.get(kind, ())):
            key, equals, value = MODELS[kind][number], "=", pair
        if not equals:
            raise InvalidInputError(f"view {spec!r}: write parameters as name:key=value, not {pair!r}")
        params[key] = value if kind in MODELS else parse_value(value)
    try:
        if kind in MODELS:
            from crossview.engine.catalog.model_views import model_extractor

            unfitted: Extractor = model_extractor(kind, params, home)
        else:
            unfitted = extractor(kind, params)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"view {spec!r}: ", error) from error
    return check_view_name(first), unfitted


def check_view_name(name: str) -> str:
    """Return the name of a view; InvalidInputError for an invalid name."""
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a view: use at most 63 of a-z, 0-9, '-' and '_', starting with a letter"
        )
    return name


def parse_value(text: str) -> Any:
    """Return the JSON value of a text, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # not JSON, or nested too deep
        return text


def add_views(tx: Transaction, specs: Iterable[str]) -> None:
    """Write the views of a new collection."""
    from crossview.features.registry import extractor_names

    views = [parse_view(spec, tx.home) for spec in specs]
    names = [name for name, _ in views]
    if not names:
        raise InvalidInputError(f"a collection needs at least one view: choose from {', '.join(extractor_names())}")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        name, kind = repeated[0], dict(views)[repeated[0]].name
        raise InvalidInputError(f"two views are named {name!r}: give one another name, such as {name}2={kind}")
    for name, extractor in views:
        _add(tx, name, extractor)


def add_view(tx: Transaction, name: str, extractor: Extractor) -> ViewRecord:
    """Add a view, see ``parse_view``, to a collection; the next indexing computes its rows.

    Raises AlreadyExistsError if the name is taken.
    """
    if name in {view.name for view in tx.views.all()}:
        raise AlreadyExistsError(
            f"collection {tx.name()!r} already has a view {name!r}: give another name, such as {name}2={extractor.name}"
        )
    _add(tx, name, extractor)
    tx.next_sequence()
    return find_view(tx, name)


def _add(tx: Transaction, name: str, extractor: Extractor) -> None:
    from crossview.features.registry import package_of, stored_params

    packaged = None
    if package := package_of(extractor.name):
        # A view stays known, and searchable by its rows, when its package is gone.
        stated = ExtractorKind(extractor.inputs, extractor.steps, extractor.robust, extractor.learns_labels)._asdict()
        packaged = {"package": package, **stated, "inputs": sorted(extractor.inputs)}
    new = {"name": name, "extractor": extractor.name, "dim": extractor.dim, "packaged": packaged}
    learned, params = extractor.to_state(), stored_params(extractor)
    tx.views.add(**new, params=params, revision=int(extractor.fitted and not learned))
    if learned:  # the models of a view determine it, and no item
        count = len(next(iter(learned.values())))
        fit = {"fitted": learned, "pictures": count, "keys": [], "seed": 0, "kind": "names of classes"}
        tx.views.add_revision(find_view(tx, name), state.pack(fit))


def find_view(tx: NamedViews, name: str) -> ViewRecord:
    """Return a view by name; NotFoundError lists the existing ones."""
    views = {view.name: view for view in tx.views.all()}
    if name not in views:
        added = name if name in INPUTS else f"{name}=EXTRACTOR"
        raise NotFoundError(
            f"no view {name!r} in collection {tx.name()!r}; there are: {', '.join(views)}; or add it with: ",
            call("collection.views.add", added),
        )
    return views[name]


def inputs_of(view: ViewRecord) -> frozenset[Input]:
    """Return the inputs that a view computes rows from, for queries; empty if another program makes the rows."""
    if view.extractor in INPUTS:
        return INPUTS[view.extractor]
    return frozenset(view.params["inputs"]) if view.extractor in MODELS else kind_of(view).inputs


def kind_of(view: ViewRecord) -> ExtractorKind:
    """Return what a view states of its extractor; that of another package need not be installed."""
    if view.packaged is not None:
        facts = view.packaged
        return ExtractorKind(frozenset(facts["inputs"]), tuple(facts["steps"]), facts["robust"], facts["learns_labels"])
    from crossview.features.registry import EXTRACTORS

    kind = EXTRACTORS[view.extractor]
    return ExtractorKind(kind.inputs, kind.steps, kind.robust, kind.learns_labels)


def item_inputs_of(view: ViewRecord) -> frozenset[Input]:
    """Return the inputs that the rows of items come from: a picture, or the text of an item without one."""
    inputs = view.params.get("rows") if view.extractor in MODELS else None
    return frozenset(inputs) if inputs else inputs_of(view)


def views_of(tx: Transaction, kind: Input) -> tuple[ViewRecord, ...]:
    """Return the views whose rows of items can come from one kind of input."""
    return tuple(view for view in tx.views.all() if kind in item_inputs_of(view))


def check_fitted(tx: NamedViews, view: ViewRecord) -> None:
    """Raise NotReadyError, with the remedy, if a view must be fitted before it has rows."""
    if view.revision > 0:
        return
    name = tx.name()
    pictures = [] if "text" in inputs_of(view) else ["PATH"]
    raise NotReadyError(
        f"view {view.name!r} of collection {name!r} is not fitted: fit it and index items with: ",
        step_for_rows(view),
        "; or fit it only, with: ",
        call("collection.views.fit", pictures),
    )


def unfitted_note(view: ViewRecord, what: str = "pictures") -> str:
    """Return a note for pictures, or texts, that get no row of a view, because it is not fitted."""
    sample, after = (["PATH"], ", then add them again") if what == "pictures" else ([], "")
    return Text(
        f"view {view.name!r} is not fitted, so these {what} have no rows of this view: fit it with: ",
        call("collection.views.fit", sample, views=[view.name]),
        after,
    )


def profile_note(extractors: Mapping[str, ImageExtractor], pictures: int) -> str:
    """Return a note on pictures with colour profiles, if views of an earlier version read them without; "" if not."""
    views = [view for view, extractor in extractors.items() if extractor.reading < READING]
    if not views or not pictures:
        return ""
    return Text(
        f"pictures with a colour profile: {pictures:,}; views of an earlier version read pictures "
        f"without it ({', '.join(views)}): change this with ",
        call("collection.views.fit", ["PATH"], views=views, refit=True),
        ", then index and train again",
    )


def step_for_rows(view: ViewRecord) -> Call:
    """Return the call that gives the items of a collection rows of a view."""
    if "image" in inputs_of(view):
        return call("collection.index", ["PATH"])
    if "text" in inputs_of(view):
        return call("collection.index", ["PATH"], call("IndexOptions", captions="FILE.csv"))
    return call("collection.items.index_vectors", view=view.name, path="FILE.npy", keys="FILE.txt")


def unfitted_extractor(view: ViewRecord) -> Extractor:
    """Return a new, unfitted extractor of a view; NotInstalledError names the package that is gone or fails."""
    from crossview.features.registry import package_of, stored_extractor

    if view.packaged is None:
        return stored_extractor(view.extractor, view.params)
    if not package_of(view.extractor):
        raise NotInstalledError(
            f"view {view.name!r} needs the extractor {view.extractor!r} of the package {view.packaged['package']}, "
            "which is not installed: install it to compute rows"
        )
    try:
        return stored_extractor(view.extractor, view.params)
    except (ValueError, TypeError) as error:
        raise NotInstalledError(f"view {view.name!r} cannot compute rows: ", error) from error


def next_extractor(view: ViewRecord) -> Extractor:
    """Return an unfitted extractor for the next revision of a view, which reads pictures as a new view does."""
    extractor = unfitted_extractor(view)
    if isinstance(extractor, ImageExtractor):
        extractor.reading = READING
    return extractor


def check_usable(tx: Transaction, view: ViewRecord) -> None:
    """Raise NotInstalledError or ModelError if the package or a model of a view is gone, without loading a model."""
    extractor = unfitted_extractor(view)
    if view.extractor in MODELS:
        from crossview.engine.catalog.models import FOLDER

        for towers in cast("ModelExtractor", extractor).of(tx.home / FOLDER).towers:
            towers.find()


def load_extractor(tx: Transaction, view: ViewRecord) -> Extractor:
    """Return a view's extractor at its current revision; NotReadyError if it must be fitted first."""
    check_fitted(tx, view)
    extractor = unfitted_extractor(view)
    if view.extractor in MODELS:
        from crossview.engine.catalog.models import FOLDER

        extractor = cast("ModelExtractor", extractor).of(tx.home / FOLDER)
    packed = tx.views.state(view, view.revision)
    if packed is None and extractor.fitted:
        return extractor
    try:
        return extractor.load_state(state.unpack(packed or b"")["fitted"])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StorageError(
            f"the fitted state of view {view.name!r} is damaged (", error, "): fit it again, or restore the collection"
        ) from error


def image_extractors(tx: Transaction, names: Collection[str] | None = None) -> dict[str, ImageExtractor]:
    """Return the extractors of the views that are computed from pictures; by default of all of these views.

    Raises NotReadyError if a view is not fitted.
    """
    views = [view for view in views_of(tx, "image") if names is None or view.name in names]
    extractors = {view.name: load_extractor(tx, view) for view in views}
    return {name: extractor for name, extractor in extractors.items() if isinstance(extractor, ImageExtractor)}


class TextExtractors(NamedTuple):
    """The extractors of the fitted views that are computed from texts."""

    all: Mapping[str, TextExtractor]
    beside_pictures: Mapping[str, TextExtractor]
    """Those for an item with a picture: in a view of pictures and texts, its row is that of the picture."""

    def of(self, pictured: bool) -> Mapping[str, TextExtractor]:
        """Return the extractors for the text of an item, which has a picture or has none."""
        return self.beside_pictures if pictured else self.all


def text_extractors(tx: Transaction) -> TextExtractors:
    """Return the extractors of the fitted views that are computed from texts."""
    views = [view for view in views_of(tx, "text") if view.revision > 0]
    extractors = {view.name: cast(TextExtractor, load_extractor(tx, view)) for view in views}
    alone = {view.name for view in views if "image" not in item_inputs_of(view)}
    return TextExtractors(extractors, {name: extractor for name, extractor in extractors.items() if name in alone})
