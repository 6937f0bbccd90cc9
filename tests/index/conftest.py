"""Every kind of index, with short chunks and with long ones."""

import pytest
from indexes import BINARY, FLOAT, INDEXES, Kind

from crossview.index import chunk


@pytest.fixture(
    autouse=True,
    params=[
        pytest.param(9, id="short chunks"),
        pytest.param(1 << 20, id="long chunks", marks=pytest.mark.long),
    ],
)
def chunk_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every promise holds within a chunk and across many."""
    monkeypatch.setattr(chunk, "MOST_ROWS", request.param)


@pytest.fixture(params=INDEXES, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Any kind of index."""
    made: Kind = request.param
    return made


@pytest.fixture(params=FLOAT, ids=lambda kind: kind.__name__)
def float_kind(request: pytest.FixtureRequest) -> Kind:
    """A kind that holds float vectors."""
    made: Kind = request.param
    return made


@pytest.fixture(params=BINARY, ids=lambda kind: kind.__name__)
def binary_kind(request: pytest.FixtureRequest) -> Kind:
    """A kind that holds binary codes."""
    made: Kind = request.param
    return made
