"""The data that benchmarks read: where they come from, how our archive of each looks, and whether a folder has it.

python -m benchmarks data --data DIR                             # which archives are there, and which are ours
python -m benchmarks data --data DIR --make NAME --from FOLDER   # make one from the files that its source offers
"""

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray
from scipy.sparse import csc_array

from benchmarks.frame.tables import table

PAGE = "docs/benchmarks/data.md"
MISSING, DIFFERS, OURS = "missing", "differs from ours", "ours"
_NO_DATA = (
    ("fantope-toy", "the toy problem of Fantope regularisation", "python -m benchmarks fantope-toy --trials 2"),
    ("joint-synthetic", "the synthetic tables of joint metrics", "python -m benchmarks joint-synthetic --trials 2"),
    ("unseen, tuning", "drawn sets", "python -m benchmarks unseen --data . --sets 'drawn rings' digits --trials 1"),
    ("own", "your own files of features", "python -m benchmarks own --views a.npy b.npy --labels y.txt"),
)
"""Benchmarks that need no download: name, what they measure, and a command."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The archive of a set.

    Attributes:
        name: of the set in benchmarks.
        path: of the file, or of the folder of pictures, below the folder of all sets.
        items: what it contains.
        layout: the arrays or the names of files.
        source: where its files come from, and what was changed.
        licence: of the data, as far as it is known.
        citation: the publication of the set.
        sha256: of the content, as ``digest`` defines it.
        public: the files from which ``--make`` makes it; none if it cannot.
    """

    name: str
    path: str
    items: str
    layout: str
    source: str
    licence: str
    citation: str
    sha256: str
    public: Sequence[str] = ()


SOURCES: Mapping[str, Source] = {
    entry["name"]: Source(**entry)
    for entry in json.loads((Path(__file__).parent / "sources.json").read_text(encoding="utf-8"))
}
"""By name, in the order of the page."""


