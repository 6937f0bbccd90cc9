"""The options by which commands take queries."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from engine.query import Query

ViewOption = Annotated[str, typer.Option(help="The query view.")]
ImageArgument = Annotated[Path | None, typer.Argument(metavar="[IMAGE]", help="The picture to ask with.")]
KeyOption = Annotated[str | None, typer.Option(metavar="KEY", help="Ask with an item of the collection.")]
TextOption = Annotated[
    str | None, typer.Option(metavar="WORDS", help='Ask with words, in a view of texts: --text "red flowers".')
]
VectorOption = Annotated[
    Path | None, typer.Option(metavar="FILE.npy", help="Ask with feature rows of the view: shape (d,) or (n, d).")
]


def to_queries(view: str, image: Path | None, text: str | None, key: str | None, vector: Path | None) -> "list[Query]":
    """The queries of these options, of which exactly one must be given; feature rows are a query each."""
    if sum(given is not None for given in (image, text, key, vector)) != 1:
        raise typer.BadParameter("ask with exactly one of IMAGE, --text WORDS, --key KEY and --vector FILE.npy")
    from engine.query import Query

    if image is not None:
        return [Query(view, image=image.read_bytes())]
    if text is not None:
        return [Query(view, text=text)]
    if key is not None:
        return [Query(view, key=key)]
    return [Query(view, vector=row) for row in _rows(vector)]


def _rows(path: Path | None) -> "Sequence[Sequence[float]]":
    import numpy as np

    from engine.errors import InvalidInputError
    from engine.ingest.vectors import no_array

    try:
        rows = np.load(str(path), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise no_array(Path(str(path)), error) from error
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "fiu":
        raise InvalidInputError(f"{path} must hold one array of numbers: write it with numpy.save")
    if rows.ndim not in (1, 2):
        raise InvalidInputError(f"{path} has shape {rows.shape}; vectors have shape (d,) or (n, d)")
    return list(np.atleast_2d(rows))
