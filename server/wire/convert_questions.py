"""Conversion of questions, answers and judgements to messages and back."""

from dataclasses import replace

from crossview.engine.values.comparisons import GRID, Answer, Question, QuestionRequest
from crossview.engine.values.feedback import FeedbackInfo, Judgement
from crossview.server.wire.convert_info import from_time, to_time
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import questions_pb2 as pb


def to_question_request(message: pb.NextQuestionRequest) -> QuestionRequest:
    """Return the request of a message."""
    request = to_value(QuestionRequest, message)
    return request if request.kind else replace(request, kind=GRID)


def from_question_request(collection: str, request: QuestionRequest) -> pb.NextQuestionRequest:
    """Return the message of a request, for a collection's resource name."""
    return to_message(pb.NextQuestionRequest, request, parent=collection)


def to_question(message: pb.Question) -> Question:
    """Return the question of a message."""
    return to_value(Question, message)


def from_question(question: Question) -> pb.Question:
    """Return the message of a question."""
    return to_message(pb.Question, question)


def to_answer(message: pb.Answer) -> Answer:
    """Return the answer of a message."""
    created = to_time(message.create_time) if message.HasField("create_time") else ""
    return to_value(Answer, message, created=created)


def from_answer(answer: Answer) -> pb.Answer:
    """Return the message of an answer."""
    return to_message(pb.Answer, answer, create_time=from_time(answer.created) if answer.created else None)


def to_judgement(message: pb.Judgement) -> Judgement:
    """Return the judgement of a message."""
    created = to_time(message.create_time) if message.HasField("create_time") else ""
    return to_value(Judgement, message, created=created)


def from_judgement(judgement: Judgement) -> pb.Judgement:
    """Return the message of a judgement."""
    created = from_time(judgement.created) if judgement.created else None
    return to_message(pb.Judgement, judgement, create_time=created)


def to_feedback(message: pb.Feedback) -> FeedbackInfo:
    """Return the description of feedback."""
    return to_value(FeedbackInfo, message)


def from_feedback(feedback: FeedbackInfo) -> pb.Feedback:
    """Return the message of the description of feedback."""
    return to_message(pb.Feedback, feedback)
