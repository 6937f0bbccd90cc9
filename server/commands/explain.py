"""The explain command, and the explanations that search prints and draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from crossview.engine.values.strategy import list_name
from crossview.server.commands.common import JsonOption, NameArgument, names, print_json
from crossview.server.commands.connection_options import PICTURES_HERE, PictureConnection
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.output import say, show, table
from crossview.server.commands.picture_versions import DrawableItems
from crossview.server.commands.query_options import QueryOptions

if TYPE_CHECKING:
    from crossview.engine.values.explanation import Agreement, Contribution, ExplainRequest, Explanation
    from crossview.engine.values.query import SearchRequest
    from crossview.server.commands.backend import CollectionBackend

PARTS = 64
"""Maximum number of parts of a view in a drawing: every bin of colour and every cell of a default GIST."""
_PARTS_SHOWN, _BITS_SHOWN = 3, 8
_UNKNOWN_SHOWN = 20
"""Maximum number of characters in a warning."""
_SUMS = {
    "match": "contributions: shares of the logit of the match; with a minus, they make it smaller",
    "distance": "contributions: shares of the squared distance",
    "score": "contributions: shares of the score that orders the list; with a minus, they make it smaller",
}


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The items to explain, and the drawing."""

    PANEL: ClassVar[str] = "Explanation"

    hit: Annotated[
        list[str] | None,
        typer.Option("--hit", metavar="KEY", help="Explain this item, found or not; repeat for several."),
    ] = None
    hits: Annotated[int, typer.Option("--hits", help="Number of hits of each list to explain, without --hit.")] = 3
    merge: Annotated[
        bool | None,
        typer.Option("--merge/--no-merge", help="Merge the lists of all targets [default: for metrics of one view]."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the agreement over both pictures: .png, .jpg, .jpeg, .webp or .pdf."),
    ] = None

    def request(self, query: QueryOptions, conditions: FilterOptions) -> "ExplainRequest":
        """Return the request of these options."""
        from crossview.engine.values.explanation import ExplainRequest
        from crossview.engine.values.query import SearchRequest

        search = SearchRequest(
            query.queries(),
            targets=names(query.targets),
            k=max(SearchRequest.k, self.hits),
            space=query.space,
            filter=conditions.filter(),
            merge=self.merge,
        )
        return ExplainRequest(search, keys=tuple(self.hit or ()), hits=self.hits, parts=PARTS)


def explain(
    name: NameArgument,
    query: QueryOptions,
    options: ExplainOptions,
    conditions: FilterOptions,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
) -> None:
    """Explain why a search finds an item, or does not.

    For each view of the query and each target, the table shows the rank of the item among all items, its distance, its
    match, and its contribution to the place of the item in the list. It names the colours, visual words, places or
    words that agree most. --out draws them over both pictures.

    Examples:
        crossview explain pets cat.jpg --hit photos/dog.jpg
        crossview explain pets cat.jpg --view color --targets sift --hits 5 --out why.png
    """
    if options.out is not None:
        from crossview.server.commands.drawing.sheet import check_sheet

        check_sheet(options.out)
    request = options.request(query, conditions)
    with connection.collection(name) as collection:
        explanations = collection.explain(request)
        if options.out is not None:
            draw(options.out, drawable(collection, connection), request.search, explanations, query.image)
    if as_json:
        print_json(explanations)
        return
    for target in dict.fromkeys(explanation.target for explanation in explanations):
        print_explanations([explanation for explanation in explanations if explanation.target == target])
    if options.out is not None:
        say(f"wrote {options.out}")


def drawable(collection: "CollectionBackend", connection: PictureConnection) -> DrawableItems:
    """Return the items of a collection for drawing: their files if they are of this machine, otherwise thumbnails."""
    return DrawableItems(collection, frozenset() if connection.server else None)


def draw(
    path: Path, items: DrawableItems, search: "SearchRequest", parts: "Sequence[Explanation]", picture: Path | None
) -> None:
    """Write the drawing of explanations; ``picture`` is the file of the query."""
    from crossview.server.commands.drawing.explanation_sheet import write_explanations

    name = picture.name if picture is not None else ""
    warn_of_unknown(write_explanations(path, items, search.queries[0], parts, name))


def warn_of_unknown(unknown: str) -> None:
    """Print on stderr which characters a sheet shows by their codes, and the remedy."""
    if unknown:
        say(
            f"no font here has {unknown[:_UNKNOWN_SHOWN]}, drawn as codes: install fonts that have them "
            "(Debian: apt install fontconfig fonts-noto-core fonts-noto-cjk)",
            err=True,
        )


def print_explanations(explanations: "Sequence[Explanation]") -> None:
    """Print a table of the explanations of one list: a row for each view and target."""
    if not explanations:
        return
    rows = table(
        *(">hit", "key", "view", "target", ">rank", ">of", ">distance", ">match", ">contribution", "agreement"),
        title=f"explanation of {list_name(explanations[0].target)}",
    )
    for explanation in explanations:
        for number, (part, share) in enumerate(zip(explanation.contributions, explanation.shares(), strict=True)):
            first = (str(explanation.rank or "-"), explanation.key) if number == 0 else ("", "")
            rows.add_row(*first, part.view, part.target, *_numbers(part), _percent(share), _agreeing(explanation, part))
    show(rows)
    say(_SUMS[explanations[0].measure])


def _percent(share: float) -> str:
    return f"{100 * share:+.0f} %" if share else ""


def _numbers(part: "Contribution") -> tuple[str, str, str, str]:
    """Return the cells of a rank, the number of items, a distance and a match."""
    if part.distance is None:
        return "", str(part.items), "", ""
    match = "copy" if part.copy else "" if part.match is None else f"{part.match:.3f}"
    return str(part.rank), str(part.items), f"{part.distance:.5g}", match


def _agreeing(explanation: "Explanation", part: "Contribution") -> str:
    """Return what agrees most between the query and the item in a target, or which bits differ."""
    texts = []
    if part.differing_bits is not None:
        bits = ", ".join(map(str, part.differing_bits[:_BITS_SHOWN]))
        dots = ", ..." if len(part.differing_bits) > _BITS_SHOWN else ""
        texts.append(f"{len(part.differing_bits)} of {part.bits} bits differ" + (f": {bits}{dots}" if bits else ""))
    if part.view == part.target.partition(":")[0]:
        texts += [_parts(each, part.view) for each in explanation.agreements if each.view in part.view.split("+")]
    return "; ".join(texts)


def _parts(agreement: "Agreement", view: str) -> str:
    """Return the share of two rows that agrees, and the parts that agree most."""
    most = [part for part in agreement.parts if part.agreement][:_PARTS_SHOWN]
    parts = ", ".join(f"{part.name} ({100 * part.agreement:.0f} %)" for part in most)
    name = f"{agreement.view} " if agreement.view != view else ""
    return f"{name}{100 * agreement.agreement:.0f} %" + (f": {parts}" if parts else "")
