"""The questions of a collection on a server, with the methods of ``engine.findings.questions.asking.Questions``."""

from typing import Final

from crossview.engine.findings.questions.collected_answers import ANSWERS_AT_ONCE
from crossview.engine.values.comparisons import Answer, Question, QuestionRequest
from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.script import Runner, Script, Stubs, ask, awaited, blocking
from crossview.server.wire import pages
from crossview.server.wire.convert import to_message, to_value
from crossview.server.wire.names import collection_name
from crossview.v1 import questions_pb2 as pb


class QuestionScript:
    """The scripts of the questions of a collection; see ``RemoteQuestions`` and ``AsyncQuestions``."""

    resource: str

    def __init__(self, stubs: Stubs, collection: str) -> None:
        self.resource, self._stub = collection_name(collection), stubs.questions

    def next(self, request: QuestionRequest) -> Script[Question]:
        """Return the next question for a person."""
        message = to_message(pb.NextQuestionRequest, request, parent=self.resource)
        return to_value(Question, (yield from ask(self._stub.NextQuestion, message)))

    def answer(self, answer: Answer) -> Script[Answer]:
        """Store an answer, and return it with its id and time."""
        request = pb.AddAnswerRequest(parent=self.resource, answer=to_message(pb.Answer, answer))
        return to_value(Answer, (yield from ask(self._stub.AddAnswer, request)))

    def undo(self, notion: str, person: str) -> Script[Answer]:
        """Delete the last answer that a person gave in a notion, and return it."""
        request = pb.UndoAnswerRequest(parent=self.resource, notion=notion, person=person)
        return to_value(Answer, (yield from ask(self._stub.UndoAnswer, request)))

    def answers(
        self, notion: str = "", person: str = "", after: int = 0, limit: int = ANSWERS_AT_ONCE
    ) -> Script[list[Answer]]:
        """Return up to ``limit`` answers with ids above ``after``, fewer if the server's pages are shorter."""
        request = pb.ListAnswersRequest(parent=self.resource, notion=notion, person=person, page_size=limit)
        request.page_token = pages.to_token(str(after)) if after else ""
        return [to_value(Answer, one) for one in (yield from ask(self._stub.ListAnswers, request)).answers]


class RemoteQuestions:
    """Questions to people about the items of a collection on a server."""

    connection: Runner
    script: QuestionScript

    def __init__(self, connection: Runner, collection: str) -> None:
        self.connection, self.script = connection, QuestionScript(connection.stubs, collection)

    next: Final = blocking(QuestionScript.next)
    answer: Final = blocking(QuestionScript.answer)
    undo: Final = blocking(QuestionScript.undo)
    answers: Final = blocking(QuestionScript.answers)


class AsyncQuestions:
    """The methods of ``RemoteQuestions``, awaited."""

    connection: AsyncConnection
    script: QuestionScript

    def __init__(self, connection: AsyncConnection, collection: str) -> None:
        self.connection, self.script = connection, QuestionScript(connection.stubs, collection)

    next: Final = awaited(QuestionScript.next)
    answer: Final = awaited(QuestionScript.answer)
    undo: Final = awaited(QuestionScript.undo)
    answers: Final = awaited(QuestionScript.answers)
