"""Commands that learn spaces: train and tune."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.engine.values.recipe import MEASURES, Recipe, Tune
from crossview.server.commands.common import JsonOption, NameArgument, choices, names, print_json, settings, tuning
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.evaluation import (
    GroupByOption,
    TaxonomyOption,
    read_constraints,
    read_grouping,
    read_tree,
)
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.hints import completed, hint
from crossview.server.commands.import_report import SHOWN
from crossview.server.commands.jobs import DetachOption, check_detached, print_detached
from crossview.server.commands.option_groups import Flag, OfRequest
from crossview.server.commands.output import say, show, table
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossview.engine.catalog.ingest.orderings_file import Orderings
    from crossview.engine.values.comparisons import ItemComparisons
    from crossview.engine.values.conditions.filter import Filter
    from crossview.engine.values.info import SpaceInfo
    from crossview.engine.values.recipe import Pair


ActivateOption = Annotated[
    bool | None,
    typer.Option(
        "--activate/--no-activate",
        help="Make searches without --space use the new generation, or only store it [default: the generation answers "
        "for its space; searches without --space use the space only if no space was activated before].",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RecipeOptions(OfRequest):
    """The options of the learner and its supervision."""

    PANEL: ClassVar[str] = "Learner and supervision"
    REQUEST: ClassVar[Any] = Recipe
    FLAGS: ClassVar[Mapping[str, Flag | None]] = {
        **dict.fromkeys(("views", "learner")),
        "dim": Flag(least=1),
        **dict.fromkeys(("settings", "pairs", "constraints", "constraint_weights", "orderings", "taxonomy")),
        "ignore_labels": None,
        "answers": Flag(help="Learn from the answers to crossview ask"),
        "rerank": Flag("R", default=None, least=0),
        "holdout": Flag(default="0"),
        **dict.fromkeys(("holdout_where", "holdout_file", "where")),
        "sample": Flag("N", default="the bound of the learner, mostly 10000 or 100000"),
        "group_by": None,
        "seed": Flag(default="0"),
    }
    ELSEWHERE: ClassVar[frozenset[str]] = frozenset({"spec", "held_out", "tune"})

    views: Annotated[
        str | None,
        typer.Option(
            metavar="VIEWS",
            help="Views to learn from, such as color,sift; color+gist joins two views [default: all that items have].",
        ),
    ] = None
    learner: Annotated[
        str | None,
        typer.Option(
            help="Learner or pipeline, such as sqrt,cca or multi-npp,itq:32 [default: a pipeline that suits "
            "the supervision]."
        ),
    ] = None
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
    ignore_labels: Annotated[
        str | None,
        typer.Option(
            "--ignore-labels",
            metavar="LABELS",
            help="Labels that the training does not see, such as 100CANON,2021; items keep them.",
        ),
    ] = None
    holdout_where: Annotated[
        str,
        typer.Option(
            metavar="CONDITION",
            help="Hold out the items that fulfil this condition, as in a predefined split: 'split = test'.",
        ),
    ] = ""
    holdout_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE.txt", help="Hold out the items of a file: one key or path on each line."),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Learn only from items that fulfil this condition, such as 'not label = draft'; repeat to add.",
        ),
    ] = None
    group_by: GroupByOption = None

    def recipe(self, tune: Tune | None = None) -> Recipe:
        """Return the recipe of these options; options that are not given keep the recipe's defaults."""
        from crossview.engine.values.labels import listed_names

        orderings = self._orderings()
        fields: dict[str, Any] = {
            "spec": self.learner,
            "settings": {**settings(self.settings, "--set"), **(orderings.settings() if orderings else {})},
            "pairs": self._pairs(),
            "constraints": self._comparisons(orderings),
            "taxonomy": read_tree(self.taxonomy),
            "ignore_labels": listed_names(self.ignore_labels or ""),
            "tune": tune,
            "held_out": self._held_out(),
            "where": FilterOptions(self.where).filter() if self.where else None,
            "group_by": read_grouping(self.group_by),
        }
        stated = {name: value for name, value in fields.items() if value is not None}
        return Recipe(views=names(self.views), **stated, **self.passed)

    def _held_out(self) -> "Filter | None":
        if not (self.holdout_where or self.holdout_file):
            return None
        from crossview.engine.catalog.ingest.table import read_names
        from crossview.engine.values.conditions.filter import Filter

        return Filter(self.holdout_where, keys=read_names(self.holdout_file) if self.holdout_file else ())

    def _pairs(self) -> "tuple[Pair, ...]":
        if self.pairs is None:
            return ()
        from crossview.engine.catalog.ingest.comparison_files import read_pairs

        return read_pairs(self.pairs)

    def _comparisons(self, orderings: "Orderings | None") -> "ItemComparisons | None":
        """Return the comparisons of files of constraints, and those of items in orderings."""
        comparisons = read_constraints(self.constraints, self.constraint_weights)
        if orderings is None or orderings.items is None:
            return comparisons
        return orderings.items if comparisons is None else replace(orderings.items, others=comparisons.sets)

    def _orderings(self) -> "Orderings | None":
        """Return the orderings in the file, for the learner of attributes."""
        if self.orderings is None:
            return None
        if self.learner and self.learner.rpartition(",")[2].strip() != "attributes":
            raise typer.BadParameter(f"--orderings is for the learner attributes, not for {self.learner}")
        from crossview.engine.catalog.ingest.orderings_file import read_orderings

        return read_orderings(self.orderings)


