"""Agreement: what people answered in each notion, and where they contradict each other."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crossview.engine.comparisons import Answer


@dataclass(frozen=True, kw_only=True)
class Dispute:
    """A comparison that people answered differently: which of two items is nearer to the anchor."""

    anchor: str
    nearer: Mapping[str, tuple[str, ...]]
    """By each of the two items, those who found it nearer, sorted."""


@dataclass(frozen=True, kw_only=True)
class NotionAnswers:
    """What was answered in one notion."""

    notion: str
    answers: int
    triplets: int
    """Comparisons that the answers stand for."""
    people: Mapping[str, int]
    """Answers by who gave them."""
    compared: int
    """Comparisons that several people made."""
    disputes: tuple[Dispute, ...]
    """Those of them that they answered differently."""

    @property
    def sentence(self) -> str:
        """How far people agree, in words."""
        if not self.compared:
            return f"{self.notion}: no comparison was made by two people yet"
        agreed = self.compared - len(self.disputes)
        return f"{self.notion}: people agree on {agreed} of the {self.compared} comparisons that several of them made"


def by_notion(answers: Iterable[Answer]) -> list[NotionAnswers]:
    """Return what was answered in each notion, in the order of names. Of one person the last answer counts."""
    given: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        given[answer.notion].append(answer)
    return [_summary(notion, given[notion]) for notion in sorted(given)]


def _summary(notion: str, answers: list[Answer]) -> NotionAnswers:
    nearest: dict[tuple[str, frozenset[str]], dict[str, str]] = defaultdict(dict)
    for answer in answers:
        for anchor, near, far in answer.triplets:
            nearest[anchor, frozenset((near, far))][answer.person] = near
    several = {compared: nearer for compared, nearer in nearest.items() if len(nearer) > 1}
    return NotionAnswers(
        notion=notion,
        answers=len(answers),
        triplets=sum(len(answer.triplets) for answer in answers),
        people=dict(sorted(Counter(answer.person for answer in answers).items())),
        compared=len(several),
        disputes=tuple(
            Dispute(anchor=anchor, nearer=_sides(items, nearer))
            for (anchor, items), nearer in several.items()
            if len(set(nearer.values())) > 1
        ),
    )


def _sides(items: frozenset[str], nearer: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {item: tuple(sorted(who for who, near in nearer.items() if near == item)) for item in sorted(items)}
