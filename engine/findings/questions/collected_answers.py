"""The answers of people: all pages of them, and a summary for each notion with the contradictions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from crossview.engine.values.comparisons import Answer

ANSWERS_AT_ONCE = 1_000


class AnswerPages(Protocol):
    """The stored answers of a collection, local or on a server, page by page."""

    def answers(self, notion: str = "", person: str = "", after: int = 0, limit: int = ANSWERS_AT_ONCE) -> list[Answer]:
        """Return a page of answers."""


def every_answer(questions: AnswerPages, notion: str = "", person: str = "") -> Iterator[Answer]:
    """Yield all answers in the order in which people gave them; ``notion`` and ``person`` restrict them."""
    after = 0
    while page := questions.answers(notion, person, after):
        yield from page
        after = page[-1].id


@dataclass(frozen=True, kw_only=True)
class Dispute:
    """A comparison on which people disagree: which of two items is nearer to the anchor."""

    anchor: str
    nearer: Mapping[str, tuple[str, ...]]
    """The sorted names of the people who chose each of the two items."""


@dataclass(frozen=True, kw_only=True)
class NotionAnswers:
    """The answers in one notion."""

    notion: str
    answers: int
    triplets: int
    """Number of comparisons that the answers stand for."""
    people: Mapping[str, int]
    """Number of answers by person."""
    compared: int
    """Number of comparisons that several people made."""
    disputes: tuple[Dispute, ...]
    """The comparisons on which they disagree."""

    @property
    def sentence(self) -> str:
        """A sentence about the agreement."""
        if not self.compared:
            return f"{self.notion}: two people have not yet made the same comparison"
        agreed = self.compared - len(self.disputes)
        return f"{self.notion}: people agree on {agreed} of the {self.compared} comparisons that several of them made"


def by_notion(answers: Iterable[Answer]) -> list[NotionAnswers]:
    """Return a summary of the answers in each notion, in the order of names. The last answer of a person counts."""
    grouped: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        grouped[answer.notion].append(answer)
    return [_summary(notion, grouped[notion]) for notion in sorted(grouped)]


def _summary(notion: str, answers: list[Answer]) -> NotionAnswers:
    nearest: dict[tuple[str, frozenset[str]], dict[str, str]] = defaultdict(dict)
    for answer in answers:
        for anchor, near, far in answer.triplets:
            nearest[anchor, frozenset((near, far))][answer.person] = near
    repeated = {compared: nearer for compared, nearer in nearest.items() if len(nearer) > 1}
    return NotionAnswers(
        notion=notion,
        answers=len(answers),
        triplets=sum(len(answer.triplets) for answer in answers),
        people=dict(sorted(Counter(answer.person for answer in answers).items())),
        compared=len(repeated),
        disputes=tuple(
            Dispute(anchor=anchor, nearer=_sides(items, nearer))
            for (anchor, items), nearer in repeated.items()
            if len(set(nearer.values())) > 1
        ),
    )


def _sides(items: frozenset[str], nearer: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {item: tuple(sorted(who for who, near in nearer.items() if near == item)) for item in sorted(items)}
