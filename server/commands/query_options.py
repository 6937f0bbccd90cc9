"""The options for queries."""

import getpass
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.engine.values.errors import Argument, call

if TYPE_CHECKING:
    from crossview.engine.values.query import Query
    from crossview.server.commands.backend import CollectionBackend

_KEYS_AT_ONCE = 1_000

TargetsOption = Annotated[
    str | None,
    typer.Option(metavar="TARGETS", help="Targets to search: views or notions [default: all]."),
]


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Queries, and the targets to search."""

    PANEL: ClassVar[str] = "Query"

    view: Annotated[
        str,
        typer.Option(metavar="VIEW", help="View of the query, or views, as in color+gist [default: all]."),
    ] = ""
    image: Annotated[Path | None, typer.Argument(metavar="IMAGE", help="Picture to search by.")] = None
    targets: TargetsOption = None
    space: Annotated[str, typer.Option(metavar="SPACE", help="Space to search [default: the active one].")] = ""
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Search by an item of the collection.")] = None
    text: Annotated[str | None, typer.Option(metavar="WORDS", help="Search by words, in a text view.")] = None
    vector: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npy", help="Search by feature rows of the view: shape (d,) or (n, d)."),
    ] = None
    by_label: Annotated[
        str | None,
        typer.Option(
            "--by-label",
            metavar="LABEL",
            help="Search by a class, in a space with scores of attributes.",
        ),
    ] = None

    def given(self) -> bool:
        """Return whether there is any query."""
        return any(value is not None for value in self._inputs())

    def _inputs(self) -> tuple[object, ...]:
        return self.image, self.text, self.key, self.vector, self.by_label

    def queries(self, listing: bool = False) -> "list[Query]":
        """Return the queries of the input: one for each feature row, otherwise one. A ``listing`` needs no input."""
        if listing and not self.given():
            from crossview.engine.values.query import Query

            return [Query(self.view)]
        if sum(value is not None for value in self._inputs()) != 1:
            raise typer.BadParameter(
                "give exactly one of IMAGE, --text WORDS, --key KEY, --vector FILE.npy and --by-label LABEL"
            )
        from crossview.engine.values.query import Query

        if self.vector is not None:
            return [Query(self.view, vector=row) for row in _rows(self.vector)]
        return [Query(self.view, image=self.image, text=self.text, key=self.key, label=self.by_label)]


@dataclass(frozen=True, kw_only=True)
class ExampleOptions(QueryOptions):
    """A query, and further examples and counter-examples of the same question."""

    like: Annotated[
        list[str] | None, typer.Option(metavar="ITEM[=W]", help="Find items like this picture or key, too; repeat.")
    ] = None
    unlike: Annotated[
        list[str] | None, typer.Option(metavar="ITEM[=W]", help="Find items unlike this picture or key; repeat.")
    ] = None
    combine: Annotated[
        str, typer.Option(metavar="WAY", help="Score by examples: learn, mean, best or context [default: learn].")
    ] = ""
    with_examples: Annotated[bool, typer.Option("--with-examples", help="Also find the items of the examples.")] = False
    feedback: Annotated[
        str, typer.Option(metavar="FEEDBACK", help="Keep --like and --unlike under this name, and search by all kept.")
    ] = ""
    person: Annotated[
        str, typer.Option(metavar="PERSON", hidden=True, help="Person who judges [default: the name of this user].")
    ] = ""

    @property
    def named(self) -> list[tuple[str, float]]:
        """The examples and counter-examples with their weights; raises typer.BadParameter for a weight of 0 or less."""
        signed = ((self.like or (), 1.0), (self.unlike or (), -1.0))
        return [_weighted(example, sign) for names, sign in signed for example in names]

    def queries(self, listing: bool = False) -> "list[Query]":
        """Return the queries of the input, which is optional beside examples; without one, feedback has only a view."""
        if self.named and not self.given() and not self.feedback:
            return []
        return super().queries(listing or bool(self.feedback))

    def examples(self, collection: "CollectionBackend") -> "list[Query]":
        """Return the examples, then the counter-examples: items of the collection, or picture files.

        With feedback, store them instead, and return none.
        """
        if self.feedback:
            judge(collection, self.feedback, self.named, self.person)
            return []
        keys = existing_keys(collection, [name for name, _ in self.named])
        return [replace(query_of(name, self.view, keys), weight=weight) for name, weight in self.named]

    def fields(self) -> dict[str, Any]:
        """Return the fields of a request."""
        combine = self.combine or ("learn" if self.named or self.feedback else "")
        if not combine:
            return {}
        return {"combine": combine, "with_examples": self.with_examples, "feedback": self.feedback}


def _weighted(example: str, sign: float) -> tuple[str, float]:
    """Return the name of an example and its weight, negative for a counter-example."""
    name, equals, text = example.rpartition("=")
    try:
        weight = float(text) if equals else 1.0
    except ValueError:  # a key or a path with an equals sign
        return example, sign
    if not equals:
        return example, sign
    if not (math.isfinite(weight) and weight > 0):
        raise typer.BadParameter(f"the weight of {name!r} is a number above 0, not {text}: use --unlike for less")
    return name, sign * weight


def judge(collection: "CollectionBackend", feedback: str, examples: Sequence[tuple[str, float]], person: str) -> None:
    """Store examples and counter-examples, items by key or by the path of their file, under the name of feedback.

    Raises InvalidInputError for a picture that is not an item, which a later search would not have.
    """
    if not examples:
        return
    from crossview.engine.values.errors import InvalidInputError

    keys = existing_keys(collection, [name for name, _ in examples])
    likes, unlikes = dict[str, float](), dict[str, float]()
    for name, weight in examples:
        key = name if name in keys else _key_of_file(collection, name)
        if not key and Path(name).is_file():
            raise InvalidInputError(
                f"{name} is a picture that is not an item, and feedback keeps items: index it first, with: ",
                call("collection.index", [name]),
                ", or leave out ",
                Argument("feedback"),
            )
        of_sign = likes if weight > 0 else unlikes
        if of_sign.setdefault(key or name, abs(weight)) != abs(weight):
            raise InvalidInputError(f"{name} has two weights: give it once")
    collection.feedback.judge(feedback, likes, unlikes, person=person or getpass.getuser())


def _key_of_file(collection: "CollectionBackend", name: str) -> str:
    """Return the key of the only item that was read from a file; "" if there is none, or if there are several."""
    from crossview.engine.values.conditions.filter import field

    if not Path(name).is_file():
        return ""
    items = collection.items(field("path") == str(Path(name).resolve()), limit=2)
    return items[0].key if len(items) == 1 else ""


def existing_keys(collection: "CollectionBackend", inputs: Sequence[str]) -> set[str]:
    """Return the inputs that are keys of items."""
    from crossview.engine.values.conditions.filter import Filter
    from crossview.server.wire.errors import NotServedError

    keys: set[str] = set()
    try:
        for start in range(0, len(inputs), _KEYS_AT_ONCE):
            batch = tuple(inputs[start : start + _KEYS_AT_ONCE])
            keys |= {item.key for item in collection.items(Filter(keys=batch), limit=_KEYS_AT_ONCE)}
    except NotServedError:  # a server without a catalog lists no items
        return {key for key in inputs if _exists(collection, key)}
    return keys


def _exists(collection: "CollectionBackend", key: str) -> bool:
    from crossview.engine.values.errors import NotFoundError

    try:
        collection.items.get(key)
    except NotFoundError:
        return False
    return True


def query_of(text: str, view: str, keys: set[str]) -> "Query":
    """Return the query of an input: the item of this key, if it is one of ``keys``, and otherwise a picture file."""
    from crossview.engine.values.query import Query

    if text not in keys and Path(text).is_file():
        return Query(view, image=Path(text))
    return Query(view, key=text)


def _rows(path: Path) -> "Sequence[Sequence[float]]":
    import numpy as np

    from crossview.engine.catalog.ingest.vectors import loading
    from crossview.engine.values.errors import InvalidInputError
    from crossview.features.files import open_regular

    with loading(path), open_regular(path) as file:
        rows = np.load(file, allow_pickle=False)
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "fiu":
        raise InvalidInputError(f"{path} must contain one array of numbers: write it with numpy.save")
    if rows.ndim not in (1, 2):
        raise InvalidInputError(f"{path} has shape {rows.shape}; vectors have shape (d,) or (n, d)")
    return list(np.atleast_2d(rows))
