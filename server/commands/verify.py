"""The commands calibrate and verify, which decide whether two items are the same."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.server.commands.common import JsonOption, NameArgument, error_status, fail, print_json, print_result
from crossview.server.commands.connection_options import HERE, PICTURES_HERE, ConnectionOptions, PictureConnection
from crossview.server.commands.evaluation import GroupByOption, read_constraints, read_grouping
from crossview.server.commands.hints import completed
from crossview.server.commands.jobs import DetachOption, check_detached, print_detached
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table
from crossview.server.commands.progress_bar import progress_bar
from crossview.server.commands.query_options import existing_keys, query_of

if TYPE_CHECKING:
    from crossview.engine.values.item import Failure
    from crossview.engine.values.query import Query, Verdict
    from crossview.server.commands.backend import CollectionBackend

COLUMNS = ("a", "b", "same", "distance", "threshold", "probability")
"""The columns of the CSV."""
DIFFERENT = 1
"""The exit status for two different items; 0 means the same, and 2 an error."""
_PAIRS_AT_ONCE = 1_000
_Names = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """The views and the space whose distances are compared."""

    PANEL: ClassVar[str] = "Distance"

    view: Annotated[
        str,
        typer.Option(
            metavar="VIEW",
            help="View of both items; color+gist joins two views [default: the one with the fewest errors].",
        ),
    ] = ""
    targets: Annotated[
        str,
        typer.Option(metavar="TARGET", help="Target of the second item: a view or a notion [default: the view]."),
    ] = ""
    space: Annotated[str, typer.Option(metavar="SPACE", help="Space of the threshold [default: the active one].")] = ""


def calibrate(
    name: NameArgument,
    place: PlaceOptions,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="Fit the learner again without each fold of the items, and calibrate on the pairs of the folds.",
        ),
    ] = False,
    group_by: GroupByOption = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="File of pairs: key_a,key_b,similar [default: pairs of held-out items, the same if they share "
            "a label].",
        ),
    ] = None,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Learn the distance up to which two items are the same.

    crossview stores the threshold with the generation that answers. Pairs that did not set the threshold measure its
    error rate. Without --view, each view gets a threshold, and verify uses the one with the fewest errors. A space
    distinguishes its training items more easily than others: give pairs of other items, or --refit.

    Examples:
        crossview calibrate pets
        crossview calibrate pets --view color --pairs pairs.csv
    """
    check_detached(detach, connection)
    from crossview.engine.values.query import CalibrationRequest

    request = CalibrationRequest(
        view=place.view,
        target=place.targets,
        space=place.space,
        pairs=read_constraints([pairs] if pairs else None),
        refit=refit,
        group_by=read_grouping(group_by),
    )
    if detach:
        with connection.detached(name) as server:
            job = server.spaces.calibrate(request)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection, progress_bar(not as_json and refit) as progress:
        threshold = collection.spaces.calibrate(request, progress=progress)
    print_result(threshold, threshold.sentence(), as_json)


