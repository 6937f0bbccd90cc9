"""The feedback of a collection on a server, with the methods of ``engine.findings.questions.feedback.Feedback``."""

from collections.abc import Sequence
from typing import Final

from crossview.engine.values.comparisons import Answer
from crossview.engine.values.feedback import FeedbackInfo, Judged, Judgement, weights_of
from crossview.engine.values.item import one_or_several
from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.script import Runner, Script, Stubs, ask, awaited, blocking, pages_of
from crossview.server.wire.convert import to_value
from crossview.server.wire.names import collection_name
from crossview.v1 import questions_pb2 as pb


class FeedbackScript:
    """The scripts of the feedback of a collection; see ``RemoteFeedback`` and ``AsyncFeedback``."""

    resource: str

    def __init__(self, stubs: Stubs, collection: str) -> None:
        self.resource, self._stub = collection_name(collection), stubs.questions

    def judge(self, name: str, likes: Judged = (), unlikes: Judged = (), *, person: str) -> Script[list[Judgement]]:
        """Store a person's judgements under a name, and return all judgements of that name that count."""
        judged = [pb.Judgement(key=key, weight=weight) for key, weight in weights_of(likes, unlikes).items()]
        request = pb.JudgeRequest(parent=self.resource, feedback=name, person=person, judgements=judged)
        return [to_value(Judgement, one) for one in (yield from ask(self._stub.Judge, request)).judgements]

    def get(self, name: str) -> Script[list[Judgement]]:
        """Return the judgements of a name that count."""
        request = pb.ListJudgementsRequest(parent=self.resource, feedback=name)
        return [to_value(Judgement, one) for one in (yield from ask(self._stub.ListJudgements, request)).judgements]

    def undo(self, name: str, person: str) -> Script[Judgement]:
        """Delete and return the last judgement of a person."""
        request = pb.UndoJudgementRequest(parent=self.resource, feedback=name, person=person)
        return to_value(Judgement, (yield from ask(self._stub.UndoJudgement, request)))

    def delete(self, name: str, keys: Sequence[str] = ()) -> Script[int]:
        """Delete the judgements of a name, or only those of some keys; return how many counted."""
        request = pb.DeleteFeedbackRequest(parent=self.resource, feedback=name, keys=one_or_several(keys))
        return int((yield from ask(self._stub.DeleteFeedback, request)).deleted)

    def remember(self, name: str, notion: str, person: str = "") -> Script[list[Answer]]:
        """Store the judgements of a name as answers of their persons in a notion, and return these answers."""
        request = pb.RememberFeedbackRequest(parent=self.resource, feedback=name, notion=notion, person=person)
        return [to_value(Answer, one) for one in (yield from ask(self._stub.RememberFeedback, request)).answers]

    def forget(self, name: str, notion: str = "", person: str = "") -> Script[int]:
        """Delete the answers that ``remember`` stored for a name; return how many."""
        request = pb.ForgetFeedbackRequest(parent=self.resource, feedback=name, notion=notion, person=person)
        return int((yield from ask(self._stub.ForgetFeedback, request)).deleted)

    def list(self) -> Script[list[FeedbackInfo]]:
        """Return the names, each with the number of its judgements that count."""
        found = yield from pages_of(self._stub.ListFeedback, pb.ListFeedbackRequest(parent=self.resource))
        return [to_value(FeedbackInfo, one) for page in found for one in page.feedback]


class RemoteFeedback:
    """Judgements of items in searches of a collection on a server."""

    connection: Runner
    script: FeedbackScript

    def __init__(self, connection: Runner, collection: str) -> None:
        self.connection, self.script = connection, FeedbackScript(connection.stubs, collection)

    judge: Final = blocking(FeedbackScript.judge)
    get: Final = blocking(FeedbackScript.get)
    undo: Final = blocking(FeedbackScript.undo)
    delete: Final = blocking(FeedbackScript.delete)
    remember: Final = blocking(FeedbackScript.remember)
    forget: Final = blocking(FeedbackScript.forget)
    list: Final = blocking(FeedbackScript.list)


class AsyncFeedback:
    """The methods of ``RemoteFeedback``, awaited."""

    connection: AsyncConnection
    script: FeedbackScript

    def __init__(self, connection: AsyncConnection, collection: str) -> None:
        self.connection, self.script = connection, FeedbackScript(connection.stubs, collection)

    judge: Final = awaited(FeedbackScript.judge)
    get: Final = awaited(FeedbackScript.get)
    undo: Final = awaited(FeedbackScript.undo)
    delete: Final = awaited(FeedbackScript.delete)
    remember: Final = awaited(FeedbackScript.remember)
    forget: Final = awaited(FeedbackScript.forget)
    list: Final = awaited(FeedbackScript.list)
