"""The question service: the next questions to people, and their answers."""
# ruff: noqa: N802 - methods have the names of their rpcs

from crossview.server.cache import OpenCollections
from crossview.server.wire import pages
from crossview.server.wire.convert_questions import from_answer, from_question, to_answer, to_question_request
from crossview.server.wire.names import parse_collection
from crossview.v1 import questions_pb2 as pb


class QuestionService:
    """The service that asks people about the items of collections."""

    def __init__(self, collections: OpenCollections) -> None:
        self.collections = collections

    def NextQuestion(self, request: pb.NextQuestionRequest, context: None) -> pb.Question:
        """Return the next question for a person."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return from_question(collection.questions.next(to_question_request(request)))

    def AddAnswer(self, request: pb.AddAnswerRequest, context: None) -> pb.Answer:
        """Store an answer."""
        request.answer.ClearField("create_time")  # the server sets it; the value of a client may be invalid
        with self.collections.use(parse_collection(request.parent)) as collection:
            return from_answer(collection.questions.answer(to_answer(request.answer)))

    def UndoAnswer(self, request: pb.UndoAnswerRequest, context: None) -> pb.Answer:
        """Delete a person's last answer in a notion."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return from_answer(collection.questions.undo(request.notion, request.person))

    def ListAnswers(self, request: pb.ListAnswersRequest, context: None) -> pb.ListAnswersResponse:
        """Return a page of answers."""
        size, after = pages.page_size(request.page_size), pages.number_from_token(request.page_token) or 0
        with self.collections.use(parse_collection(request.parent)) as collection:
            found = collection.questions.answers(request.notion, request.person, after, size + 1)
        page = found[:size]
        token = pages.to_token(str(page[-1].id)) if len(found) > size else ""
        return pb.ListAnswersResponse(answers=map(from_answer, page), next_page_token=token)
