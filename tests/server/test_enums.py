"""Choices on the wire: an enum has a value for each word of the engine, and no other."""

from collections.abc import Iterable
from typing import Any

import pytest

from crossview.engine.values.changes import FORMS
from crossview.engine.values.comparisons import QUESTIONS, QuestionRequest
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import BY, DATABASES, EvaluationRequest
from crossview.engine.values.recipe import MEASURES
from crossview.engine.values.strategy import COMBINE, FUSE
from crossview.server.wire.convert import to_evaluation_request, to_message, to_value
from crossview.server.wire.fields import enum_number, enum_text
from crossview.v1 import changes_pb2, collections_pb2, jobs_pb2, questions_pb2, search_pb2, types_pb2

CHOICES = [
    (changes_pb2.FindChangesRequest, "form", FORMS),
    (collections_pb2.EvaluateRequest, "databases", DATABASES),
    (collections_pb2.EvaluateRequest, "by", BY),
    (search_pb2.SearchRequest, "combine", COMBINE),
    (search_pb2.SearchRequest, "fuse", FUSE),
    (collections_pb2.Tune, "measure", MEASURES),
    (types_pb2.Tuning, "measure", MEASURES),
    (questions_pb2.NextQuestionRequest, "kind", QUESTIONS),
    (jobs_pb2.JobMetadata, "state", ("waiting", "running", "done", "failed", "cancelled")),
]


@pytest.mark.parametrize(("message", "name", "words"), CHOICES, ids=lambda one: getattr(one, "__name__", None))
def test_an_enum_has_the_words_of_the_engine(message: Any, name: str, words: Iterable[str]) -> None:
    field = message.DESCRIPTOR.fields_by_name[name]
    assert [enum_text(field, value.number) for value in field.enum_type.values] == [
        "",
        *sorted(words, key=_order(field)),
    ]
    assert [enum_number(field, word) for word in words] == [
        field.enum_type.values_by_name[_name(field, word)].number for word in words
    ]


def _order(field: Any) -> Any:
    return lambda word: field.enum_type.values_by_name[_name(field, word)].number


def _name(field: Any, word: str) -> str:
    unspecified = field.enum_type.values[0].name
    return f"{unspecified.removesuffix('UNSPECIFIED')}{word.upper()}"


def test_choices_go_there_and_back() -> None:
    """This holds also for several of them, and for none."""
    for request in (
        EvaluationRequest(view="v", databases=("unseen", "mixed"), by="labels"),
        EvaluationRequest(view="v"),
    ):
        assert to_evaluation_request(to_message(collections_pb2.EvaluateRequest, request)) == request
    assert to_value(QuestionRequest, questions_pb2.NextQuestionRequest(notion="n", person="p")).kind == "grid"


def test_a_word_that_is_no_choice_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidInputError, match="kind is one of single, grid, not 'line'"):
        to_message(questions_pb2.NextQuestionRequest, QuestionRequest(notion="n", person="p", kind="line"))


def test_a_value_of_a_later_version_is_refused_by_the_engine() -> None:
    """Its number stands for it, which is not a word."""
    with pytest.raises(InvalidInputError, match="not '9'"):
        to_evaluation_request(collections_pb2.EvaluateRequest(view="v", by=9))
