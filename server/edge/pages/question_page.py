"""One question of a notion: pictures to choose among, with a key for each answer, and the way back."""

from dataclasses import dataclass, replace

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.notions_page import KINDS, read_answers
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.templates import url
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2
from crossview.v1 import questions_pb2 as pb

_KINDS = dict(zip(KINDS, (pb.QUESTION_KIND_SINGLE, pb.QUESTION_KIND_GRID), strict=True))
_MOST_CANDIDATES = 9
NOBODY = "me"
"""The person who answers without a name."""


@dataclass(frozen=True)
class Asked:
    """A question to a person: the notion, the kind of question, and the question itself once it is chosen."""

    notion: str
    person: str
    kind: str
    view: str
    anchor: str = ""
    candidates: tuple[str, ...] = ()

    @classmethod
    def of(cls, fields: Fields) -> "Asked":
        """Return what the fields of an address or of a form name; raise PageError."""
        notion, kind = fields.text("notion"), fields.text("kind")
        if not notion:
            raise PageError(400, "name a notion first, such as color: the sense in which pictures are compared")
        return cls(
            notion,
            fields.text("person") or NOBODY,
            kind if kind in _KINDS else KINDS[0],
            fields.text("view"),
            fields.raw("anchor"),
            fields.texts("candidate")[:_MOST_CANDIDATES],
        )

    @property
    def names(self) -> dict[str, str]:
        """The fields that stay from question to question."""
        return {"notion": self.notion, "person": self.person, "kind": self.kind, "view": self.view}


async def show(visit: Visit) -> Answer:
    """Return the question of the address; without one, the next question."""
    asked = Asked.of(visit.query)
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    again = bool(asked.anchor and asked.candidates)
    error: PageError | None = None
    if not again:
        try:
            asked = await _next(visit, asked)
        except PageError as refused:
            if refused.code is Code.UNAUTHENTICATED:
                raise
            error = refused
    answers, partly = await read_answers(visit, asked.notion)
    values = {
        "title": f"{asked.notion} · {visit.path['collection']}",
        "tab": "teach",
        "lesson": "questions",
        "asked": asked,
        "again": again,
        "error": error,
        "views": [view.name for view in info.views],
        "own": sum(stored.person == asked.person for stored in answers),
        "others": sum(stored.person != asked.person for stored in answers),
        "comparisons": sum(len(stored.triplets) for stored in answers),
        "partly": partly,
    }
    return visit.page("question.html", 200 if error is None else error.status, **values)


async def _next(visit: Visit, asked: Asked) -> Asked:
    request = pb.NextQuestionRequest(parent=visit.collection, notion=asked.notion, person=asked.person)
    request.kind, request.view = _KINDS[asked.kind], asked.view
    question = await visit.call("NextQuestion", request)
    return replace(asked, anchor=question.anchor, candidates=tuple(question.candidates))


async def answer(visit: Visit) -> Answer:
    """Store the answer of a person: the pictures ``near``, or none if the person skips; then the next question."""
    form = await visit.form()
    asked = Asked.of(form)
    chosen = () if form.text("skip") else form.texts("near")
    stored = pb.Answer(notion=asked.notion, anchor=asked.anchor, person=asked.person)
    stored.near.extend(key for key in asked.candidates if key in chosen)
    stored.far.extend(key for key in asked.candidates if key not in chosen)
    await visit.call("AddAnswer", pb.AddAnswerRequest(parent=visit.collection, answer=stored))
    return visit.redirect(f"/c/{visit.path['collection']}/teach/ask", **asked.names)


async def undo(visit: Visit) -> Answer:
    """Delete the last answer of a person in the notion, and ask its question again."""
    asked = Asked.of(await visit.form())
    request = pb.UndoAnswerRequest(parent=visit.collection, notion=asked.notion, person=asked.person)
    undone = await visit.call("UndoAnswer", request)
    candidates = sorted((*undone.near, *undone.far))
    kind = KINDS[len(candidates) > 2]
    query = {**asked.names, "kind": kind, "anchor": undone.anchor}
    path = url(f"/c/{visit.path['collection']}/teach/ask", **query, candidate=candidates)
    return visit.redirect(path)


PAGES = (
    Page("/c/{collection}/teach/ask", show),
    Page("/c/{collection}/teach/ask", answer, "POST"),
    Page("/c/{collection}/teach/undo", undo, "POST"),
)
