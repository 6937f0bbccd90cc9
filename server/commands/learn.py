"""Commands about spaces: train, activate, evaluate."""

from typing import Annotated

import typer

from server.commands.common import (
    HomeOption,
    JsonOption,
    NameArgument,
    ServerOption,
    names,
    opened_collection,
    print_json,
    settings,
    show,
    table,
)

TargetsOption = Annotated[
    str | None, typer.Option(metavar="TARGETS", help="What to match against, such as color,sift (else everything).")
]
SpaceOption = Annotated[str, typer.Option(metavar="SPACE", help="The space that answers (else the active one).")]


def train(
    name: NameArgument,
    learner: Annotated[str, typer.Option(help="A learner or a pipeline, such as multi-npp or sqrt,cca.")],
    views: Annotated[str, typer.Option(metavar="VIEWS", help="Views to learn from, such as color,sift.")],
    dim: Annotated[int | None, typer.Option(min=1, help="Dimension of the embeddings.")] = None,
    space: Annotated[str | None, typer.Option(metavar="SPACE", help="Name of the space (else the learner's).")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the learner; repeat for more.")
    ] = None,
    holdout: Annotated[float, typer.Option(help="Share of the items kept out, to evaluate on.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Draws the holdout and starts the learner.")] = 0,
    activate: Annotated[bool, typer.Option(help="Let the new space answer searches.")] = True,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn a space, to search across views.

    A space is a fitted learner with an index for every view; training again makes its next generation.
    """
    chosen = settings(setting, "--set")
    with opened_collection(name, home, server) as collection:
        made = collection.train(
            learner,
            names(views),
            dim=dim,
            space=space,
            settings=chosen,
            holdout=holdout,
            seed=seed,
            activate=activate,
        )
    if as_json:
        print_json(made)
        return
    dims = ", ".join(f"{target} ({made.dim.get(target, '?')})" for target in made.targets)
    kept = f", {made.held_out} held out" if made.held_out else ""
    state = "active" if made.active else f"not active: crossview activate {name} {made.name}"
    typer.echo(f"trained {made.name} generation {made.generation}: {made.spec} on {made.trained_items} items{kept}")
    typer.echo(f"targets: {dims}; {'across views' if made.cross_view else 'within each view'}; {state}")


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
    space: SpaceOption = "",
    k: Annotated[
        str, typer.Option("-k", "--k", metavar="K,...", help="Lengths of the hit lists.")
    ] = "5,10,30,50,70,100",
    refit: Annotated[bool, typer.Option("--refit", help="Fit the learner anew on a split of its own.")] = False,
    test_size: Annotated[float, typer.Option(help="With --refit: share of the queries.")] = 0.2,
    seed: Annotated[int, typer.Option(help="With --refit: draws the split.")] = 0,
    home: HomeOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure retrieval on items held out of training."""
    try:
        lengths = tuple(int(number) for number in names(k))
    except ValueError:
        raise typer.BadParameter(f"-k takes numbers such as 5,10, not {k!r}") from None
    with opened_collection(name, home, server) as collection:
        found = collection.evaluate(
            space=space,
            view=view,
            targets=names(targets),
            k=lengths,
            refit=refit,
            test_size=test_size,
            seed=seed,
        )
    if as_json:
        print_json(found)
        return
    rows = table("query", "database", "metric", ">k", ">value")
    for row in found.rows:
        rows.add_row(row.query_view, row.database_view, row.metric, str(row.k or ""), f"{row.value:.3f}")
    show(rows)
    typer.echo(f"{found.queries} queries, {found.database} items to find, {found.seconds:.1f} s")
    typer.echo("; ".join(sentence for sentence in (found.protocol, found.codebook) if sentence))
