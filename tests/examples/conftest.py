from pathlib import Path

import pytest

from crossview.server.commands.demo.dataset import write_captions, write_pictures


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small pictures of ten classes, one of them twice, and ``captions.csv`` beside it."""
    folder = tmp_path_factory.mktemp("drawn")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crossview.server.commands.demo.dataset.SIZE", (112, 84))
        write_pictures(folder / "pictures", 11)
    write_captions(folder / "captions.csv", folder / "pictures")
    first = folder / "pictures" / "leaves" / "leaves-01.jpg"
    first.with_name("copy.jpg").write_bytes(first.read_bytes())
    return folder / "pictures"
