"""The page of all learners and their settings."""

from collections.abc import Iterator

from crossview.engine.training.guide import learner_guides
from documents.tables import escaped, table


def learners() -> Iterator[str]:
    """Yield the lines of the page: every setting, what it means, its default, and what tuning tries."""
    guides = learner_guides()
    yield "# Learners\n\nEvery learner and setting, as `crossview learners NAME` prints it. Stages serve another one.\n"
    yield from table(
        ("learner", "use"), [(f"[`{guide.name}`](#{guide.name})", escaped(guide.summary)) for guide in guides]
    )
    for guide in guides:
        yield f"## {guide.name}\n\n{escaped(guide.summary)}\n\nNeeds {guide.needs()}. Gives {guide.gives()}.\n"
        yield from (f"{escaped(paragraph)}\n" for paragraph in guide.description)
        rows = [
            (f"`{s.name}`", escaped(s.meaning), escaped(s.values), f"`{s.default}`", ", ".join(map(str, s.tuned)))
            for s in guide.settings
        ]
        yield from table(("setting", "meaning", "values", "default", "tried by `tune`"), rows)
