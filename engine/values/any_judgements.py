"""The interfaces of what people say of items, shared by a collection on this machine and one on a server."""

from collections.abc import Sequence
from typing import Protocol

from crossview.engine.values.comparisons import Answer, Question, QuestionRequest
from crossview.engine.values.duplicate import PairJudgement
from crossview.engine.values.feedback import FeedbackInfo, Judged, Judgement


class AnyQuestions(Protocol):
    """Questions to people, and their answers; see ``engine.findings.questions.asking.Questions``."""

    def next(self, request: QuestionRequest) -> Question:
        """Return the next question for a person."""
        ...

    def answer(self, answer: Answer) -> Answer:
        """Store an answer, and return it with its id and time."""
        ...

    def undo(self, notion: str, person: str) -> Answer:
        """Delete and return the last answer of a person in a notion."""
        ...

    def answers(self, notion: str = ..., person: str = ..., after: int = ..., limit: int = ...) -> list[Answer]:
        """Return up to ``limit`` answers with ids above ``after``, in the order in which people gave them."""
        ...


class AnyDuplicateJudgements(Protocol):
    """Judgements on pairs of pictures; see ``engine.findings.duplicates.judging.DuplicateJudgements``."""

    def judge(self, first: str, second: str, same: bool, *, person: str) -> PairJudgement:
        """Store whether two items are the same photograph, and return the judgement."""
        ...

    def undo(self, person: str) -> PairJudgement:
        """Delete and return the last judgement of a person."""
        ...

    def list(self) -> list[PairJudgement]:
        """Return the judgements that count, the last one of each pair."""
        ...


class AnyFeedback(Protocol):
    """Judgements of items in searches; see ``engine.findings.questions.feedback.Feedback``."""

    def judge(self, name: str, likes: Judged = ..., unlikes: Judged = ..., *, person: str) -> list[Judgement]:
        """Store a person's judgements under a name, and return all judgements of that name that count."""
        ...

    def get(self, name: str) -> list[Judgement]:
        """Return the judgements of a name that count: the last one of each key."""
        ...

    def undo(self, name: str, person: str) -> Judgement:
        """Delete and return the last judgement of a person; what it replaced counts again."""
        ...

    def delete(self, name: str, keys: Sequence[str] = ...) -> int:
        """Delete the judgements of a name, or only those of some keys; return how many counted."""
        ...

    def remember(self, name: str, notion: str, person: str = ...) -> list[Answer]:
        """Store the judgements of a name as answers of their persons in a notion, and return these answers."""
        ...

    def forget(self, name: str, notion: str = ..., person: str = ...) -> int:
        """Delete the answers that ``remember`` stored for a name; return how many."""
        ...

    def list(self) -> list[FeedbackInfo]:
        """Return the names, each with the number of its judgements that count."""
        ...
