"""Pages of searches as users make them."""

from collections.abc import Mapping

from benchmarks.frame.benchmark import Document
from benchmarks.frame.charts import Plot
from benchmarks.frame.tables import Row, rows_of_trials
from benchmarks.pages.page import Group, Page
from benchmarks.pages.report import Excerpt

_COPIED = {"default": "default space", "kernel cca": "kernel CCA", "npp-hash": "npp-hash (codes)", "raw": "raw views"}
_DUPLICATES = {
    "crossview duplicates": "crossview duplicates",
    "fingerprint in 8 orientations": "perceptual hash, 8 orientations",
    "imagededup PHash": "imagededup PHash",
    "imagehash dhash": "imagehash dhash",
    "view gist": "GIST distance",
}
_WORDS = ("random order", "ConSE", "ridge", "CSA", "CCA", "default, pairs", "default, pairs and ConSE")
_EXAMPLES = ("learn", "linear SVM", "mean", "best", "Rocchio", "one example", "context")


def _calibration(document: Document) -> list[Row]:
    """Return how many hits of each tenth of matches are relevant, by the mean match."""
    tenths = (tenth for tenth in document["reliability"] if "match" in tenth)
    return [
        {"data": tenth["data"], "mean match": round(tenth["match"], 3), "value": tenth["relevant"]} for tenth in tenths
    ]


def _questions(document: Document) -> list[Row]:
    return rows_of_trials(document, "space", "counter-examples", "method")


def _fused(document: Document) -> list[Row]:
    return rows_of_trials(document, "space", "method", "metric")


def _same(*names: str) -> Mapping[str, str]:
    return {name: name for name in names}


