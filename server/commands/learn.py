"""Commands about spaces: train, activate, evaluate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.commands.common import (
    HomeOption,
    JsonOption,
    NameArgument,
    ServerOption,
    choices,
    names,
    opened_collection,
    print_json,
    settings,
    tuning,
)
from server.commands.csv_output import CsvOption, check_format
from server.commands.evaluation import print_evaluation, print_evaluation_csv
from server.commands.progress import numbered, progress_bar

if TYPE_CHECKING:
    from engine.comparisons import ItemComparisons
    from engine.info import SpaceInfo
    from engine.recipe import Pair, Tune

TargetsOption = Annotated[
    str | None, typer.Option(metavar="TARGETS", help="What to match against, such as color,sift (else everything).")
]
SpaceOption = Annotated[str, typer.Option(metavar="SPACE", help="The space that answers (else the active one).")]


def train(
    name: NameArgument,
    views: Annotated[str, typer.Option(metavar="VIEWS", help="Views to learn from, such as color,sift.")],
    learner: Annotated[
        str | None,
        typer.Option(
            help="A learner or a pipeline, such as sqrt,cca or multi-npp,itq:32 (else sqrt,kernel:rbf,multi-npp)."
        ),
    ] = None,
    extend: Annotated[
        str | None, typer.Option(metavar="SPACE", help="Add the views to this space; what it has learned stays.")
    ] = None,
    dim: Annotated[int | None, typer.Option(min=1, help="Dimension of the embeddings.")] = None,
    space: Annotated[str | None, typer.Option(metavar="SPACE", help="Name of the space (else the learner's).")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the learner; repeat for more.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Lines of key_a,key_b: items that are similar.")
    ] = None,
    constraints: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="To learn a metric: key_a,key_b,similar or anchor,near,far or near_a,near_b,far_a,far_b.",
        ),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the settings that are not given by cross-validation.")
    ] = False,
    tried: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="KEY=V,V", help="With --tune: values to try, such as kernel=chi2,rbf; repeat."),
    ] = None,
    tune_by: Annotated[
        str | None, typer.Option(metavar="map|accuracy|order", help="With --tune: what is measured (else map).")
    ] = None,
    folds: Annotated[int | None, typer.Option(min=2, help="With --tune: folds (else 3).")] = None,
    rerank: Annotated[
        int | None,
        typer.Option(min=0, metavar="R", help="Of codes: find R for each hit, and order them by their float vectors."),
    ] = None,
    holdout: Annotated[float | None, typer.Option(help="Share of the items kept out, to evaluate on (else 0).")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Draws the holdout and the folds, and starts the learner (else 0).")
    ] = None,
    activate: Annotated[bool, typer.Option(help="Let the new space answer searches.")] = True,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn a space, to search across views.

    A space is a fitted learner with an index for every view; training again makes its next generation. Items may lack
    views. A view that comes later is added by --extend: distances among the others stay as they are.
    """
    given = {"--learner": learner, "--dim": dim, "--set": setting, "--pairs": pairs, "--constraints": constraints}
    _check(extend, given | {"--tune": tune or None, "--rerank": rerank, "--holdout": holdout, "--seed": seed})
    chosen = settings(setting, "--set")
    how: dict[str, Any] = {"dim": dim, "settings": chosen, "holdout": holdout or 0.0, "seed": seed or 0}
    how |= {"pairs": _pairs(pairs), "constraints": _constraints(constraints)}
    how |= {"tune": _tune(tune, tried, tune_by, folds), "rerank": rerank or 0}
    with opened_collection(name, home, server) as collection, progress_bar(not as_json) as progress:
        told: dict[str, Any] = {"activate": activate, "progress": progress}
        if extend is not None:
            made = collection.extend(extend, names(views), name=space, **told)
        else:
            made = collection.train(learner or "", names(views), space=space, **told, **how)
    if as_json:
        print_json(made)
        return
    if server is not None and made.tuning is not None:  # one answer, so the candidates come all at once
        for number, trial in enumerate(made.tuning.tried, 1):
            note = trial.sentence(made.tuning.measure)
            typer.echo(numbered("tuning", number, len(made.tuning.tried), note), err=True)
    _tell(name, made)


def _check(extend: str | None, given: dict[str, Any]) -> None:
    """Refuses, for a space that is extended, whatever it has settled already."""
    settled = [option for option, value in given.items() if value is not None]
    if extend is not None and settled:
        raise typer.BadParameter(f"--extend learns as the space did: leave out {', '.join(settled)}")


