"""The embed command."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import JsonOption, NameArgument, names, print_json
from crossview.server.commands.connection_options import PICTURES_HERE, PictureConnection
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.output import say, show, table, write_csv
from crossview.server.commands.progress_bar import progress_bar
from crossview.server.commands.query_options import QueryOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossview.engine.runtime.progress import Progress
    from crossview.engine.spaces.item_files import Written
    from crossview.engine.values.conditions.filter import Filter
    from crossview.engine.values.query import Embedding, ItemEmbeddings
    from crossview.server.commands.backend import CollectionBackend

SHOWN = 4
"""Numbers of a vector, and bytes of a code, in a table."""


def embed(
    name: NameArgument,
    query: QueryOptions,
    conditions: FilterOptions,
    every: Annotated[bool, typer.Option("--all", help="Embed every item with the view, in the order of keys.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npy",
            help="Write float32 vectors of shape (n, D), or packed uint8 codes; with --all also to FILE.npz, "
            "FILE.parquet or FILE.csv.",
        ),
    ] = None,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
) -> None:
    """Print the vectors or codes of queries in a space.

    The command packs codes as numpy.packbits does, and prints them in hexadecimal digits. It does not print vectors
    that it writes to a file. With --all or --where, the file also contains the keys; for FILE.npy, they are in
    FILE.keys.txt, one per line. FILE.parquet and FILE.csv also contain the labels.

    Examples:
        crossview embed pets cat.jpg --view color
        crossview embed pets --all --view color --targets sift --out rows.npz
        crossview embed pets --where 'label = cat' --view color --out cats.parquet
    """
    if every or conditions.given():
        if query.given():
            raise typer.BadParameter("--all and --where embed items: leave out IMAGE, --text, --key and --vector")
        if out is None:
            raise typer.BadParameter("--all and --where write a file: give --out FILE.npy, .npz, .parquet or .csv")
        with connection.collection(name) as collection, progress_bar(not as_json) as progress:
            written = _write_all(collection, query, conditions.filter(), out, progress)
        _report(written, as_json)
        return
    if not query.view:
        raise typer.BadParameter("an embedding is that of one view: give --view VIEW")
    if out is not None and out.suffix != ".npy":
        raise typer.BadParameter(f"vectors of queries are written as .npy: end the name of --out {out} in .npy")
    queries = query.queries()
    with connection.collection(name) as collection:
        embeddings = collection.embed(queries, targets=names(query.targets), space=query.space)
    if out is not None:
        _report(_write(out, embeddings), as_json)
    elif as_json:
        print_json([_described(embedding) for embedding in embeddings])
    else:
        _print(embeddings)


def _write_all(
    collection: "CollectionBackend", query: QueryOptions, condition: "Filter", path: Path, progress: "Progress | None"
) -> "Written":
    from crossview.engine.spaces.item_files import every_page, write_vectors

    targets = names(query.targets)
    if len(targets) > 1:
        raise typer.BadParameter(f"a file holds the vectors of one target, not of {', '.join(targets)}")

    def counted() -> "Iterator[ItemEmbeddings]":
        done, total = 0, collection.count(condition)
        for page in every_page(
            collection.items.embed, query.view, space=query.space, target="".join(targets), filter=condition
        ):
            yield page
            done += len(page.keys)
            if progress is not None:
                progress("embedding", done, total)

    return _write_csv(path, counted()) if path.suffix == ".csv" else write_vectors(path, counted())


def _write_csv(path: Path, pages: "Iterator[ItemEmbeddings]") -> "Written":
    """Write keys, labels, and numbers with all their digits or codes in hexadecimal digits, page by page."""
    from itertools import chain

    from crossview.engine.spaces.item_files import Written, replacing

    first, count = next(pages), 0

    def rows() -> "Iterator[Sequence[object]]":
        nonlocal count
        for page in chain([first], pages):
            for key, labels, vector in zip(page.keys, page.labels, page.vectors, strict=True):
                yield key, labels, *([vector.tobytes().hex()] if page.bits else vector.tolist())
            count += len(page.keys)

    width = first.vectors.shape[1]
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, ["key", "labels", *(["code"] if first.bits else map(str, range(width)))], rows())
    return Written(path, count, width, first.bits)


def _report(written: "Written", as_json: bool) -> None:
    """Print the number of vectors written, and the file."""
    if as_json:
        print_json(WrittenEmbeddings(**written._asdict()))
        return
    what = f"codes of {written.bits} bits" if written.bits else f"vectors of {written.width} numbers"
    keys = f", and their keys to {written.keys}" if written.keys else ""
    say(f"wrote {written.rows} {what} to {written.path}{keys}")


def _write(path: Path, embeddings: "Sequence[Embedding]") -> "Written":
    import numpy as np

    from crossview.engine.spaces.item_files import Written

    targets = sorted({embedding.target for embedding in embeddings})
    if len(targets) > 1:
        raise typer.BadParameter(
            f"a file holds the rows of one target: choose it with --targets, of {', '.join(targets)}"
        )
    rows = np.stack([embedding.vector for embedding in embeddings])
    with path.open("wb") as file:
        np.save(file, rows)
    return Written(path, len(rows), rows.shape[1], embeddings[0].bits)


@dataclass(frozen=True)
class WrittenEmbeddings:
    """The file of vectors or codes, their number and form, and the file of their keys."""

    path: Path
    rows: int
    width: int
    bits: int
    keys: Path | None


@dataclass(frozen=True)
class PrintedEmbedding:
    """A vector of a query, or the hexadecimal digits of its code."""

    query: int
    target: str
    bits: int
    code: str | None
    vector: list[float] | None


def _described(embedding: "Embedding") -> PrintedEmbedding:
    codes = embedding.vector.tobytes().hex() if embedding.bits else None
    numbers = None if embedding.bits else embedding.vector.tolist()
    return PrintedEmbedding(embedding.query, embedding.target, embedding.bits, codes, numbers)


def _print(embeddings: "Sequence[Embedding]") -> None:
    rows = table(">query", "target", ">size", "begins")
    for embedding in embeddings:
        size, first = f"{len(embedding.vector)} numbers", " ".join(f"{value:.4g}" for value in embedding.vector[:SHOWN])
        if embedding.bits:
            size, first = f"{embedding.bits} bits", embedding.vector[:SHOWN].tobytes().hex()
        dots = " ..." if len(embedding.vector) > SHOWN else ""
        rows.add_row(str(embedding.query), embedding.target, size, first + dots)
    show(rows)
