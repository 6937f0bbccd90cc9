"""The stage of each document: the files and collections that its reader has before the first block."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import preparations as made
from inline import commands_of


@dataclass(frozen=True)
class Stage:
    """The folder that a document finds, and the differences when a test runs it."""

    begins: str = "tour"
    """``tour``: with the collection of the tour; ``empty``: in an empty folder."""
    prepare: Callable[[Path], object] = made.nothing
    """Makes further files and collections in the folder."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Texts of the blocks, and the texts that stand for them here; ``{folder}`` is the folder of the run."""
    answers: str = "q"
    """The keys that a person presses."""
    brief: bool = False
    """Whether servers end once they answer: Milvus Lite allows one process at a time."""
    then: tuple[str, ...] = ()
    """Commands of a table of the document, which run after its blocks."""
    prints: tuple[str, ...] = ()
    """Regular expressions that the output contains, besides the texts that the document's own blocks state."""

    def home(self, folder: Path) -> Path:
        """Return the home of the commands."""
        return folder / "tour" / "mine" if self.begins == "tour" else folder / "home"


_ENGINE = "milvus:engine.db"
"""An engine inside the process, for documents that use its server."""

STAGES: Mapping[str, Stage] = {
    "README.md": Stage(
        "empty",
        made.photographs,
        answers="126\n38\nq",
        # Words need models, which a reader has after the guide of models; the blocks of that guide run, too.
        then=tuple(line for line in commands_of("README.md", "Six jobs") if "--text" not in line),
        prints=("wrote similar.png", "wrote copies.html", "(?m)^same: ", "items to find: .* unseen"),
    ),
    "docs/explanation/how-it-works.md": Stage("tour", prints=("wrote rings.webp",)),
    "docs/faq.md": Stage(
        "tour",
        made.sketches,
        {
            "art/roses/1.jpg": "pictures/waves/waves-01.jpg --yes",
            "'key prefix art/drafts/'": "'key prefix pictures/dots/' --yes",
            "delete sketches": "delete sketches --yes",
        },
    ),
    "docs/tutorials/own-vectors.md": Stage("empty"),
    "docs/tutorials/serve.md": Stage("empty", replaced={"/home/ann/": "{folder}/"}),
    "docs/tutorials/teach-a-notion.md": Stage("empty", answers="126\n38\n"),
    "docs/tour.md": Stage("empty", prints=('"distance"',)),
    "docs/security.md": Stage("tour", made.pets),
    "docs/guides/changes.md": Stage("empty", answers="ynynynynynq", prints=("24 of 24 times a car came or went",)),
    "docs/guides/codes.md": Stage(prints=(r"color \(64 bits\), sift \(64 bits\)",)),
    "docs/guides/duplicates.md": Stage(
        "empty", made.copied_pictures, prints=("identical", "wrote move.sh", "undone: ")
    ),
    "docs/guides/evaluation.md": Stage("tour", made.splits),
    "docs/guides/examples.md": Stage(prints=("kept by sea", "undone: like pictures/waves/waves-02.jpg")),
    "docs/guides/explanations.md": Stage(),
    "docs/guides/items.md": Stage("empty", made.labelled_pictures, prints=("240 added",)),
    "docs/guides/map.md": Stage(),
    "docs/guides/metadata.md": Stage(
        "empty", made.messy_pictures, prints=(r"(?m)Canon EOS 5D\s+3$", r"sea & sand\s+1")
    ),
    "docs/guides/models.md": Stage("empty", made.models),
    "docs/guides/observing.md": Stage("tour", made.examples),
    "docs/guides/page.md": Stage(),
    "docs/guides/publishing.md": Stage(
        "tour",
        made.pets,
        {"milvus://localhost:19530": _ENGINE, "milvus:pets.db": _ENGINE, "/srv/bundles": "bundles"},
        brief=True,
    ),
    "docs/guides/same-or-different.md": Stage("empty", prints=("of 40 pairs are the same", "true_accept_rate_0.01")),
    "docs/guides/search.md": Stage(),
    "docs/guides/server.md": Stage(
        "tour",
        made.certificate,
        {"search.example": "localhost", "0.0.0.0": "127.0.0.1", '"/srv/crossview"': '"tour/mine"'},
        prints=('"hits":\\[{"item":"collections/art/items/pictures/', '{"status":"SERVING"}'),
    ),
    "docs/guides/similarity.md": Stage("empty", made.birds, prints=("wrote moods/sheet.png", "scores of busy, light")),
    "docs/guides/size.md": Stage("tour", made.pets),
    "docs/guides/spreading.md": Stage(
        "empty", made.shop_pictures, {"s3://shop": "{folder}/shop", "milvus://milvus:19530": _ENGINE}, brief=True
    ),
    "docs/guides/suggestions.md": Stage(),
    "docs/guides/taxonomies.md": Stage("empty", prints=("240 added", "hierarchical_accuracy", "lca_loss")),
    "docs/guides/vectors.md": Stage("empty", made.vectors, prints=(r"\[12. 13. 14. 15.\]",)),
    "docs/learners/arrays.md": Stage("empty"),
    "docs/learners/index.md": Stage(),
}
"""The stage of each document that has blocks to run."""
