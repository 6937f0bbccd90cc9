"""The notions of a collection: how many answers people have given, where they agree, and the way to the questions."""

from typing import Any

from crossview.engine.findings.questions.collected_answers import ANSWERS_AT_ONCE, NotionAnswers, by_notion
from crossview.engine.values.comparisons import Answer as PersonsAnswer
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.convert import to_value
from crossview.v1 import collections_pb2
from crossview.v1 import questions_pb2 as pb

_MOST_PAGES = 20
"""Maximum number of pages of answers that are read for the agreement; each has 1,000 answers."""
DISPUTES = 6
KINDS = ("single", "grid")


async def read_answers(visit: Visit, notion: str = "", person: str = "") -> tuple[list[PersonsAnswer], bool]:
    """Return the answers, and whether there are more than the page reads; empty names stand for all."""
    answers: list[PersonsAnswer] = []
    token = ""
    for _ in range(_MOST_PAGES):
        request = pb.ListAnswersRequest(parent=visit.collection, notion=notion, person=person, page_token=token)
        request.page_size = ANSWERS_AT_ONCE
        listed = await visit.call("ListAnswers", request)
        answers += [to_value(PersonsAnswer, answer) for answer in listed.answers]
        token = listed.next_page_token
        if not token:
            break
    return answers, bool(token)


def agreement(answers: NotionAnswers) -> float | None:
    """Return the share of the comparisons of several people on which all of them agree; None without any."""
    return 1 - len(answers.disputes) / answers.compared if answers.compared else None


async def show(visit: Visit) -> Answer:
    """Return the notions with their answers, and the form of a new notion."""
    info: Any = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    answers, partly = await read_answers(visit)
    values = {
        "title": f"Teach {visit.path['collection']}",
        "tab": "teach",
        "lesson": "questions",
        "info": info,
        "notions": by_notion(answers),
        "agreement": agreement,
        "partly": partly,
        "person": visit.query.text("person"),
        "most_disputes": DISPUTES,
    }
    return visit.page("notions.html", **values)


PAGES = (Page("/c/{collection}/teach", show),)