def _pairs(path: Path | None) -> "tuple[Pair, ...]":
    if path is None:
        return ()
    from engine.training.supervision import read_pairs

    return read_pairs(path)


def _constraints(path: Path | None) -> "ItemComparisons | None":
    if path is None:
        return None
    from engine.training.comparison_file import read_comparisons

    return read_comparisons(path)


def _tune(wanted: bool, tried: list[str] | None, measure: str | None, folds: int | None) -> "Tune | None":
    if not wanted:
        if tried or measure or folds:
            raise typer.BadParameter("--try, --tune-by and --folds say how to tune: give --tune as well")
        return None
    from engine.recipe import FOLDS, MEASURES, Tune

    if measure is not None and measure not in MEASURES:
        raise typer.BadParameter(f"--tune-by takes {' or '.join(MEASURES)}, not {measure!r}")
    return Tune(choices(tried, "--try"), measure or MEASURES[0], folds or FOLDS)


def _tell(collection: str, made: "SpaceInfo") -> None:
    dims = ", ".join(f"{target} ({made.size(target)})" for target in made.targets)
    kept = f", {made.held_out} held out" if made.held_out else ""
    state = "active" if made.active else f"not active: crossview activate {collection} {made.name}"
    typer.echo(f"trained {made.name} generation {made.generation}: {made.spec} on {made.trained_items} items{kept}")
    if made.tuning is not None:
        typer.echo(tuning(made.tuning))
    if made.constraints is not None:
        typer.echo(made.constraints.sentence())
    for note in made.notes:
        typer.echo(f"warning: {note}", err=True)
    typer.echo(f"targets: {dims}; {'across views' if made.cross_view else 'within each view'}; {state}")


def assign(
    name: NameArgument,
    space: Annotated[str, typer.Argument(metavar="SPACE", help="A space of several metrics, as musl makes them.")],
    label: Annotated[str, typer.Argument(metavar="LABEL", help="A label that it was not trained on.")],
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose the metric for a new label by the items that have it, without training."""
    with opened_collection(name, home, server) as collection:
        made = collection.assign(space, label)
    if as_json:
        print_json(made)
    else:
        typer.echo(f"{label} has a metric in {made.name} generation {made.generation}")


def activate(
    name: NameArgument,
    space: Annotated[str, typer.Argument(metavar="SPACE", help="The space.")],
    generation: Annotated[
        int | None, typer.Option(min=1, help="One of its generations (else the one that answered last).")
    ] = None,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose the space that answers searches."""
    with opened_collection(name, home, server) as collection:
        made = collection.activate(space, generation)
    if as_json:
        print_json(made)
    else:
        typer.echo(f"active: {made.name} generation {made.generation}")


def evaluate(
    name: NameArgument,
    view: Annotated[str, typer.Option(help="The query view.")],
    targets: TargetsOption = None,
    space: Annotated[
        str, typer.Option(metavar="SPACE,...", help="The space, or several side by side (else the active one).")
    ] = "",
    constraints: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Measure agreement with comparisons; no labels are needed."),
    ] = None,
    k: Annotated[
        str, typer.Option("-k", "--k", metavar="K,...", help="Lengths of the hit lists.")
    ] = "5,10,30,50,70,100",
    refit: Annotated[bool, typer.Option("--refit", help="Fit the learner anew on a split of its own.")] = False,
    test_size: Annotated[float, typer.Option(help="With --refit: share of the queries.")] = 0.2,
    seed: Annotated[int, typer.Option(help="With --refit: draws the split.")] = 0,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Measure retrieval on items held out of training, or agreement with comparisons.

    Several spaces are measured on the same queries; raw is the views themselves.
    """
    check_format(as_json, as_csv)
    try:
        lengths = tuple(int(number) for number in names(k))
    except ValueError:
        raise typer.BadParameter(f"-k takes numbers such as 5,10, not {k!r}") from None
    several = names(space) if "," in space else ()
    comparisons = _constraints(constraints)
    with opened_collection(name, home, server) as collection:
        found = collection.evaluate(
            space="" if several else space,
            view=view,
            targets=names(targets),
            k=lengths,
            refit=refit,
            test_size=test_size,
            seed=seed,
            spaces=several,
            constraints=comparisons,
        )
    if as_json:
        print_json(found)
    elif as_csv:
        print_evaluation_csv(found)
    else:
        print_evaluation(found)
