"""The search command."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from crossview.engine.values.strategy import comparison, fused_targets, list_name
from crossview.server.commands.common import JsonOption, NameArgument, print_json, shortened
from crossview.server.commands.connection_options import PICTURES_HERE, PictureConnection
from crossview.server.commands.explain import PARTS, draw, drawable, print_explanations, warn_of_unknown
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table
from crossview.server.commands.query_options import ExampleOptions, existing_keys
from crossview.server.commands.report_options import made_now
from crossview.server.commands.search_options import HitFilter, ScoreOptions, SearchOptions, score_cells

if TYPE_CHECKING:
    from crossview.engine.values.explanation import Explanation
    from crossview.engine.values.feedback import Judgement
    from crossview.engine.values.query import Hit, HitList, SearchRequest
    from crossview.server.commands.backend import CollectionBackend

_HIT = (
    *("key", "distance", "target", "labels", "attributes", "text", "source", "scores"),
    *("match", "probability", "base_rate", "similarity", "targets"),
)
COLUMNS = ("query", "rank", *_HIT)
"""The columns of the CSV: the position of the query, the rank in its list, and the hit."""


def search(
    name: NameArgument,
    query: ExampleOptions,
    options: SearchOptions,
    conditions: HitFilter,
    scores: ScoreOptions,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Find the nearest items, each with its probability to be relevant.

    Examples:
        crossview search pets cat.jpg --view color --targets sift --min-match 0.5
        crossview search pets --text "a cat" --like cat.jpg --unlike photos/dog.jpg --where 'year >= 2021'
    """
    check_format(as_json, as_csv)
    if options.explain and (as_csv or options.every or options.count or options.truth is not None):
        raise typer.BadParameter(
            "--explain goes with no --csv, --class, --all and --count: leave them out; --json prints explanations"
        )
    if options.out is not None:
        from crossview.server.commands.drawing.sheet import check_sheet

        check_sheet(options.out)
    elif options.truth is not None:
        raise typer.BadParameter("--class marks the hits on a contact sheet: give --out FILE as well")
    request = options.request(query, conditions, scores)
    with connection.collection(name) as collection:
        if query.named:
            request = replace(request, queries=[*request.queries, *query.examples(collection)])
        if options.count:
            _print_counts(request, next(collection.search_pages(request, 1)), as_json, as_csv)
            return
        if options.every and as_csv:
            print_csv(COLUMNS, _lines(collection.search_pages(request)))
            return
        results = joined(collection.search_pages(request)) if options.every else collection.search(request)
        judgements = _kept(collection, query.feedback) if query.feedback and not (as_json or as_csv) else []
        explained = _explained(collection, request) if options.explain else []
        if options.out is not None and options.explain:
            draw(options.out, drawable(collection, connection), request, explained, query.image)
        elif options.out is not None:
            from crossview.server.commands.drawing.search_results import strips
            from crossview.server.commands.drawing.sheet import write_sheet

            file = query.image.name if query.image else ""
            rows = strips(collection.items, request.queries, results, options.truth, file)
            warn_of_unknown(write_sheet(options.out, rows, made=made_now(collection=name)))
    if as_json:
        print_json({"results": results, "explanations": explained} if options.explain else results)
    elif as_csv:
        print_csv(COLUMNS, _lines([results]))
    else:
        _print(request, results, scores, judgements, explained)
        if options.out is not None:
            say(f"wrote {options.out}")


def _explained(collection: "CollectionBackend", request: "SearchRequest") -> "list[Explanation]":
    from crossview.engine.values.explanation import ExplainRequest

    return collection.explain(ExplainRequest(request, parts=PARTS))


def _kept(collection: "CollectionBackend", feedback: str) -> "list[Judgement]":
    """Return the judgements of feedback that a search counts: those of existing items."""
    judged = collection.feedback.get(feedback)
    keys = existing_keys(collection, [judgement.key for judgement in judged])
    return [judgement for judgement in judged if judgement.key in keys]


def _say_how(request: "SearchRequest", hit_list: "HitList", judgements: "Sequence[Judgement]") -> None:
    """Print what the table cannot show: that nothing is similar, and how a search merged its targets."""
    hits, least = hit_list.hits, request.min_match
    if combine := request.combine:
        weights = [query.weight for query in request.queries if query.inputs()]
        own, of_feedback = _counted(weights), _counted([judgement.weight for judgement in judgements])
        total = _counted([*weights, *(judgement.weight for judgement in judgements)]) if judgements else own
        name = request.feedback
        parts = f" ({name} keeps {of_feedback})" if weights else f" (kept by {name})"
        say(f"searched by {combine}; {total}{parts if judgements else ''}")
    elif sentence := comparison(hit_list.target, bool(request.fuse)):
        say(sentence)
    most = request.max_distance
    if not hits and most is not None:
        say(f"no hit is within a distance of {most:g}: leave out --max-distance to see how far the nearest are")
    elif not hits and least:
        say(f"nothing similar found; no hit has a match of at least {least:g}")
    elif hit_list.is_doubtful:
        what = "nothing similar found" if request.queries[hit_list.query].text is None else "nothing fits these words"
        match = "" if hits[0].match is None else f", match {hits[0].match:.2f}"
        say(f"{what}; nearest: {hits[0].key}{match}")


