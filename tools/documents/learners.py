"""The page of all learners and their settings."""

from collections.abc import Iterator

from crossview.engine.training.guide import learner_guides
from documents.tables import escaped, table


def learners() -> Iterator[str]:
    """Yield the lines of the page: every setting, what it means, its default, and what tuning tries."""
    guides = learner_guides()
    yield "# Learners\n\nEvery learner and setting, as `crossview learners NAME` prints it. Stages serve another one.\n"
    yield from table(("learner", "use"), [(f"[`{one.name}`](#{one.name})", escaped(one.summary)) for one in guides])
    for one in guides:
        yield f"## {one.name}\n\n{escaped(one.summary)}\n\nNeeds {one.needs()}. Gives {one.gives()}.\n"
        yield from (f"{escaped(paragraph)}\n" for paragraph in one.description)
        rows = [
            (f"`{s.name}`", escaped(s.meaning), escaped(s.values), f"`{s.default}`", ", ".join(map(str, s.tuned)))
            for s in one.settings
        ]
        yield from table(("setting", "meaning", "values", "default", "tried by `tune`"), rows)