@dataclass(frozen=True, kw_only=True)
class TuneOptions(OfRequest):
    """The candidates, and the cross-validation that compares them."""

    PANEL: ClassVar[str] = "Tuning"
    REQUEST: ClassVar[Any] = Tune
    FLAGS: ClassVar[Mapping[str, Flag | None]] = {
        **dict.fromkeys(("values", "measure")),
        "folds": Flag(default="3", least=2),
    }
    ELSEWHERE: ClassVar[frozenset[str]] = frozenset()

    values: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="KEY=V,V",
            help="Values to try, such as kernel=chi2,rbf; repeat for several settings [default: the learner's own].",
        ),
    ] = None
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="map|accuracy|order|items", help="Measure to optimise [default: map; items without labels]."
        ),
    ] = None

    def tune(self) -> Tune:
        """Return the tuning of these options; raise typer.BadParameter for an unknown measure."""
        if self.measure is not None and self.measure not in MEASURES:
            raise typer.BadParameter(f"--measure takes {' or '.join(MEASURES)}, not {self.measure!r}")
        return Tune(choices(self.values, "--try"), self.measure or "", **self.passed)


@dataclass(frozen=True, kw_only=True)
class SpaceOptions:
    """The space that a training makes."""

    PANEL: ClassVar[str] = "Space"

    space: Annotated[
        str | None,
        typer.Option(
            metavar="SPACE",
            help="Space to train; without it, a space of another pipeline is not replaced [default: the name of the "
            'last learner, or "default" without --learner].',
        ),
    ] = None
    activate: ActivateOption = None


def train(
    name: NameArgument,
    options: RecipeOptions,
    into: SpaceOptions,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Learn a space, to search across views.

    A space is a fitted learner with an index for every view. Training a space again makes its next generation. Items
    can lack views. To choose settings by cross-validation, use tune; to add a later view, use space extend.

    Examples:
        crossview train pets --holdout 0.4
        crossview train pets --holdout-where 'split = test'
        crossview train pets --sample 20000
        crossview train pets --learner multi-npp,itq:32 --views color,sift --space codes
    """
    _train(name, options.recipe, into, detach, connection, as_json)


def tune(
    name: NameArgument,
    options: RecipeOptions,
    tuning: TuneOptions,
    into: SpaceOptions,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Choose settings by cross-validation, and train with them.

    The command chooses the settings that you do not give with --set, one after another. It keeps the first value within
    one standard error of the best that harms no direction of search.

    Examples:
        crossview tune pets --learner kcca --views color,sift
        crossview tune pets --learner multi-npp --views color,sift --try mu=0.1,1 --folds 5
    """
    _train(name, partial(options.recipe, tuning.tune()), into, detach, connection, as_json)


def _train(
    name: str,
    recipe: "Callable[[], Recipe]",
    into: SpaceOptions,
    detach: bool,
    connection: ConnectionOptions,
    as_json: bool,
) -> None:
    check_detached(detach, connection)
    request = recipe()
    if detach:
        with connection.detached(name) as server:
            job = server.train(request, space=into.space, activate=into.activate)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:
        trained = collection.train(request, space=into.space, activate=into.activate, progress=progress)
    show_trained(name, trained, as_json)


def show_trained(collection: str, space: "SpaceInfo", as_json: bool) -> None:
    """Print the result of a training."""
    if as_json:
        print_json(space)
        return
    targets = ", ".join(f"{target} ({space.size(target)})" for target in space.targets)
    held_out = f", {space.held_out} held out" if space.held_out else ""
    activate = hint("space activate", collection, space.name)
    state = f"searches without --space use {'it' if space.active else space.active_space}"
    if not space.active:
        state += f"; make them use it with: {activate}"
    part = f" of {space.cost.items}" if space.cost is not None and space.cost.sample < space.cost.items else ""
    items = f"{space.trained_items}{part} items{held_out}"
    say(f"trained {space.name} generation {space.generation}: {space.spec} on {items}, from {', '.join(space.views)}")
    if space.tuning is not None:
        say(tuning(space.tuning))
    if space.constraints is not None:
        say(space.constraints.sentence())
    for note in space.notes:
        say(f"warning: {completed(note)}", err=True)
    _show_labels(space)
    say(f"targets: {targets}; {'across views' if space.cross_view else 'within each view'}; {state}")


def _show_labels(space: "SpaceInfo") -> None:
    """Print how well the space recognises its labels, and which of them are perhaps not classes."""
    from crossview.engine.values.labels import advice

    if space.label_test:
        rows = table("label", ">items", ">tested", ">recall", ">by chance", title=f"labels, {space.label_test}")
        for label in space.labels[:SHOWN]:
            shares = ("-" if share is None else f"{share:.2f}" for share in (label.recall, label.chance))
            rows.add_row(label.label, str(label.items), str(label.tested), *shares)
        show(rows)
        if len(space.labels) > SHOWN:
            say(f"and {len(space.labels) - SHOWN} more labels; --json lists them all")
    elif space.labels:
        say("labels: not tested, because no labelled item is outside the training: train with --holdout 0.2")
    if warning := advice(space.labels):
        say(f"warning: {completed(warning)}", err=True)
