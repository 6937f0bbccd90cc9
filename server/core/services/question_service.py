"""The question service: the next questions to people, their answers, and their judgements in searches."""
# ruff: noqa: N802 - methods have the names of their rpcs

from crossview.engine.values.comparisons import Answer, QuestionRequest
from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.cache import OpenCollections
from crossview.server.wire import pages
from crossview.server.wire.convert import to_message, to_value
from crossview.server.wire.names import parse_collection
from crossview.v1 import duplicates_pb2
from crossview.v1 import questions_pb2 as pb


class QuestionService:
    """The service that asks people about the items of collections."""

    def __init__(self, collections: OpenCollections) -> None:
        self.collections = collections

    def NextQuestion(self, request: pb.NextQuestionRequest, context: None) -> pb.Question:
        """Return the next question for a person."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return to_message(pb.Question, collection.questions.next(to_value(QuestionRequest, request)))

    def AddAnswer(self, request: pb.AddAnswerRequest, context: None) -> pb.Answer:
        """Store an answer."""
        request.answer.ClearField("create_time")  # the server sets it; the value of a client may be invalid
        with self.collections.use(parse_collection(request.parent)) as collection:
            return to_message(pb.Answer, collection.questions.answer(to_value(Answer, request.answer)))

    def UndoAnswer(self, request: pb.UndoAnswerRequest, context: None) -> pb.Answer:
        """Delete a person's last answer in a notion."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return to_message(pb.Answer, collection.questions.undo(request.notion, request.person))

    def ListAnswers(self, request: pb.ListAnswersRequest, context: None) -> pb.ListAnswersResponse:
        """Return a page of answers."""
        size, after = pages.page_size(request.page_size), pages.number_from_token(request.page_token) or 0
        with self.collections.use(parse_collection(request.parent)) as collection:
            answers = collection.questions.answers(request.notion, request.person, after, size + 1)
        page = answers[:size]
        token = pages.to_token(str(page[-1].id)) if len(answers) > size else ""
        return pb.ListAnswersResponse(answers=[to_message(pb.Answer, answer) for answer in page], next_page_token=token)

    def Judge(self, request: pb.JudgeRequest, context: None) -> pb.JudgeResponse:
        """Store a person's judgements of items."""
        likes = {judgement.key: judgement.weight for judgement in request.judgements if not judgement.weight < 0}
        unlikes = {judgement.key: -judgement.weight for judgement in request.judgements if judgement.weight < 0}
        if len(likes) + len(unlikes) < len(request.judgements):
            raise InvalidInputError("a request judges one key twice: judge it once")
        with self.collections.use(parse_collection(request.parent)) as collection:
            judgements = collection.feedback.judge(request.feedback, likes, unlikes, person=request.person)
        return pb.JudgeResponse(judgements=[to_message(pb.Judgement, judgement) for judgement in judgements])

    def ListFeedback(self, request: pb.ListFeedbackRequest, context: None) -> pb.ListFeedbackResponse:
        """Return a page of the names of feedback."""
        size, after = pages.page_size(request.page_size), pages.from_token(request.page_token)
        with self.collections.use(parse_collection(request.parent)) as collection:
            infos = [info for info in collection.feedback.list() if info.name > after]
        page = infos[:size]
        token = pages.to_token(page[-1].name) if len(infos) > size else ""
        return pb.ListFeedbackResponse(feedback=[to_message(pb.Feedback, info) for info in page], next_page_token=token)

    def ListJudgements(self, request: pb.ListJudgementsRequest, context: None) -> pb.ListJudgementsResponse:
        """Return the judgements of feedback that count."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            judgements = collection.feedback.get(request.feedback)
        return pb.ListJudgementsResponse(judgements=[to_message(pb.Judgement, judgement) for judgement in judgements])

    def UndoJudgement(self, request: pb.UndoJudgementRequest, context: None) -> pb.Judgement:
        """Delete a person's last judgement."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return to_message(pb.Judgement, collection.feedback.undo(request.feedback, request.person))

    def DeleteFeedback(self, request: pb.DeleteFeedbackRequest, context: None) -> pb.DeleteFeedbackResponse:
        """Delete the judgements of feedback, or those of some keys."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            deleted = collection.feedback.delete(request.feedback, tuple(request.keys))
        return pb.DeleteFeedbackResponse(deleted=deleted)

    def RememberFeedback(self, request: pb.RememberFeedbackRequest, context: None) -> pb.RememberFeedbackResponse:
        """Store judgements as answers."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            answers = collection.feedback.remember(request.feedback, request.notion, request.person)
        return pb.RememberFeedbackResponse(answers=[to_message(pb.Answer, answer) for answer in answers])

    def ForgetFeedback(self, request: pb.ForgetFeedbackRequest, context: None) -> pb.ForgetFeedbackResponse:
        """Delete the answers made from judgements."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            deleted = collection.feedback.forget(request.feedback, request.notion, request.person)
        return pb.ForgetFeedbackResponse(deleted=deleted)

    def JudgePair(self, request: duplicates_pb2.JudgePairRequest, context: None) -> duplicates_pb2.PairJudgement:
        """Store whether two pictures are the same photograph."""
        pair = request.judgement
        with self.collections.use(parse_collection(request.parent)) as collection:
            judgement = collection.duplicate_judgements.judge(pair.first, pair.second, pair.same, person=pair.person)
        return to_message(duplicates_pb2.PairJudgement, judgement)

    def UndoPairJudgement(
        self, request: duplicates_pb2.UndoPairJudgementRequest, context: None
    ) -> duplicates_pb2.PairJudgement:
        """Delete a person's last judgement of a pair."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return to_message(duplicates_pb2.PairJudgement, collection.duplicate_judgements.undo(request.person))

    def ListPairJudgements(
        self, request: duplicates_pb2.ListPairJudgementsRequest, context: None
    ) -> duplicates_pb2.ListPairJudgementsResponse:
        """Return a page of the judgements of pairs that count."""
        size, after = pages.page_size(request.page_size), pages.number_from_token(request.page_token) or 0
        with self.collections.use(parse_collection(request.parent)) as collection:
            judgements = [judgement for judgement in collection.duplicate_judgements.list() if judgement.id > after]
        page = judgements[:size]
        token = pages.to_token(str(page[-1].id)) if len(judgements) > size else ""
        return duplicates_pb2.ListPairJudgementsResponse(
            judgements=[to_message(duplicates_pb2.PairJudgement, judgement) for judgement in page],
            next_page_token=token,
        )
