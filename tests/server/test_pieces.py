"""A large answer is encoded in pieces, so that no call waits for the encoding; the bytes make the same message."""

from hypothesis import given
from hypothesis import strategies as st

from crossview.server.wire import pieces
from crossview.server.wire.pieces import AT_ONCE, encoded
from crossview.v1 import search_pb2

COUNTS = st.lists(st.sampled_from([0, 1, 3, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 2 * AT_ONCE + 7]), max_size=5)


def answer(counts: list[int]) -> search_pb2.SearchResponse:
    response = search_pb2.SearchResponse(warnings=["one", "two"], next_page_token="next")
    for query, count in enumerate(counts):
        one = response.results.add(query=query, target="color", total=count)
        one.words.known.append("word")
        for place in range(count):
            hit = one.hits.add(item=f"collections/c/items/{place}", distance=place / 7, target="color", match=0.5)
            hit.scores["score"] = place
            hit.labels.extend(["a", "b"])
    return response


@given(COUNTS)
def test_the_pieces_are_the_message(counts: list[int]) -> None:
    """They have any sizes, alone and in the answer to a message of a stream."""
    response = answer(counts)
    assert search_pb2.SearchResponse.FromString(encoded(response)) == response
    wrapped = search_pb2.StreamSearchResponse(response=response)
    assert search_pb2.StreamSearchResponse.FromString(encoded(wrapped)) == wrapped
    error = search_pb2.StreamSearchResponse()
    error.error.message = "wrong"
    assert encoded(error) == error.SerializeToString()


def test_no_piece_has_more_hits_than_are_encoded_at_once() -> None:
    """The largest allowed answers are one list of 100,000 hits, and 10,000 lists of ten."""
    for counts in ([100_000], [10] * 10_000):
        response = search_pb2.SearchResponse()
        for count in counts:
            response.results.add().hits.extend([search_pb2.Hit(key="a")] * count)
        parts = list(pieces._pieces(response))
        assert b"".join(parts) == response.SerializeToString()
        assert max(map(len, parts)) <= AT_ONCE * 8