RETRIEVAL = Group(
    "Retrieval as users see it",
    (
        Page(
            name="copies",
            title="Find a photograph by a copy of its file",
            question="Does a changed copy of a photograph, such as a smaller one, find the photograph first?",
            results=("copies",),
            plots=(
                Plot(
                    name="copies",
                    alt="Share of copies that find their photograph first within a view, by kind of copy: learned "
                    "spaces find nearly all; the raw views miss most greyscale copies.",
                    result="copies",
                    where={"metric": "recall@1"},
                    only=lambda row: row["query_view"] == row["database_view"],
                    x="kind",
                    keep=_COPIED,
                    titles=("share found first", ""),
                ),
            ),
            note="A learned space places items by their classes, so that copies could end up anywhere in a class. "
            "crossview therefore looks for near copies besides, by codes of the raw views.",
            excerpts=(Excerpt("copies", ""),),
        ),
        Page(
            name="duplicates",
            title="Find duplicates in a collection of pictures",
            question="Which copies of photographs does a collection contain?",
            results=("duplicates", "duplicate-files"),
            plots=(
                Plot(
                    name="duplicates",
                    alt="Recall by kind of copy: crossview duplicates finds all kinds; perceptual hashes miss cropped "
                    "copies, and without orientations also rotated and mirrored ones.",
                    result="duplicates",
                    where={"metric": "recall"},
                    only=lambda row: row["kind"] != "all",
                    x="kind",
                    keep=_DUPLICATES,
                    titles=("recall", ""),
                ),
            ),
            note="`crossview duplicates` takes pairs with similar fingerprints and checks them by their thumbnails. "
            "The perceptual hashes of two known libraries and distances of raw views stand beside it. The second part "
            "is about files that a person wants: pages and screenshots that differ in their texts or in one picture.",
            excerpts=(
                Excerpt(
                    "duplicates",
                    "",
                    "crossview|PHash|orientations|gist",
                    ("method", "mean recall", "precision", "confused", "bursts"),
                ),
                Excerpt("duplicate-files", "", "", ("method", "files", "lost", "mixed", "right keeper", "half")),
            ),
        ),
        Page(
            name="match",
            title="How likely is a hit relevant?",
            question="Can a program trust the match of a hit, the probability that the hit is relevant?",
            results=("match",),
            plots=(
                Plot(
                    name="match",
                    alt="Share of relevant hits by their match: the points lie near the diagonal, so that "
                    "the match is nearly the share of hits that are relevant.",
                    result="match",
                    where={},
                    rows=_calibration,
                    series="data",
                    x="mean match",
                    titles=("match of the hits, mean of a tenth", "share of relevant hits"),
                ),
            ),
            note="Every hit has a match. If it is calibrated, half of the hits with a match of one half are relevant. "
            "The match of the first hit also shows whether anything in the collection is similar to the query. The "
            "figures precede matches that use how familiar the query's row is. On Corel (one split, seed 100), these "
            "lower the calibration error of a search by all views from .120 to .042, and its AUC from .928 to .905.",
            excerpts=(Excerpt("match", ".*", "color -> color|sift -> sift|gist -> gist|all -> all"),),
        ),
        Page(
            name="words",
            title="Find drawings by words",
            question="Does the name of a concept find its drawing, if nobody has labelled a drawing of this concept?",
            results=("words",),
            plots=(
                Plot(
                    name="words",
                    alt="Share of concepts whose drawing is among the first ten: learned pairs and names together are "
                    "above pairs alone, and far above names alone.",
                    result="words",
                    where={"data": "google", "metric": "recall@10"},
                    keep=_same(*_WORDS),
                    titles=("share in the first 10", ""),
                ),
            ),
            note="Drawings have rows by an image model (EfficientNet-Lite0), names by a text model (MiniLM); both "
            "models saw no pairs of images and texts. ConSE predicts known names for a drawing and compares words "
            "only.",
            excerpts=(Excerpt("words"),),
        ),
        Page(
            name="two-artists",
            title="Drawings of two artists",
            question="Does a drawing of one artist find another artist's drawing of the same concept?",
            results=("artists",),
            plots=(
                Plot(
                    name="two-artists",
                    alt="Share of concepts found among the first ten, over the rows of a pretrained model: CSA and the "
                    "learner of instances are above the model's own cosine.",
                    result="artists",
                    where={"rows": "lite0", "metric": "recall@10"},
                    titles=("share in the first 10", ""),
                ),
            ),
            note="Half of the concepts teach which drawings belong together; the others are queries and items.",
            excerpts=(Excerpt("artists", "", "lite0"),),
        ),
        Page(
            name="examples",
            title="Search by several examples",
            question="Do examples and counter-examples find more of what a person wants than one query?",
            results=("examples",),
            plots=(
                Plot(
                    name="examples",
                    alt="Precision of the first ten hits in the raw views: learning from three examples and three "
                    "counter-examples is above all other methods, and far above a single example.",
                    result="examples",
                    where={"space": "raw", "counter-examples": "random"},
                    rows=_questions,
                    keep=_same(*_EXAMPLES),
                    factor=100,
                    titles=("precision of the first 10, %", ""),
                ),
            ),
            note="*learn* is the default of crossview. *mean* and *best* combine the distances to the examples; "
            "Rocchio and a linear SVM are the usual methods.",
            excerpts=(
                Excerpt(
                    "examples",
                    "Three examples, (.*)",
                    "all sets",
                    ("counter-examples", "one example", "learn", "mean", "linear SVM"),
                ),
                Excerpt(
                    "examples",
                    "Rounds of feedback: (Own) judgements",
                    "all sets . (learn|mean|linear)",
                    ("space", "method", "round 1", "round 3", "round 5"),
                ),
                Excerpt("examples", "Time", "1,000,000"),
            ),
        ),
        Page(
            name="fusion",
            title="Search by all views at once",
            question="Does one list over several views find more than the best view alone?",
            results=("fusion",),
            plots=(
                Plot(
                    name="fusion",
                    alt="mAP in the default space, mean of three sets: the learned fusion is above every single view "
                    "and above the fusion of ranks.",
                    result="fusion",
                    where={"space": "default", "metric": "map"},
                    rows=_fused,
                    keep={name: f"view {name}" for name in ("color", "sift", "gist")}
                    | {name: f"fusion: {name}" for name in ("rank", "distance", "match", "learn")},
                    titles=("mAP among unseen items", ""),
                ),
            ),
            note="A fusion makes one list from the lists of several views: by ranks, by distances, by matches, or by "
            "weights that it learns from labelled items.",
            excerpts=(
                Excerpt(
                    "fusion", ".*", "", ("set", "color", "sift", "gist", "rank", "learn", "best way over best view")
                ),
                Excerpt("fusion", "Time"),
            ),
        ),
        Page(
            name="more-or-less",
            title="Ask for more of an attribute",
            question="If a user asks for a more open or a less natural scene, do the hits change as asked?",
            results=("more-less",),
            plots=(
                Plot(
                    name="more-or-less",
                    alt="Share of queries whose hits have more of the attribute, by attribute: more than three "
                    "quarters for each attribute, asked for more or for less.",
                    result="more-less",
                    where={"metric": "raised"},
                    x="attribute",
                    keep=_same("more", "less"),
                    factor=100,
                    titles=("queries that change as asked, %", ""),
                ),
            ),
            note="`search --more natural` moves the query along a learned attribute before it looks for neighbours.",
            excerpts=(
                Excerpt("more-less", "--.*", "", ("attribute", "raised, %", "raised, others held, %")),
                Excerpt("more-less", "Milli.*", r"^(as it is|more) \|", ("search", "where", "median", "95 %")),
            ),
        ),
    ),
)
