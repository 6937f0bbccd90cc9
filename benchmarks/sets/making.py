"""Makers of archives: from the files that the source of a set offers to the file that benchmarks read."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from scipy.sparse import csc_array, issparse

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
        view = rows[number].toarray() if issparse(rows[number]) else rows[number]
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
