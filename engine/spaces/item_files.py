"""All vectors or neighbours of items, page by page, and files of them; a complete file replaces an existing one."""

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from crossview.engine.values.errors import BusyError, InvalidInputError, NotReadyError, lacking
from crossview.engine.values.query import ItemEmbeddings, ItemNeighbors

P = TypeVar("P", ItemEmbeddings, ItemNeighbors)
_Pages = Iterable[ItemEmbeddings]


def every_page(read: Callable[..., P], view: str, *, space: str = "", **options: Any) -> Iterator[P]:
    """Yield all pages that ``items.embed`` or ``items.neighbors`` of a collection reads, with the ``options`` of both.

    Raises BusyError if the space's generation in use changes between two pages.
    """
    first = page = read(view, space=space, **options)
    yield page
    while page.after:
        page = read(view, space=first.space, after=page.after, **options)
        if page.generation != first.generation:
            raise BusyError(
                f"space {first.space!r} changed from generation {first.generation} to {page.generation} during the "
                f"reading of its {'vectors' if isinstance(page, ItemEmbeddings) else 'neighbours'}: start again"
            )
        yield page


class Written(NamedTuple):
    """The content of a written file."""

    path: Path
    rows: int
    width: int
    """Numbers of a vector, or bytes of a code. """
    bits: int
    """Bits of a code; 0 for float vectors."""
    keys: Path | None = None
    """The separate file of keys, one on each line, if the format has one."""


def write_vectors(path: Path, pages: _Pages) -> Written:
    """Write vectors in the format that the ending of the file's name chooses.

    ``.npy`` contains the rows, float32 or uint8 of packed codes; a file ``.keys.txt`` beside it has their keys, one on
    each line. ``.npz`` contains the arrays ``keys``, which stay in memory until the end, and ``vectors``. ``.parquet``
    contains the columns ``key``, ``labels`` (a list) and ``vector`` (a list of fixed size) or, for packed codes,
    ``code`` (bytes of fixed length).

    Raises InvalidInputError for another ending or a key that does not fit on a line, NotReadyError without pyarrow,
    and OSError.
    """
    if path.suffix not in _FORMATS:
        raise InvalidInputError(f"{path} must end in one of {', '.join(_FORMATS)}: the ending chooses the format")
    return _FORMATS[path.suffix](path, pages)


def _write_npy(path: Path, pages: _Pages) -> Written:
    keys_path = path.with_suffix(".keys.txt")
    first, rest = _peeked(pages)
    with (
        replacing(path) as part,
        replacing(keys_path) as keys_part,
        keys_part.open("w", encoding="utf-8", newline="\n") as file,
    ):
        count = _write_rows(part, first, rest, lambda keys: file.writelines(map(key_line, keys)))
    return Written(path=path, rows=count, width=first.vectors.shape[1], bits=first.bits, keys=keys_path)


def _write_rows(path: Path, first: ItemEmbeddings, pages: _Pages, take: Callable[[Sequence[str]], object]) -> int:
    """Write the vectors of pages as an array, page by page, and pass on the keys; return the number of rows."""
    count, width, dtype = 0, first.vectors.shape[1], first.vectors.dtype
    with path.open("wb") as rows:
        _write_header(rows, dtype, 0, width)
        for page in pages:
            take(page.keys)
            rows.write(page.vectors.tobytes())
            count += len(page.keys)
        rows.seek(0)
        _write_header(rows, dtype, count, width)
    return count


def _write_header(file: BinaryIO, dtype: "np.dtype[Any]", count: int, width: int) -> None:
    """Write the header of an array; NumPy pads it, so that the final count can overwrite the provisional one."""
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count, width)}
    np.lib.format.write_array_header_1_0(file, about)


def key_line(key: str) -> str:
    """Return a line of a file of keys; InvalidInputError for a key that does not fit on a line."""
    if "\n" in key or "\r" in key:
        raise InvalidInputError(
            f"key {key!r} contains a line break, and a .keys.txt file has one key on each line: write .npz or .parquet"
        )
    return f"{key}\n"


