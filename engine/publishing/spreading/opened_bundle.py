"""The collection of a bundle, without items: its views compute the rows of pictures."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import image_extractors, inputs_of, views_of
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.bundle import MANIFEST, Bundle, fetch, read_bundle
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.features.base import ImageExtractor

_NAME = "views"


def newest_bundle(storage: ObjectStorage, name: str) -> Bundle:
    """Return the bundle of a published name that was made last; NotFoundError without one."""
    bundles = [
        read_bundle(storage, f"{name}/{folder}")
        for folder in storage.names(name)
        if storage.exists(f"{name}/{folder}/{MANIFEST}")
    ]
    if not bundles:
        raise NotFoundError(f"{storage} has no bundle of {name!r}: publish a collection there under this name")
    return max(bundles, key=lambda bundle: (bundle.created, bundle.generation, bundle.sequence))


@contextmanager
def opened_views(bundles: str, folder: str, views: Sequence[str] = ()) -> Iterator[Collection]:
    """Open, for the block, the collection of the bundle at a path below an address, or one of new views without any.

    Raises the errors of ``read_bundle``, ``fetch`` and ``Home.create``.
    """
    with tempfile.TemporaryDirectory(prefix="crossview-views-") as temporary:
        home = Home(Path(temporary))
        if not bundles:
            with home.create(_NAME, views) as collection:
                yield collection
            return
        storage = ObjectStorage(bundles)
        bundle = read_bundle(storage, folder)
        fetch(bundle, storage, home)
        with home.open(bundle.name) as collection:
            yield collection


def picture_views(collection: Collection) -> dict[str, ImageExtractor]:
    """Return the extractors of the views that are computed from pictures, by view.

    Raises InvalidInputError without one, NotReadyError for one that must be fitted to pictures first.
    """
    with collection.opened.read() as tx:
        for view in views_of(tx, "image"):
            if not view.revision:
                raise NotReadyError(
                    f"view {view.name!r} learns from pictures: index some of them, publish the collection, and name "
                    "its bundle"
                )
        extractors = image_extractors(tx)
    if not extractors:
        raise InvalidInputError(f"no view of {collection.name!r} is computed from pictures")
    return extractors


def fits(collection: Collection) -> Mapping[str, str]:
    """Return for each computed view a hash of what its rows depend on besides their input."""
    with collection.opened.read() as tx:
        return {view.name: _fit(tx, view) for view in tx.views.all() if inputs_of(view)}


def _fit(tx: Transaction, view: ViewRecord) -> str:
    state = tx.views.state(view, view.revision) or b""
    described = repr((view.extractor, sorted(view.params.items()), view.dim)).encode()
    return hashlib.sha256(described + b"\0" + state).hexdigest()[:32]


def restored_views(storage: ObjectStorage, bundle: Bundle, home: Home, name: str) -> Collection:
    """Make a collection of a bundle, its views and its space without items, in a home, with the models of its views.

    Raises AlreadyExistsError (the collection, or another model of the same name), and the errors of ``fetch``.
    """
    with tempfile.TemporaryDirectory(prefix="crossview-views-") as temporary:
        fetched = Home(Path(temporary))
        fetch(bundle, storage, fetched)
        home.models.bring(fetched.models)
        copy = Path(temporary) / "copy.db"
        fetched.backup(bundle.name, copy)
        return home.restore(name, copy)
