"""The archives of the sets: their page, their content, and their makers."""

import shlex

import numpy as np
import pytest
import scipy.io
from story import DATA

from benchmarks.__main__ import main
from benchmarks.frame.benchmark import MissingDataError, read_arrays
from benchmarks.registry import benchmark
from benchmarks.sets import real, sources
from benchmarks.sets.sources import MAKERS, SOURCES, digest

NEEDS_DATA = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


def test_every_real_set_is_described():
    """Each has a source, a licence, a citation and a digest; digits come with scikit-learn."""
    assert real.LOADERS.keys() - {"digits"} <= SOURCES.keys()
    assert MAKERS.keys() == {name for name, source in SOURCES.items() if source.public}
    for source in SOURCES.values():
        assert all((source.source, source.licence, source.citation, source.layout)), source.name
        assert len(source.sha256) == 64


def test_commands_without_a_download_need_no_data():
    for _, _, command in sources._NO_DATA:
        name, *options = shlex.split(command.removeprefix("python -m benchmarks "))
        assert benchmark(name).parser().parse_args(options)


def test_a_missing_file_names_the_page(tmp_path):
    with pytest.raises(MissingDataError, match=r"holds no a\.npz: docs/benchmarks/data\.md"):
        read_arrays(tmp_path, "a.npz")


@NEEDS_DATA
@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if not source.path.endswith("images")])
def test_archives_are_ours(name):
    assert digest(DATA / SOURCES[name].path) == SOURCES[name].sha256


@pytest.fixture
def public(tmp_path):
    """The files of two sources, with the content of our archives."""
    arrays = np.load(DATA / SOURCES["wikipedia"].path)
    cells = np.empty((1, 2), object)
    cells[0, :] = [arrays["image_sift_bow128"].astype(float), arrays["text_lda10"].astype(float)]
    scipy.io.savemat(tmp_path / "Wiki.mat", {"M": cells})
    named = [arrays[name] for name in ("text_id", "image_id", "y")]
    lines = [f"{text}\t{image}\t{y + 1}\n" for text, image, y in zip(*named, strict=True)]
    count = int(arrays["is_train"].sum())
    for part, some in (("train", lines[:count]), ("test", lines[count:])):
        (tmp_path / f"{part}set_txt_img_cat.list").write_text("".join(some), encoding="utf-8")
    news = scipy.io.loadmat(DATA / SOURCES["news stories"].path)
    views = dict(zip(("bbc", "guardian", "reuters"), (view.toarray() for view in news["X"].ravel()), strict=True))
    scipy.io.savemat(tmp_path / "3-sources.mat", {**views, "truth": news["Y"]})
    return tmp_path


@NEEDS_DATA
@pytest.mark.parametrize("name", ["wikipedia", "news stories"])
def test_an_archive_is_made_from_the_files_of_its_source(name, public, tmp_path, capsys):
    """Its content is ours, whatever program wrote the file; a missing file of the source is named."""
    command = ["data", "--data", str(tmp_path / "sets"), "--make", name, "--from", str(public)]
    assert main(command) == 0
    assert f"{name:14} ours" in capsys.readouterr().out
    (public / SOURCES[name].public[0]).unlink()
    with pytest.raises(SystemExit, match="lacks"):
        main(command)
    assert main(["data", "--data", str(public)]) == 0
    assert "missing" in capsys.readouterr().out
