"""Makes the data sets beside this file, with ``datasets`` 5.2 and pandas 3.1, which the tests do not need.

python tests/engine/catalog/transfer/data/make.py
"""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value
from PIL import Image as Picture

HERE = Path(__file__).parent
FEATURES = Features(
    {
        "image": Image(),
        "label": ClassLabel(names=["red", "green", "blue"]),
        "tags": List(ClassLabel(names=["even", "odd"])),
        "embedding": List(Value("float32")),
        "caption": Value("string"),
    }
)


def drawn(count: int) -> Dataset:
    numbers = range(count)
    shades = [np.full((12, 16, 3), 40 * n, np.uint8) * (np.arange(3) == n % 3) for n in numbers]
    columns = {
        "image": [Picture.fromarray(one.astype(np.uint8)) for one in shades],
        "label": [-1 if n == 4 else n % 3 for n in numbers],
        "tags": [[n % 2] for n in numbers],
        "embedding": [[n + column / 8 for column in range(8)] for n in numbers],
        "caption": [f"picture {n}" for n in numbers],
    }
    return Dataset.from_dict(columns, features=FEATURES)


def make(folder: Path) -> None:
    """Write the data sets to a folder."""
    for name in ("saved", "splits", "files"):
        shutil.rmtree(folder / name, ignore_errors=True)
    drawn(6).save_to_disk(folder / "saved", num_shards=2)
    DatasetDict(train=drawn(4), test=drawn(2)).save_to_disk(folder / "splits")
    (folder / "files/data").mkdir(parents=True)
    drawn(3).to_parquet(folder / "files/data/train-00000-of-00002.parquet")
    drawn(3).to_parquet(folder / "files/data/train-00001-of-00002.parquet")
    drawn(2).to_parquet(folder / "files/data/test-00000-of-00001.parquet")
    table = pd.DataFrame(
        {
            "emb": [np.arange(4, dtype=np.float32) + n for n in range(6)],
            "year": [2000.0 + n if n != 3 else None for n in range(6)],
            "when": pd.date_range("2020-01-01", periods=6),
            "category": pd.Categorical(list("ab") * 3),
            "big": [2**60 + n for n in range(6)],
        },
        index=[f"k{n}" for n in range(6)],
    )
    table.to_parquet(folder / "pandas.parquet")
    table.to_csv(folder / "pandas.csv")


if __name__ == "__main__":
    make(HERE)
