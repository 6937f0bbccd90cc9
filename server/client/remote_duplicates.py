"""The judgements on pairs of pictures of a collection on a server; see ``engine.findings.duplicates.judging``."""

from typing import Final

from crossview.engine.values.duplicate import PairJudgement
from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.script import Runner, Script, Stubs, ask, awaited, blocking, pages_of
from crossview.server.wire.convert import to_value
from crossview.server.wire.names import collection_name
from crossview.v1 import duplicates_pb2 as pb


class DuplicateJudgementScript:
    """The scripts of ``RemoteDuplicateJudgements`` and ``AsyncDuplicateJudgements``."""

    resource: str

    def __init__(self, stubs: Stubs, collection: str) -> None:
        self.resource, self._stub = collection_name(collection), stubs.questions

    def judge(self, first: str, second: str, same: bool, *, person: str) -> Script[PairJudgement]:
        """Store whether two items are the same photograph, and return the judgement."""
        judgement = pb.PairJudgement(first=first, second=second, same=same, person=person)
        request = pb.JudgePairRequest(parent=self.resource, judgement=judgement)
        return to_value(PairJudgement, (yield from ask(self._stub.JudgePair, request)))

    def undo(self, person: str) -> Script[PairJudgement]:
        """Delete and return the last judgement of a person."""
        request = pb.UndoPairJudgementRequest(parent=self.resource, person=person)
        return to_value(PairJudgement, (yield from ask(self._stub.UndoPairJudgement, request)))

    def list(self) -> Script[list[PairJudgement]]:
        """Return the judgements that count, the last one of each pair."""
        found = yield from pages_of(self._stub.ListPairJudgements, pb.ListPairJudgementsRequest(parent=self.resource))
        return [to_value(PairJudgement, one) for page in found for one in page.judgements]


class RemoteDuplicateJudgements:
    """Judgements on pairs of pictures of a collection on a server."""

    connection: Runner
    script: DuplicateJudgementScript

    def __init__(self, connection: Runner, collection: str) -> None:
        self.connection, self.script = connection, DuplicateJudgementScript(connection.stubs, collection)

    judge: Final = blocking(DuplicateJudgementScript.judge)
    undo: Final = blocking(DuplicateJudgementScript.undo)
    list: Final = blocking(DuplicateJudgementScript.list)


class AsyncDuplicateJudgements:
    """The methods of ``RemoteDuplicateJudgements``, awaited."""

    connection: AsyncConnection
    script: DuplicateJudgementScript

    def __init__(self, connection: AsyncConnection, collection: str) -> None:
        self.connection, self.script = connection, DuplicateJudgementScript(connection.stubs, collection)

    judge: Final = awaited(DuplicateJudgementScript.judge)
    undo: Final = awaited(DuplicateJudgementScript.undo)
    list: Final = awaited(DuplicateJudgementScript.list)
