from collections.abc import Iterator

import pytest
from line import DIM, numbered

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home


@pytest.fixture
def items(home: Home) -> Iterator[Collection]:
    """Forty items on a line, even ones with a label."""
    with home.create("line", [f"v=vectors:dim={DIM}"]) as made:
        made.items.put(numbered(*range(0, 40, 2), labels=("even",), attributes={"half": True}))
        made.items.put(numbered(*range(1, 40, 2)))
        yield made
