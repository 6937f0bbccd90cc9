"""The embed command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.commands.common import (
    HomeOption,
    JsonOption,
    NameArgument,
    ServerOption,
    names,
    opened_collection,
    print_json,
    show,
    table,
)
from server.commands.learn import SpaceOption, TargetsOption
from server.commands.query import ImageArgument, KeyOption, TextOption, VectorOption, ViewOption, to_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.query import Embedding

SHOWN = 4
"""Numbers of a vector, and bytes of a code, in a table."""


def embed(
    name: NameArgument,
    view: ViewOption,
    image: ImageArgument = None,
    targets: TargetsOption = None,
    space: SpaceOption = "",
    key: KeyOption = None,
    text: TextOption = None,
    vector: VectorOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npy", help="Write the rows: (n, D) float32 vectors, or uint8 codes, packed."),
    ] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the vectors or codes that a space makes of queries.

    Codes are packed as by numpy.packbits, in hexadecimal digits where they are printed.
    """
    queries = to_queries(view, image, text, key, vector)
    with opened_collection(name, home, server) as collection:
        found = collection.embed(queries, targets=names(targets), space=space)
    if out is not None:
        _write(out, found)
    if as_json:
        print_json({"results": [_described(one) for one in found]})
    else:
        _print(found)
        if out is not None:
            typer.echo(f"wrote {out}")


def _write(path: Path, found: "Sequence[Embedding]") -> None:
    import numpy as np

    told = sorted({one.target for one in found})
    if len(told) > 1:
        raise typer.BadParameter(f"a file holds the rows of one target: choose it with --targets, of {', '.join(told)}")
    with path.open("wb") as file:
        np.save(file, np.stack([one.vector for one in found]))


def _described(one: "Embedding") -> dict[str, Any]:
    """A result as JSON: "code" of "bits" bits, or "vector"."""
    about = {"query": one.query, "target": one.target}
    if one.bits:
        return {**about, "bits": one.bits, "code": one.vector.tobytes().hex()}
    return {**about, "vector": one.vector.tolist()}


def _print(found: "Sequence[Embedding]") -> None:
    rows = table(">query", "target", ">size", "begins")
    for one in found:
        size, first = f"{len(one.vector)} numbers", " ".join(f"{value:.4g}" for value in one.vector[:SHOWN])
        if one.bits:
            size, first = f"{one.bits} bits", one.vector[:SHOWN].tobytes().hex()
        rows.add_row(str(one.query), one.target, size, first + (" ..." if len(one.vector) > SHOWN else ""))
    show(rows)
