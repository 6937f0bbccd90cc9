"""Bundles: what a space learned, and what its queries need, as a few files that never change.

A bundle is the catalog of a collection without its items: the fitted views, one generation of one space, and its
thresholds; and the models of its views. A program that opens it restores this catalog into a home of its own, with
the checks of a copy that is not trusted. Its digest identifies what it contains, so that the same state is published
once. Its manifest lists every file with a checksum, and has one itself; a bundle has no other file, and no link.
"""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crossview.engine.catalog.connecting import reading
from crossview.engine.catalog.database import HEAD, storage_errors
from crossview.engine.catalog.database_copies import copy_database, finish_copy
from crossview.engine.catalog.description import RAW, no_space
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.models import FOLDER, Models
from crossview.engine.catalog.names import NAME
from crossview.engine.catalog.new_catalog import NewCatalog
from crossview.engine.collections.home import Home
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.suggesting import read_calibrations
from crossview.engine.values.errors import InvalidInputError, ModelError, NotReadyError
from crossview.features.files import open_regular, read_regular
from crossview.features.inputs import models_of
from crossview.features.models.stored import damaged

FORMAT, VERSION = "crossview bundle", 1
MANIFEST, CATALOG, VOTES = "manifest.json", "catalog.db", "votes.json"
_CHECKSUM = "sha256"
"""The checksum of a manifest, of its other fields; bundles of earlier versions lack it."""
_MOST_MANIFEST = 1 << 24
_FILES = f"{FOLDER}/files/"
"""The files of models, whose names are their checksums."""
_UNFINISHED = re.compile(rf"{re.escape(MANIFEST)}\.[0-9a-f]+\.part")
"""A file that a killed publication may leave; nothing reads it."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """The description of a bundle, its manifest."""

    name: str
    """The name under which the collection is published."""
    space: str
    generation: int
    """The generation of the space; 0 for ``raw``."""
    digest: str
    """SHA-256, hexadecimal, of everything that answers depend on."""
    sequence: int
    """The number of the last change of the collection when the bundle was made."""
    crossview: str
    """The version of the program that made it."""
    created: str
    """ISO 8601 in UTC."""
    files: Mapping[str, str]
    """SHA-256 of each file, by its path."""
    format: str = FORMAT
    version: int = VERSION

    @property
    def folder(self) -> str:
        """The path of the bundle below the address of all bundles."""
        return f"{self.name}/{self.digest[:12]}"

    def packed(self) -> bytes:
        """Return the content of the manifest, with a checksum of itself."""
        content = asdict(self)
        return json.dumps({**content, _CHECKSUM: _checksum(content)}, indent=1, ensure_ascii=False).encode()


def make_bundle(source: CollectionFolder, space: str, name: str, folder: Path, votes: Callable[[str], bytes]) -> Bundle:
    """Write the files of a bundle of a space [default: the active one] into an empty folder; return its description.

    ``votes`` returns the calibrated votes of a space, which the digest does not contain: they change with the items.

    Raises InvalidInputError for a name that no collection can have, NotFoundError for an unknown space, NotReadyError
    for ``raw`` without a fitted view, ModelError for a damaged model, StorageError.
    """
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name what is published: use 1 to 63 of a-z, 0-9, '-' and '_', a letter or digit first"
        )
    with closing(source.open_catalog()) as catalog, catalog.read() as tx:
        space = space or tx.active_space() or RAW
        generation = 0 if space == RAW else tx.spaces.in_use().get(space)
        if generation is None:
            raise no_space(tx, space)
        if not any(view.revision for view in tx.views.all()):
            raise NotReadyError(f"no view of collection {source.name!r} is fitted: index items before you publish it")
        sequence = tx.sequence()
        tables = dict(_tables(source.database, space, generation))
    models = _copied_models(source.path.parent, tables, folder)
    _write_catalog(tables, folder, space)
    (folder / VOTES).write_bytes(votes(space))
    content = {table: rows for table, rows in tables.items() if table != "collection"}
    hashed = hashlib.sha256(repr((VERSION, name, space, sorted(models.items()), sorted(content.items()))).encode())
    return Bundle(
        name=name,
        space=space,
        generation=generation,
        digest=hashed.hexdigest(),
        sequence=sequence,
        crossview=version("crossview"),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        files={**models, **{path: _sha256(folder / path) for path in (CATALOG, VOTES)}},
    )


def upload(bundle: Bundle, folder: Path, storage: ObjectStorage) -> bool:
    """Write a bundle below an address, the manifest last; return False if it is there already.

    Raises StorageError.
    """
    if storage.exists(f"{bundle.folder}/{MANIFEST}"):
        return False
    for path in bundle.files:
        storage.upload(f"{bundle.folder}/{path}", folder / path)
    storage.write(f"{bundle.folder}/{MANIFEST}", bundle.packed())
    return True


def read_bundle(storage: ObjectStorage, folder: str) -> Bundle:
    """Return the description of a bundle; NotFoundError, InvalidInputError for a damaged or newer one, StorageError."""
    if odd := storage.odd_files(folder):
        raise _damaged(storage, folder, f"{odd[0]} is a link, or no plain file")
    content = storage.read(f"{folder}/{MANIFEST}")
    try:
        tree = json.loads(content[:_MOST_MANIFEST])
        if tree["format"] != FORMAT:
            raise ValueError("it does not describe a bundle")
        if tree["version"] > VERSION:
            place = f"{storage}/{folder}"
            raise InvalidInputError(f"bundle {place} has a newer format, {tree['version']}: upgrade crossview")
        return _checked(tree, folder)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise _damaged(storage, folder, str(error)) from None


def _checked(tree: dict[str, Any], folder: str) -> Bundle:
    """Return the description of a manifest; ValueError for a damaged one, or that of another folder."""
    checksum, names = tree.pop(_CHECKSUM, None), {field.name for field in fields(Bundle)}
    if checksum is None and tree.keys() - names:  # one of an earlier version has no other fields
        raise ValueError("its manifest lacks the checksum")
    if checksum is not None and checksum != _checksum(tree):
        raise ValueError("its manifest has changed")
    bundle = Bundle(**{name: value for name, value in tree.items() if name in names})
    paths = all(
        _PATH.fullmatch(path) and _HASH.fullmatch(sha256) and (_FILES not in path or path.endswith(sha256))
        for path, sha256 in bundle.files.items()
    )
    if not paths or not {CATALOG, VOTES} <= bundle.files.keys() or not _HASH.fullmatch(bundle.digest):
        raise ValueError("a path or a digest is wrong")
    if bundle.folder != folder:
        raise ValueError(f"it describes {bundle.folder}")
    return bundle


def _damaged(storage: ObjectStorage, folder: str, how: str) -> InvalidInputError:
    return InvalidInputError(
        f"bundle {storage}/{folder} is damaged ({how}): remove it, and publish the collection again"
    )


def fetch(bundle: Bundle, storage: ObjectStorage, home: Home) -> None:
    """Make the collection of a bundle, without items, in an empty home.

    Raises InvalidInputError for files that differ from those that were published, and for others, NotFoundError,
    StorageError.
    """
    there = {path for path in storage.below(bundle.folder).sizes() if not _UNFINISHED.fullmatch(path)}
    if strange := there - {MANIFEST, *bundle.files}:
        raise _damaged(storage, bundle.folder, f"its manifest does not list {min(strange)}")
    if missing := bundle.files.keys() - there:
        raise _damaged(storage, bundle.folder, f"it has no file {min(missing)}")
    with tempfile.TemporaryDirectory(dir=home.path) as folder:
        for path, sha256 in bundle.files.items():
            file = (home.path if path.startswith(FOLDER) or path == VOTES else Path(folder)) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            storage.download(f"{bundle.folder}/{path}", file)
            if _sha256(file) != sha256:
                raise _damaged(storage, bundle.folder, f"{path} has changed")
        try:
            read_calibrations(read_regular(home.path / VOTES))
            for model in home.models.all():
                if not bundle.files.keys() >= {f"{_FILES}{digest}" for digest in model.manifest.files.values()}:
                    raise ValueError(f"it has no file of model {model.name!r}")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise _damaged(storage, bundle.folder, str(error)) from error
        home.restore(bundle.name, Path(folder) / CATALOG).close()


_PATH = re.compile(
    rf"{re.escape(CATALOG)}|{re.escape(VOTES)}|{re.escape(FOLDER)}/(files/[0-9a-f]{{64}}|[a-z0-9][a-z0-9_-]*\.json)"
)
_HASH = re.compile(r"[0-9a-f]{64}")
_WHERE: Mapping[str, str] = {
    "collection": "1",
    "views": "1",
    "view_revisions": "revision = (SELECT revision FROM views WHERE id = view_id)",
    "spaces": "name = :space",
    "generations": "space = :space AND generation = :generation",
    "thresholds": "space = :space AND (generation = :generation OR :generation = 0)",
}
"""The rows of each table that a bundle contains."""
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def _tables(database: Path, space: str, generation: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of each table, by column, sorted."""
    with storage_errors(), closing(reading(database)) as opened:
        opened.execute("BEGIN")
        for table, where in _WHERE.items():
            query = f"SELECT * FROM {table} WHERE {where}"  # noqa: S608 - constants of this module
            cursor = opened.execute(query, {"space": space, "generation": generation})
            columns = [column[0] for column in cursor.description]
            rows = sorted(cursor.fetchall(), key=lambda row: str(row[:4]))
            yield table, [dict(zip(columns, row, strict=True)) for row in rows]