def digest(path: Path) -> str:
    """Return the SHA-256 of the arrays of a file, or of a folder: of the lines that ``sha256sum`` prints for its files.

    For arrays it covers names, types, shapes and values, because the bytes of a file depend on the program that wrote
    it.
    """
    if path.is_file():
        content = hashlib.sha256()
        for name, array in sorted(_arrays(path).items()):
            content.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()
    files = [file for file in path.rglob("*") if file.is_file() and file.suffix != ".md"]
    names = sorted(file.relative_to(path).as_posix() for file in files)
    lines = [f"{hashlib.sha256((path / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return dict(arrays)
    data = scipy.io.loadmat(path)
    views: list[Any] = [view.toarray() if hasattr(view, "toarray") else view for view in data["X"].ravel()]
    return {"Y": data["Y"], **{f"X{number}": view for number, view in enumerate(views)}}


def states(folder: Path) -> Iterator[tuple[Source, str]]:
    """Yield each archive, and whether a folder of all sets has it."""
    for source in SOURCES.values():
        path = folder / source.path
        yield source, MISSING if not path.exists() else OURS if digest(path) == source.sha256 else DIFFERS


Maker = Callable[[Path, Path], None]
"""Reads the files of a folder, and writes an archive."""
CATEGORIES = ("art", "biology", "geography", "history", "literature", "media", "music", "royalty", "sport", "warfare")
"""The subjects of the articles of Wikipedia, in the order of their numbers."""
DENSE = 0.5
"""Views with a smaller share of values other than 0 are stored as sparse."""


def wikipedia(public: Path, path: Path) -> None:
    """Write images and texts of ``Wiki.mat``, with the names and the split of two lists."""
    features = scipy.io.loadmat(public / "Wiki.mat")
    lists = [(public / f"{part}set_txt_img_cat.list").read_text(encoding="utf-8").split() for part in ("train", "test")]
    texts, images, categories = (np.array([*lists[0][part::3], *lists[1][part::3]]) for part in range(3))
    image, text = features["M"].ravel()
    np.savez_compressed(
        path,
        image_sift_bow128=image.astype(np.float32),
        text_lda10=text.astype(np.float32),
        y=categories.astype(np.int32) - 1,
        class_names=np.array(CATEGORIES),
        is_train=np.arange(len(texts)) < len(lists[0]) // 3,
        text_id=texts,
        image_id=images,
    )


def pubfig(public: Path, path: Path) -> None:
    """Write the features and the orderings of ``pubfig_data.mat``."""
    data = scipy.io.loadmat(public / "pubfig_data.mat")
    copied = ("relative_ordering", "binary_predicates")
    np.savez_compressed(
        path,
        X=data["feat"].astype(np.float32),
        y=data["class_labels"].ravel().astype(np.int32) - 1,
        **{name: _texts(data[name]) for name in ("class_names", "attribute_names")},
        image_names=_texts(data["im_names"]),
        **{name: data[name].astype(np.int32) for name in copied},
        used_for_training=data["used_for_training"].ravel().astype(bool),
        relative_att_predictor=data["relative_att_predictor"],
        relative_att_predictions=data["relative_att_predictions"].astype(np.float32),
        view_of_feature=(np.arange(data["feat"].shape[1]) >= 512).astype(np.int64),
        view_names=np.array(["gist512", "lab_hist30"]),
    )


def _texts(cells: Any) -> Any:
    return np.array([str(np.ravel(cell)[0]) for cell in cells.ravel()])


def same(name: str, public: Path, path: Path) -> None:
    """Copy the file of the source."""
    shutil.copyfile(public / name, path)


def multiview(name: str, views: Sequence[str], labels: str, order: Sequence[int], public: Path, path: Path) -> None:
    """Write views, items in rows, and labels of a file of MATLAB; the views are arrays, or one array of cells."""
    data = scipy.io.loadmat(public / name)
    rows = [data[view] for view in views] if len(views) > 1 else list(data[views[0]].ravel())
    truth = data[labels].reshape(-1, 1)
    cells = np.empty((1, len(order)), object)
    for place, number in enumerate(order):
        view = rows[number].toarray() if hasattr(rows[number], "toarray") else rows[number]
        view = (view if len(view) == len(truth) else view.T).astype(np.float32)
        cells[0, place] = csc_array(view) if np.count_nonzero(view) < DENSE * view.size else view
    scipy.io.savemat(path, {"X": cells, "Y": truth}, do_compression=True)


MAKERS: Mapping[str, Maker] = {
    "wikipedia": wikipedia,
    "pubfig": pubfig,
    "sports texts": partial(same, "BBCSport.mat"),
    "orl faces": partial(same, "ORL.mat"),
    "news stories": partial(multiview, "3-sources.mat", ("bbc", "guardian", "reuters"), "truth", (0, 1, 2)),
    "cited papers": partial(multiview, "CiteSeer.mat", ("fea",), "gt", (0, 1)),
    "scenes": partial(multiview, "Scene15.mat", ("X",), "gt", (1, 2, 0)),
}
"""By the name of the set."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the state of each archive, or make one; return 1 if an archive differs from ours."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks data", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of all sets")
    parser.add_argument("--make", choices=MAKERS, help="the archive to make")
    parser.add_argument("--from", type=Path, dest="public", help="folder with the files of its source")
    options = parser.parse_args(arguments)
    if (options.make is None) != (options.public is None):
        parser.error("--make and --from belong together")
    if options.make:
        make(options.make, options.public, options.data)
    checked = [(source, state) for source, state in states(options.data) if options.make in (None, source.name)]
    for source, state in checked:
        print(f"{source.name:14} {state:18} {source.path}")
    print(f"{PAGE} describes the sets", file=sys.stderr)
    return int(any(state == DIFFERS for _, state in checked))


def make(name: str, public: Path, folder: Path) -> None:
    """Write the archive of a set from the files of its source; SystemExit if one of these is missing."""
    source = SOURCES[name]
    if lacking := [file for file in source.public if not (public / file).is_file()]:
        raise SystemExit(f"{public} lacks {', '.join(lacking)}: {source.source}")
    path = folder / source.path
    path.parent.mkdir(parents=True, exist_ok=True)
    MAKERS[name](public, path)


def page() -> str:
    """Return the page of the data: sets without a download first, then every archive."""
    parts = ["# Data of the benchmarks", "<!-- Written by `python -m benchmarks figures` from benchmarks/sets. -->"]
    parts.append(
        "The repository contains no data of others. A benchmark reads them from the folder that you name by `--data`. "
        "For benchmarks of several sets, such as `unseen`, this is the folder of all sets; for others that of one set."
    )
    lines = [[f"`{name}`", what, f"`{command}`"] for name, what, command in _NO_DATA]
    parts += ["## Without a download", table([["benchmark", "data", "command"], *lines])]
    parts.append("These data are drawn by the benchmark, come with scikit-learn, or are yours.")
    commands = [line.strip() for line in (__doc__ or "").splitlines() if line.startswith("    python")]
    parts += ["## Archives", "\n".join(["<!-- not run: DIR is your folder -->", "```sh", *commands, "```"])]
    parts.append(
        "The first command computes the SHA-256 below. For a file it covers the arrays, because its bytes depend on "
        "the program that wrote it. For a folder it is that of the lines that `sha256sum` prints for its files, in the "
        "order of their names. If your archive has another SHA-256, expect other figures."
    )
    return "\n\n".join([*parts, *map(_section, SOURCES.values())]) + "\n"


def _section(source: Source) -> str:
    public_files = ", ".join(f"`{file}`" for file in source.public)
    lines = [
        f"- items: {source.items}",
        f"- file: `{source.path}`, {source.layout}",
        f"- source: {source.source}",
        f"- licence: {source.licence}",
        f"- citation: {source.citation}",
        f"- SHA-256: `{source.sha256}`",
        f"- made by `--make '{source.name}'` from {public_files}" if public_files else "- no script makes it",
    ]
    return f"### {source.name}\n\n" + "\n".join(lines)
