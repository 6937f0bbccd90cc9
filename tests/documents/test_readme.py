"""The documents at the root are short: a reader sees all of one in a few minutes."""

import pytest
from blocks import ROOT


@pytest.mark.parametrize(("document", "lines"), [("README.md", 150), ("ARCHITECTURE.md", 249)])
def test_documents_at_the_root_are_short(document: str, lines: int) -> None:
    assert len((ROOT / document).read_text(encoding="utf-8").splitlines()) <= lines
