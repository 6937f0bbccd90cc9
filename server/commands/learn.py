"""Commands that make and choose spaces: train, assign, activate."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossview.server.commands.common import (
    JsonOption,
    NameArgument,
    choices,
    names,
    print_json,
    print_result,
    settings,
    tuning,
)
from crossview.server.commands.connection import HERE, ConnectionOptions
from crossview.server.commands.evaluation import (
    GroupByOption,
    TaxonomyOption,
    read_constraints,
    read_grouping,
    read_tree,
)
from crossview.server.commands.hints import completed, hint
from crossview.server.commands.jobs import DetachOption, check_detached, print_detached
from crossview.server.commands.option_groups import flags_given
from crossview.server.commands.progress import progress_bar
from crossview.server.commands.saying import say

if TYPE_CHECKING:
    from crossview.engine.comparisons import ItemComparisons
    from crossview.engine.info import SpaceInfo
    from crossview.engine.ingest.orderings_file import Orderings
    from crossview.engine.recipe import Pair, Recipe, Tune


SPACE_HELP = 'Name of the space [default: the name of the last learner, or "default" without --learner].'
ACTIVATE_HELP = (
    "Make searches use this space, or only store the new generation [default: the generation answers for its space; "
    "searches without --space keep to the space that they use, if there is one]."
)


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    """The options of the learner and its supervision."""

    views: Annotated[
        str, typer.Option(metavar="VIEWS", help="Views to learn from, such as color,sift; color+gist joins two views.")
    ]
    learner: Annotated[
        str | None,
        typer.Option(
            help="Learner or pipeline, such as sqrt,cca or multi-npp,itq:32 [default: a pipeline that suits "
            "the supervision]."
        ),
    ] = None
    dim: Annotated[int | None, typer.Option(min=1, help="Dimension of the embeddings.")] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Setting of the learner; repeat for several.")
    ] = None
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="File of similar items: lines of key_a,key_b.")
    ] = None
    constraints: Annotated[
        list[Path] | None,
        typer.Option(
            "--constraints",
            metavar="FILE.csv",
            help="File of comparisons to learn a metric: key_a,key_b,similar or anchor,near,far or "
            "near_a,near_b,far_a,far_b; a column notion names the sense of each comparison. Repeat for "
            "files of other kinds.",
        ),
    ] = None
    constraint_weights: Annotated[
        list[float] | None,
        typer.Option(
            "--constraint-weight",
            metavar="W",
            min=0,
            help="Weight of the comparisons of a file, multiplied by its column weight, if any [default: 1]: "
            "one for each --constraints, in their order.",
        ),
    ] = None
    orderings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.txt",
            help="File of orderings to learn scores of attributes: lines of attribute: class < class ~ class, "
            "the least first, or of attribute: items: key < key ~ key.",
        ),
    ] = None
    taxonomy: TaxonomyOption = None
    answers: Annotated[bool, typer.Option("--answers", help="Learn from the answers to crossview compare.")] = False
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the settings that you do not give by cross-validation.")
    ] = False
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="KEY=V,V",
            help="With --tune: values to try, such as kernel=chi2,rbf; repeat for several settings.",
        ),
    ] = None
    tune_by: Annotated[
        str | None,
        typer.Option(
            metavar="map|accuracy|order|items",
            help="With --tune: measure to optimise [default: map; items without labels].",
        ),
    ] = None
    folds: Annotated[int | None, typer.Option(min=2, help="With --tune: number of folds [default: 3].")] = None
    rerank: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="R", help="For codes: find R codes for each hit, and re-rank them by their float vectors."
        ),
    ] = None
    holdout: Annotated[
        float | None, typer.Option(help="Share of the items to hold out for evaluation [default: 0].")
    ] = None
    group_by: GroupByOption = None
    seed: Annotated[int | None, typer.Option(help="Seed of the holdout, the folds and the learner [default: 0].")] = (
        None
    )

    def recipe(self) -> "Recipe":
        """The recipe of these options; what is not given stays at the recipe's own default."""
        from crossview.engine.recipe import Recipe

        orderings = self._orderings()
        fields: dict[str, Any] = {
            "spec": self.learner,
            "dim": self.dim,
            "settings": {**settings(self.settings, "--set"), **(orderings.settings() if orderings else {})},
            "pairs": self._pairs(),
            "constraints": self._comparisons(orderings),
            "taxonomy": read_tree(self.taxonomy),
            "answers": self.answers,
            "tune": self._tune(),
            "rerank": self.rerank,
            "holdout": self.holdout,
            "group_by": read_grouping(self.group_by),
            "seed": self.seed,
        }
        return Recipe(views=names(self.views), **{name: value for name, value in fields.items() if value is not None})

    def _pairs(self) -> "tuple[Pair, ...]":
        if self.pairs is None:
            return ()
        from crossview.engine.ingest.comparison_files import read_pairs

        return read_pairs(self.pairs)

    def _comparisons(self, orderings: "Orderings | None") -> "ItemComparisons | None":
        """The comparisons of files of constraints, and those of items in orderings."""
        found = read_constraints(self.constraints, self.constraint_weights)
        if orderings is None or orderings.items is None:
            return found
        return orderings.items if found is None else replace(orderings.items, others=found.sets)

    def _orderings(self) -> "Orderings | None":
        """Return the orderings in the file, for the learner of attributes."""
        if self.orderings is None:
            return None
        if self.learner and self.learner.rpartition(",")[2].strip() != "attributes":
            raise typer.BadParameter(f"--orderings is for the learner attributes, not for {self.learner}")
        from crossview.engine.ingest.orderings_file import read_orderings

        return read_orderings(self.orderings)

    def _tune(self) -> "Tune | None":
        if not self.tune:
            if self.values or self.tune_by or self.folds:
                raise typer.BadParameter("--try, --tune-by and --folds configure the tuning: give --tune as well")
            return None
        from crossview.engine.recipe import FOLDS, MEASURES, Tune

        if self.tune_by is not None and self.tune_by not in MEASURES:
            raise typer.BadParameter(f"--tune-by takes {' or '.join(MEASURES)}, not {self.tune_by!r}")
        return Tune(choices(self.values, "--try"), self.tune_by or "", self.folds or FOLDS)