def _counted(weights: "Sequence[float]") -> str:
    against = sum(weight < 0 for weight in weights)
    return f"examples: {len(weights) - against}, counter-examples: {against}"


def _lines(pages: "Iterable[Sequence[HitList]]") -> Iterator[tuple[Any, ...]]:
    """Yield the lines of all hits; the rank of a list goes on from page to page."""
    ranks = Counter[tuple[int, str]]()
    for results in pages:
        for hit_list in results:
            for hit in hit_list.hits:
                ranks[hit_list.query, hit_list.target] += 1
                rank = ranks[hit_list.query, hit_list.target]
                yield hit_list.query, rank, *(getattr(hit, name) for name in COLUMNS[2:])


def joined(pages: "Iterable[Sequence[HitList]]") -> "list[HitList]":
    """Return the lists of all pages, each whole."""
    whole: dict[tuple[int, str], tuple[HitList, list[Hit]]] = {}
    for results in pages:
        for hit_list in results:
            whole.setdefault((hit_list.query, hit_list.target), (hit_list, []))[1].extend(hit_list.hits)
    return [replace(hit_list, hits=tuple(hits)) for hit_list, hits in whole.values()]


@dataclass(frozen=True)
class HitCount:
    """The number of items that a search without k would find for a query in a target."""

    query: int
    target: str
    hits: int


def _print_counts(request: "SearchRequest", results: "Sequence[HitList]", as_json: bool, as_csv: bool) -> None:
    counts = [HitCount(hit_list.query, hit_list.target, hit_list.total or 0) for hit_list in results]
    if as_json:
        print_json(counts)
    elif as_csv:
        print_csv(("query", "target", "hits"), [(count.query, count.target, count.hits) for count in counts])
    else:
        for count in counts:
            number = f"query {count.query}, " if len(request.queries) > 1 else ""
            say(f"{number}{list_name(count.target)}: {count.hits:,} hits")


def _print_words(results: "Sequence[HitList]") -> None:
    """Print the words of each query by text that has unknown ones."""
    from crossview.engine.values.errors import few

    by_query = {hits.query: hits.words for hits in results if hits.words is not None and hits.words.unknown}
    for query, words in by_query.items():
        number = f"query {query}: " if len(by_query) > 1 else ""
        say(f"{number}known words: {few(words.known)}; unknown words, which do not count: {few(words.unknown)}")


_FORMS = {"match": ".3f", "similarity": ".4f", "distance": ".5g"}


def _number(value: float | None, name: str) -> str:
    return "" if value is None else format(value, _FORMS[name])


def _print(
    request: "SearchRequest",
    results: "Sequence[HitList]",
    options: ScoreOptions,
    judgements: "Sequence[Judgement]",
    explained: "Sequence[Explanation]" = (),
) -> None:
    _print_words(results)
    for hit_list in results:
        query = request.queries[hit_list.query]
        number = f"query {hit_list.query}: " if len(request.queries) > 1 else ""
        source = "every item" if request.strategy.lists_items else f"{query.view or 'every view'} query"
        fused = fused_targets(hit_list.target)
        title = f"{number}{source} -> {list_name(hit_list.target)}"
        merged = ["target"] if any(hit.target != hit_list.target for hit in hit_list.hits) else []
        merged = ["targets"] if len(fused) > 1 else [] if fused else merged
        texts = ["text"] if any(hit.text for hit in hit_list.hits) else []
        sources = ["source"] if any(hit.source for hit in hit_list.hits) else []
        missing = ["file"] if any(hit.missing for hit in hit_list.hits) else []
        probable = [">probability"] if any(hit.probability is not None for hit in hit_list.hits) else []
        names = options.shown(request.axes, hit_list.hits)
        columns = [*probable, "key", "labels", *(f">{name}" for name in names), *merged, *texts, *sources, *missing]
        # The number that states the order: of a fused list, never the distances, which are of different targets.
        names_of = [name for name in ("match", "similarity") if any(getattr(hit, name) is not None for hit in hit_list)]
        figures = names_of if fused else [*names_of, "distance"]
        _say_how(request, hit_list, judgements)
        rows = table(">rank", *(f">{name}" for name in figures), *columns, title=title)
        for rank, hit in enumerate(hit_list.hits, 1):
            more = (
                [", ".join(hit.targets) or hit.target for _ in merged]
                + [shortened(hit.text) for _ in texts]
                + [hit.source for _ in sources]
            )
            more += ["missing" if hit.missing else "" for _ in missing]
            likely, cells = [f"{hit.probability:.3f}" for _ in probable], score_cells(hit, names)
            first = [str(rank), *(_number(getattr(hit, name), name) for name in figures), *likely]
            rows.add_row(*first, hit.key, ", ".join(hit.labels), *cells, *more)
        show(rows)
        if rates := sorted({hit.base_rate for hit in hit_list.hits if hit.base_rate is not None}):
            shares = " or ".join(f"{rate:.3g}" for rate in rates)
            say(
                f"probability: that a hit and the query are the same, if {shares} of all pairs are; "
                "--base-rate P assumes another share"
            )
        print_explanations([explanation for explanation in explained if explanation.target == hit_list.target])
