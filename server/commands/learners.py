"""The command that describes learners and their settings."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossview.server.commands.common import JsonOption, print_json
from crossview.server.commands.output import show, table

if TYPE_CHECKING:
    from crossview.engine.training.guide import LearnerGuide


def learners(
    learner: Annotated[
        str | None, typer.Argument(metavar="LEARNER", help="Learner or stage to describe, with all its settings.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the learners and stages, or describe one.

    Put stages before or after a learner: train --learner sqrt,kernel:rbf,multi-npp,itq:32.

    Examples:
        crossview learners
        crossview learners multi-npp
    """
    from crossview.engine.training.guide import learner_guide, learner_guides, packages_of_learners

    guide = None if learner is None else learner_guide(learner)
    if as_json:
        print_json(guide or learner_guides())
    elif guide is not None:
        _describe(guide)
    else:
        rows = table("learner", "what it does", "needs", "gives")
        for entry in learner_guides():
            name = f"{entry.name} (stage)" if entry.stage else entry.name
            rows.add_row(name, entry.summary, entry.needs(), entry.gives())
        show(rows, *(f"{name}: a learner of the package {origin}" for name, origin in packages_of_learners().items()))


def _describe(guide: "LearnerGuide") -> None:
    show(f"{guide.name}: {guide.summary}", "", *(part for text in guide.description for part in (text, "")))
    show(f"needs: {guide.needs()}", f"gives: {guide.gives()}")
    if guide.argument is not None:
        show(f"{guide.name}:VALUE sets {guide.argument}")
    if guide.kernels:
        show(f"tune also tries kernel stages before it (setting kernel): {', '.join(guide.kernels)}")
    if not guide.settings:
        show("no settings")
        return
    rows = table(
        "setting",
        "meaning",
        "values",
        "default",
        "tune tries",
        title="Settings (--set KEY=VALUE; write null for None)",
    )
    for setting in guide.settings:
        tried = ", ".join(map(_shown, setting.tuned))
        rows.add_row(setting.name, setting.meaning, setting.values, _shown(setting.default), tried)
    show(rows)


def _shown(value: Any) -> str:
    """Return a value in the form that --set takes."""
    return value if isinstance(value, str) else json.dumps(value)