def train(
    name: NameArgument,
    options: RecipeOptions,
    extend: Annotated[
        str | None,
        typer.Option(
            metavar="SPACE", help="Add the views to this space, without changing its embeddings of other views."
        ),
    ] = None,
    space: Annotated[str | None, typer.Option(metavar="SPACE", help=SPACE_HELP)] = None,
    activate: Annotated[bool | None, typer.Option("--activate/--no-activate", help=ACTIVATE_HELP)] = None,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Learn a space, to search across views.

    A space is a fitted learner with an index for every view. Training it again makes the next generation. Items can
    lack views. To add a later view, use --extend: distances between the other views do not change.
    """
    if extend is not None and (given := flags_given(options)):
        raise typer.BadParameter(f"--extend learns as the space did: leave out {', '.join(given)}")
    check_detached(detach, connection)
    recipe = options.recipe()
    if detach:
        with connection.detached(name) as server:
            if extend is None:
                job = server.train(recipe, space=space, activate=activate)
            else:
                job = server.extend(extend, recipe.views, name=space, activate=activate)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:
        if extend is None:
            made = collection.train(recipe, space=space, activate=activate, progress=progress)
        else:
            made = collection.spaces.extend(extend, recipe.views, name=space, activate=activate, progress=progress)
    if as_json:
        print_json(made)
        return
    _print(name, made)


def _print(collection: str, made: "SpaceInfo") -> None:
    targets = ", ".join(f"{target} ({made.size(target)})" for target in made.targets)
    held_out = f", {made.held_out} held out" if made.held_out else ""
    activate = hint("activate", collection, made.name)
    state = "active" if made.active else f"not active; make searches use it with: {activate}"
    say(f"trained {made.name} generation {made.generation}: {made.spec} on {made.trained_items} items{held_out}")
    if made.tuning is not None:
        say(tuning(made.tuning))
    if made.constraints is not None:
        say(made.constraints.sentence())
    for note in made.notes:
        say(f"warning: {completed(note)}", err=True)
    say(f"targets: {targets}; {'across views' if made.cross_view else 'within each view'}; {state}")


def assign(
    name: NameArgument,
    space: Annotated[str, typer.Argument(metavar="SPACE", help="Space of several metrics, as musl makes them.")],
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Label that the space was not trained on.")],
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Choose the metric for a new label from the items with this label, without training."""
    check_detached(detach, connection)
    if detach:
        with connection.detached(name) as server:
            job = server.assign(space, label)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection:
        made = collection.spaces.assign(space, label)
    print_result(made, f"{label} has a metric in {made.name} generation {made.generation}", as_json)


def activate(
    name: NameArgument,
    space: Annotated[str, typer.Argument(metavar="SPACE", help="Space to activate.")],
    generation: Annotated[
        int | None, typer.Option(min=1, help="Generation of the space [default: the one that answered last].")
    ] = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Choose the space that answers searches."""
    with connection.collection(name) as collection:
        made = collection.spaces.activate(space, generation)
    print_result(made, f"active: {made.name} generation {made.generation}", as_json)