def verify(
    name: NameArgument,
    place: PlaceOptions,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="A B", help="Picture files, or keys of items of the collection.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="File of pairs of items: lines of key_a,key_b.")
    ] = None,
    base_rate: Annotated[
        float, typer.Option(metavar="P", help="Assumed share of such pairs that are the same, for the probability.")
    ] = 0.5,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Decide whether two items are the same.

    They are the same if their distance is at most the threshold that calibrate stored. The probability depends on the
    share of such pairs that are the same (--base-rate). The exit status answers, too: 0 if the two items are the same,
    1 if they are different, and 2 after an error. With --pairs, it is 0 for every answer.

    Examples:
        crossview verify pets photos/cat-1.jpg new.jpg
        crossview verify pets --pairs pairs.csv --view color --csv
    """
    error_status.set(2)
    check_format(as_json, as_csv)
    every_pair = _pairs(inputs or [], pairs)
    with connection.collection(name) as collection:
        verdicts = _verdicts(collection, place, every_pair, base_rate, pictures=pairs is None)
        results = list(zip(every_pair, verdicts, strict=True))
    from crossview.engine.values.errors import few
    from crossview.engine.values.item import Failure

    decided = [(pair, verdict) for pair, verdict in results if not isinstance(verdict, Failure)]
    left_out = [(pair, failure) for pair, failure in results if isinstance(failure, Failure)]
    if not decided and left_out:
        fail(completed(left_out[0][1].reason))
    if as_json:
        lacking = [{"a": pair[0], "b": pair[1], "reason": failure.reason} for pair, failure in left_out]
        print_json({"results": [_named(*result) for result in decided], "left_out": lacking})
    elif as_csv:
        print_csv(COLUMNS, (_cells(*result) for result in decided))
    elif pairs is None:
        say(_sentence(decided[0][1], base_rate))
    else:
        _print(decided, base_rate)
    if left_out:
        reasons = few(dict.fromkeys(completed(failure.reason) for _, failure in left_out), "; ")
        say(f"left out {len(left_out)} of {len(results)} pairs: {reasons}", err=True)
    if pairs is None and not decided[0][1].same:
        raise typer.Exit(DIFFERENT)


def _pairs(inputs: Sequence[str], path: Path | None) -> _Names:
    """Return the two inputs, or the pairs of a file, which may also have a column ``similar``."""
    if (len(inputs) != 2) if path is None else bool(inputs):
        raise typer.BadParameter("give two pictures or items, A and B, or --pairs FILE.csv")
    if path is None:
        return [(inputs[0], inputs[1])]
    from crossview.engine.catalog.ingest.comparison_files import read_comparisons, read_pairs
    from crossview.engine.catalog.ingest.table import Table

    _, header = next(iter(Table(path, "pairs")), (0, [""]))
    if "similar" not in map(str.lower, header):
        return [(pair.first, pair.second) for pair in read_pairs(path)]
    comparisons = read_comparisons(path)
    keys = comparisons.keys
    return [(keys[first], keys[second]) for first, second in comparisons.comparisons.items.tolist()]


def _verdicts(
    collection: "CollectionBackend", place: PlaceOptions, every_pair: _Names, base_rate: float, pictures: bool
) -> Iterator["Verdict | Failure"]:
    """Yield the verdict on each pair, or the reason why it is left out; an input may be a picture file."""
    from crossview.engine.values.query import Query, SameRequest

    second = _view_of(collection, place)
    keys = existing_keys(collection, [text for pair in every_pair for text in pair]) if pictures else set()

    def query(text: str, view: str) -> "Query":
        return query_of(text, view, keys) if pictures else Query(view, key=text)

    for start in range(0, len(every_pair), _PAIRS_AT_ONCE):
        batch = every_pair[start : start + _PAIRS_AT_ONCE]
        queries = [(query(first, place.view), query(last, second)) for first, last in batch]
        request = SameRequest(queries, target=place.targets, space=place.space, base_rate=base_rate)
        yield from collection.same(request)


def _view_of(collection: "CollectionBackend", place: PlaceOptions) -> str:
    """Return the view of the target: for a notion without a view, the view of the query."""
    target_view = place.targets.partition(":")[0]
    view_names = {view.name for view in collection.views()} if target_view else set()
    return target_view if target_view and set(target_view.split("+")) <= view_names else place.view


def _named(pair: tuple[str, str], verdict: "Verdict") -> dict[str, Any]:
    return {"a": pair[0], "b": pair[1], **asdict(verdict)}


def _cells(pair: tuple[str, str], verdict: "Verdict") -> tuple[Any, ...]:
    """Return a line of the CSV: 1 for the same and 0 for different items, as in files of pairs."""
    return tuple(int(value) if isinstance(value, bool) else value for value in _named(pair, verdict).values())


def _sentence(verdict: "Verdict", base_rate: float) -> str:
    relation = "at most" if verdict.same else "above"
    return (
        f"{_word(verdict)}: distance {verdict.distance:.5g}, {relation} the threshold {verdict.threshold:.5g}; "
        f"the same with probability {verdict.probability:.3f}, if {base_rate:.3g} of such pairs are"
    )


def _word(verdict: "Verdict") -> str:
    return "same" if verdict.same else "different"


def _print(results: "Sequence[tuple[tuple[str, str], Verdict]]", base_rate: float) -> None:
    rows = table("a", "b", "", ">distance", ">threshold", ">probability")
    for pair, verdict in results:
        numbers = f"{verdict.distance:.5g}", f"{verdict.threshold:.5g}", f"{verdict.probability:.3f}"
        rows.add_row(*pair, _word(verdict), *numbers)
    show(rows)
    count = sum(verdict.same for _, verdict in results)
    say(f"{count} of {len(results)} pairs are the same; probabilities are those if {base_rate:.3g} of them are")
