"""The questions of a collection on a server, with the methods of ``engine.questions.asking.Questions``."""

from crossview.engine.comparisons import Answer, Question, QuestionRequest
from crossview.engine.questions.paging import ANSWERS_AT_ONCE
from crossview.server import pages
from crossview.server.connection import Connection
from crossview.server.convert_questions import from_answer, from_question_request, to_answer, to_question
from crossview.v1 import questions_pb2 as pb


class RemoteQuestions:
    """Questions to people about the items of a collection on a server, by its resource name."""

    def __init__(self, connection: Connection, resource: str) -> None:
        self.connection, self.resource = connection, resource
        self._stub = connection.questions

    def next(self, request: QuestionRequest) -> Question:
        """The next question for a person."""
        return to_question(self.connection.call(self._stub.NextQuestion, from_question_request(self.resource, request)))

    def answer(self, answer: Answer) -> Answer:
        """Stores an answer, and returns it with its id and time."""
        request = pb.AddAnswerRequest(parent=self.resource, answer=from_answer(answer))
        return to_answer(self.connection.call(self._stub.AddAnswer, request))

    def undo(self, notion: str, person: str) -> Answer:
        """Deletes the last answer that a person gave in a notion, and returns it."""
        request = pb.UndoAnswerRequest(parent=self.resource, notion=notion, person=person)
        return to_answer(self.connection.call(self._stub.UndoAnswer, request))

    def answers(self, notion: str = "", person: str = "", after: int = 0, limit: int = ANSWERS_AT_ONCE) -> list[Answer]:
        """Up to ``limit`` answers with ids above ``after``, fewer where the server's pages are shorter."""
        request = pb.ListAnswersRequest(parent=self.resource, notion=notion, person=person, page_size=limit)
        request.page_token = pages.to_token(str(after)) if after else ""
        return [to_answer(one) for one in self.connection.call(self._stub.ListAnswers, request).answers]