def _write_catalog(tables: Tables, folder: Path, space: str) -> None:
    """Write the catalog without items, as one sealed file."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        new = NewCatalog(Path(temporary), HEAD, lambda how: InvalidInputError(f"the collection is damaged: {how}"))
        with closing(new):
            for table, columns in new.tables.items():
                rows = tables.get(table, ())
                if table == "collection":
                    rows = [{**row, "active_space": "" if space == RAW else space} for row in rows]
                new.bring(table, table, ([row[column] for column in columns] for row in rows))
            finished = new.finish()
        copy_database(finished, folder / CATALOG)
        finish_copy(folder / CATALOG)


def _copied_models(home: Path, tables: Tables, folder: Path) -> dict[str, str]:
    """Copy the models of views below a folder; return the hash of each file by its path."""
    copied, models = {}, Models(home)
    digests = {
        digest
        for view in tables["views"]
        for digest in models_of(view["extractor"], json.loads(view["params"])).values()
    }
    for model in models.all() if digests else ():
        if model.digest in digests:
            files = {f"{_FILES}{sha256}": home / FOLDER / "files" / sha256 for sha256 in model.manifest.files.values()}
            files[f"{FOLDER}/{model.name}.json"] = home / FOLDER / f"{model.name}.json"
            for path, file in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, folder / path)
                copied[path] = _sha256(folder / path)
                if path.startswith(_FILES) and copied[path] != file.name:
                    raise ModelError(damaged(model.name, "one of its files has changed"), detail=file)
    return copied


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _sha256(file: Path) -> str:
    with open_regular(file, follow=False) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