def _write_npz(path: Path, pages: _Pages) -> Written:
    first, rest = _peeked(pages)
    keys = list[str]()
    rows = path.with_name(f".{path.name}.rows")
    try:
        with replacing(path) as part:
            count = _write_rows(rows, first, rest, keys.extend)
            with zipfile.ZipFile(part, "w") as file:
                file.write(rows, "vectors.npy")
                with file.open("keys.npy", "w", force_zip64=True) as array:
                    np.save(array, np.array(keys, np.str_))
    finally:
        rows.unlink(missing_ok=True)
    return Written(path=path, rows=count, width=first.vectors.shape[1], bits=first.bits)


def _write_parquet(path: Path, pages: _Pages) -> Written:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        what = "write .npy or .npz, because .parquet needs pyarrow"
        raise lacking(NotReadyError, what, "parquet") from error
    first, rest = _peeked(pages)
    count, width = 0, first.vectors.shape[1]
    row = ("code", pa.binary(width)) if first.bits else ("vector", pa.list_(pa.float32(), width))
    schema = pa.schema([("key", pa.string()), ("labels", pa.list_(pa.string())), row])
    with replacing(path) as part, pq.ParquetWriter(part, schema) as file:
        for page in rest:
            numbers = np.ascontiguousarray(page.vectors)
            if first.bits:
                rows = pa.FixedSizeBinaryArray.from_buffers(row[1], len(numbers), [None, pa.py_buffer(numbers)])
            else:
                rows = pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), width)
            labels = page.labels or ((),) * len(page.keys)
            columns = [pa.array(page.keys, pa.string()), pa.array(labels, pa.list_(pa.string())), rows]
            file.write_batch(pa.record_batch(columns, schema=schema))
            count += len(page.keys)
    return Written(path=path, rows=count, width=width, bits=first.bits)


def _peeked(pages: _Pages) -> tuple[ItemEmbeddings, _Pages]:
    """Return the first page, whose width is that of all pages, and an iterator over every page."""
    rest = iter(pages)
    first = next(rest)
    return first, chain([first], rest)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the path of a temporary file, which replaces the file at ``path`` unless the block raises."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


_FORMATS: dict[str, Callable[[Path, _Pages], Written]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".parquet": _write_parquet,
}


class WrittenGraph(NamedTuple):
    """The content of a written graph."""

    path: Path
    keys: Path
    """The file of keys, one on each line."""
    items: int
    edges: int
    exact: bool


def write_graph(path: Path, pages: Iterable[ItemNeighbors]) -> WrittenGraph:
    """Write the distances of nearest items as a sparse matrix, which ``scipy.sparse.load_npz`` reads (CSR, float32).

    Row i has the distances of the nearest items of item i, in the columns of these items. The file ``.keys.txt`` beside
    it has the keys of the items, one on each line, ascending. An item without the query's view has an empty row. The
    distance of equal items is a stored 0. Memory is that of the graph: 8 bytes for each edge, and the keys.

    Raises InvalidInputError for another ending or a key that does not fit on a line, and OSError.
    """
    if path.suffix != ".npz":
        raise InvalidInputError(f"{path} must end in .npz, the format of sparse matrices")
    number: dict[str, int] = {}
    rows, counts, columns, distances, exact = list[int](), list[int](), list[int](), list[float](), True
    for page in pages:
        for key, near, far in zip(page.keys, page.neighbors, page.distances, strict=True):
            rows.append(number.setdefault(key, len(number)))
            counts.append(len(near))
            columns += [number.setdefault(neighbour, len(number)) for neighbour in near]
            distances += far
        exact = exact and page.exact
    keys = sorted(number)
    place = np.empty(len(number), np.int64)
    place[[number[key] for key in keys]] = np.arange(len(keys))
    row = np.repeat(place[rows], counts)
    column = place[np.array(columns, np.int64)]
    order = np.lexsort((column, row))
    pointers = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(keys)))])
    kind = np.int32 if len(row) < 2**31 else np.int64
    keys_path = path.with_suffix(".keys.txt")
    with replacing(path) as part, replacing(keys_path) as keys_part, part.open("wb") as file:
        keys_part.write_text("".join(map(key_line, keys)), "utf-8", newline="\n")
        np.savez_compressed(
            file,
            indices=column[order].astype(kind),
            indptr=pointers.astype(kind),
            format=np.array(b"csr"),
            shape=np.array([len(keys)] * 2),
            data=np.array(distances, np.float32)[order],
        )
    return WrittenGraph(path, keys_path, len(keys), len(row), exact)
