"""An option works from the command line over gRPC to the engine."""

import json
from pathlib import Path

import numpy as np
from terminal import done

from crossview.engine.collections.home import Home
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings


def found(tmp_path: Path, *option: str) -> list[str]:
    with Home(tmp_path).create("numbers", ("line=vectors:dim=1",)) as made:
        made.items.put_vectors("line", list("abcdefghi"), np.arange(9, dtype=np.float32)[:, None])
    words = ("search", "numbers", "--key", "c", "--view", "line", "--space", "raw", "-k", "4", "--json")
    with RunningServer(ServerSettings(home=tmp_path, port=0)) as running:
        lists = json.loads(done(*words, *option, "--server", running.address))["result"]
    return [hit["key"] for hit in lists[0]["hits"]]


def test_the_option_of_a_request(tmp_path: Path) -> None:
    assert found(tmp_path, "--skip", "1") == ["d", "a", "e"]
