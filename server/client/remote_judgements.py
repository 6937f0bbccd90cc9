"""Questions, answers and judgements about the items of a collection on a server."""

from collections.abc import Sequence

from crossview.engine.findings.questions.collected_answers import ANSWERS_AT_ONCE
from crossview.engine.values.comparisons import Answer, Question, QuestionRequest
from crossview.engine.values.duplicate import PairJudgement
from crossview.engine.values.feedback import FeedbackInfo, Judged, Judgement, weights_of
from crossview.engine.values.item import one_or_several
from crossview.server.client.script import C, CollectionScripts, Script, ask, call, pages_of
from crossview.server.wire import pages
from crossview.server.wire.convert import to_message, to_value
from crossview.v1 import duplicates_pb2
from crossview.v1 import questions_pb2 as pb


class RemoteQuestions(CollectionScripts[C]):
    """Questions to people about the items of a collection on a server; see ``engine.findings.questions.asking``."""

    @call
    def next(self, request: QuestionRequest) -> Script[Question]:
        """Return the next question for a person."""
        message = to_message(pb.NextQuestionRequest, request, parent=self.resource)
        return to_value(Question, (yield from ask(self.stubs.questions.NextQuestion, message)))

    @call
    def answer(self, answer: Answer) -> Script[Answer]:
        """Store an answer, and return it with its id and time."""
        request = pb.AddAnswerRequest(parent=self.resource, answer=to_message(pb.Answer, answer))
        return to_value(Answer, (yield from ask(self.stubs.questions.AddAnswer, request)))

    @call
    def undo(self, notion: str, person: str) -> Script[Answer]:
        """Delete the last answer that a person gave in a notion, and return it."""
        request = pb.UndoAnswerRequest(parent=self.resource, notion=notion, person=person)
        return to_value(Answer, (yield from ask(self.stubs.questions.UndoAnswer, request)))

    @call
    def answers(
        self, notion: str = "", person: str = "", after: int = 0, limit: int = ANSWERS_AT_ONCE
    ) -> Script[list[Answer]]:
        """Return up to ``limit`` answers with ids above ``after``, fewer if the server's pages are shorter."""
        request = pb.ListAnswersRequest(parent=self.resource, notion=notion, person=person, page_size=limit)
        request.page_token = pages.to_token(str(after)) if after else ""
        response = yield from ask(self.stubs.questions.ListAnswers, request)
        return [to_value(Answer, answer) for answer in response.answers]


class RemoteFeedback(CollectionScripts[C]):
    """Judgements of items in searches of a collection on a server; see ``engine.findings.questions.feedback``."""

    @call
    def judge(self, name: str, likes: Judged = (), unlikes: Judged = (), *, person: str) -> Script[list[Judgement]]:
        """Store a person's judgements under a name, and return all judgements of that name that count."""
        judged = [pb.Judgement(key=key, weight=weight) for key, weight in weights_of(likes, unlikes).items()]
        request = pb.JudgeRequest(parent=self.resource, feedback=name, person=person, judgements=judged)
        response = yield from ask(self.stubs.questions.Judge, request)
        return [to_value(Judgement, judgement) for judgement in response.judgements]

    @call
    def get(self, name: str) -> Script[list[Judgement]]:
        """Return the judgements of a name that count."""
        request = pb.ListJudgementsRequest(parent=self.resource, feedback=name)
        response = yield from ask(self.stubs.questions.ListJudgements, request)
        return [to_value(Judgement, judgement) for judgement in response.judgements]

    @call
    def undo(self, name: str, person: str) -> Script[Judgement]:
        """Delete and return the last judgement of a person."""
        request = pb.UndoJudgementRequest(parent=self.resource, feedback=name, person=person)
        return to_value(Judgement, (yield from ask(self.stubs.questions.UndoJudgement, request)))

    @call
    def delete(self, name: str, keys: Sequence[str] = ()) -> Script[int]:
        """Delete the judgements of a name, or only those of some keys; return how many counted."""
        request = pb.DeleteFeedbackRequest(parent=self.resource, feedback=name, keys=one_or_several(keys))
        return int((yield from ask(self.stubs.questions.DeleteFeedback, request)).deleted)

    @call
    def remember(self, name: str, notion: str, person: str = "") -> Script[list[Answer]]:
        """Store the judgements of a name as answers of their persons in a notion, and return these answers."""
        request = pb.RememberFeedbackRequest(parent=self.resource, feedback=name, notion=notion, person=person)
        response = yield from ask(self.stubs.questions.RememberFeedback, request)
        return [to_value(Answer, answer) for answer in response.answers]

    @call
    def forget(self, name: str, notion: str = "", person: str = "") -> Script[int]:
        """Delete the answers that ``remember`` stored for a name; return how many."""
        request = pb.ForgetFeedbackRequest(parent=self.resource, feedback=name, notion=notion, person=person)
        return int((yield from ask(self.stubs.questions.ForgetFeedback, request)).deleted)

    @call
    def list(self) -> Script[list[FeedbackInfo]]:
        """Return the names, each with the number of its judgements that count."""
        responses = yield from pages_of(self.stubs.questions.ListFeedback, pb.ListFeedbackRequest(parent=self.resource))
        return [to_value(FeedbackInfo, info) for page in responses for info in page.feedback]


class RemoteDuplicateJudgements(CollectionScripts[C]):
    """Judgements on pairs of pictures of a collection on a server; see ``engine.findings.duplicates.judging``."""

    @call
    def judge(self, first: str, second: str, same: bool, *, person: str) -> Script[PairJudgement]:
        """Store whether two items are the same photograph, and return the judgement."""
        judgement = duplicates_pb2.PairJudgement(first=first, second=second, same=same, person=person)
        request = duplicates_pb2.JudgePairRequest(parent=self.resource, judgement=judgement)
        return to_value(PairJudgement, (yield from ask(self.stubs.questions.JudgePair, request)))

    @call
    def undo(self, person: str) -> Script[PairJudgement]:
        """Delete and return the last judgement of a person."""
        request = duplicates_pb2.UndoPairJudgementRequest(parent=self.resource, person=person)
        return to_value(PairJudgement, (yield from ask(self.stubs.questions.UndoPairJudgement, request)))

    @call
    def list(self) -> Script[list[PairJudgement]]:
        """Return the judgements that count, the last one of each pair."""
        responses = yield from pages_of(
            self.stubs.questions.ListPairJudgements, duplicates_pb2.ListPairJudgementsRequest(parent=self.resource)
        )
        return [to_value(PairJudgement, judgement) for page in responses for judgement in page.judgements]
