"""Pages of methods of papers, beside the papers' own figures."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.attributes import report as attributes
from benchmarks.changes import report as changes
from benchmarks.fantope_toy import report as fantope
from benchmarks.frame.charts import Plot
from benchmarks.isolet.benchmark import PAPER as ISOLET
from benchmarks.multi_npp.paper import paper_row
from benchmarks.pages.page import Group, Page
from benchmarks.pages.report import Excerpt
from benchmarks.wikipedia.report import PUBLISHED as WIKIPEDIA

_MULTI_NPP = {
    "cca": "CCA",
    "pls": "PLS",
    "hybrid": "hybrid",
    "multi-npp": "Multi-NPP",
    "semantic logistic": "semantic",
    "kernel cca": "kernel CCA",
    "kernel semantic logistic": "kernel semantic",
    "kernel multi-npp": "kernel Multi-NPP",
}
_NEIGHBOURS = {"database": "trained", "metric": "accuracy", "k": 5}
_CODES = {
    "npp-hash": "npp-hash",
    "kernel npp-hash": "npp-hash, kernel",
    "posteriors, itq": "posteriors, ITQ",
    "multi-npp, itq": "Multi-NPP, ITQ",
    "kernel scratch": "SCRATCH, kernel",
    "kernel class codes": "class codes, kernel",
    "kernel scm": "SCM, kernel",
}
_TOGETHER = {"joint, D = 10": "jointly", "pooled, D = 10": "as one notion", "independent, D = 10": "one by one"}
_LATER = {
    "added over the map": "added later",
    "joint from the start": "joint from the start",
    "independent": "alone",
}
_SCORES = {
    "features": "features alone",
    "RA": "RA (pairs)",
    "OQWSL-1": "OQWSL-1",
    "QWSL-1": "QWSL-1",
    "OQWSL + pairs": "OQWSL and pairs",
}
_MUSL = {"MuSL, retrained": "MuSL", "k-means": "k-means", "random": "random groups"}


def _means(paper: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """Return the means over the pages of a paper, of the pages that it has figures of."""
    return {
        method: float(np.mean([value for value in values if value is not None])) for method, values in paper.items()
    }


def _multi_npp() -> dict[str, float]:
    """Return the published accuracies of 5 nearest neighbours at 50 dimensions, SIFT words query colours."""
    rows = {name: paper_row(name, 50, "sift", "color") for name in ("cca", "multi-npp", "hybrid")}
    return {_MULTI_NPP[name]: row.values[0] for name, row in rows.items() if row}


def _attributes(data: str) -> dict[str, float]:
    column = {"osr8": 0, "pubfig": 1}[data]
    by_title = {title: attributes.PAPER.get((score, "LMNN")) for score, title in _SCORES.items()}
    published = {title: values[column] for title, values in by_title.items() if values}
    best = _SCORES[attributes.BOTH_IS[data]]  # what the paper calls Q+Pwise
    return {**published, best: attributes.PAPER[attributes.BOTH, "LMNN"][column]}


def _learning_curve(kind: str) -> Plot:
    return Plot(
        name=f"notions-{kind}",
        alt=f"Learning curves on {kind} objects: notions that are learned jointly reach every error with fewer "
        "triplets than notions that are learned one by one.",
        result="joint-synthetic",
        where={"kind": kind, "metric": "errors"},
        x="triplets",
        keep=_TOGETHER,
        factor=100,
        titles=("triplets of all notions", f"error on new triplets, %, {kind}"),
        log="x",
    )


PAPERS = Group(
    "Papers",
    (
        Page(
            name="multi-npp",
            title="Multi-NPP: nearest neighbours across views",
            question="Does a shared space let a photograph in one view find photographs of its class in another view?",
            results=(
                "multi-npp",
                "multi-npp-printed-corel1k",
                "multi-npp-printed-merged20",
                "multi-npp-printed-osr8",
            ),
            plots=(
                Plot(
                    name="multi-npp",
                    alt="SIFT words query colours: Multi-NPP is above CCA and PLS, and far higher after a kernel map. "
                    "In the paper, on harder photographs, all figures are lower, and the hybrid is best.",
                    result="multi-npp",
                    where={"query_view": "sift", "database_view": "color", **_NEIGHBOURS},
                    only=lambda row: row["dim"] in (None, 50),
                    keep=_MULTI_NPP,
                    factor=100,
                    published=_multi_npp(),
                    titles=("5-NN accuracy, %", ""),
                ),
            ),
            paper="Quadrianto, Lampert, ICML 2011",
            method="Multi-NPP",
            command="crossview train photos --learner multi-npp",
            note="Quadrianto and Lampert (ICML 2011) learn a linear map for each view such that items that are "
            "similar become neighbours in every combination of views. The paper's photographs are not available, "
            "so compare the order of the methods with the paper, not the level. *As printed* is the algorithm with "
            "every detail of the paper.",
            excerpts=(
                Excerpt(
                    "multi-npp",
                    "Across.*unseen items",
                    r"^(multi-npp|cca|kernel (cca|semantic logistic|multi-npp)) \|",
                    ("method", "color → sift, 5-NN", "sift → color, 5-NN"),
                ),
                Excerpt("multi-npp", "(Table [15]).*", r"^sift \| color \|.*\| 50 \|", ("method", "5-NN", "10-NN")),
            ),
        ),
        Page(
            name="wikipedia",
            title="Wikipedia: images and texts find each other",
            question="How well do images of Wikipedia find texts on the same subject, and texts images?",
            results=("wikipedia",),
            plots=(
                Plot(
                    name="wikipedia",
                    alt="Mean average precision of both directions: kernel semantic matching is best, slightly above "
                    "the best published figure, SCM.",
                    result="wikipedia",
                    where={"query_view": "both", "database": "test", "metric": "map"},
                    titles=("mAP, mean of both directions", ""),
                    trials=lambda document: 2 * document["settings"]["test"],
                    published={f"{name}, published": (image + text) / 2 for name, image, text in WIKIPEDIA},
                ),
            ),
            note="The data are those of Rasiwasia et al. (ACM Multimedia 2010): articles in ten subjects, each with a "
            "section of text and an image. A hit is right if its subject is that of the query.",
            excerpts=(Excerpt("wikipedia", "", "", ("method", "image → text", "text → image", "mean")),),
        ),
        Page(
            name="relative-attributes",
            title="Relative attributes: from pairs and from quadruplets",
            question="Do scores of attributes such as *natural* or *smiling* recognise classes of scenes and people?",
            results=("attributes",),
            plots=tuple(
                Plot(
                    name=f"relative-attributes-{data}",
                    alt=f"Accuracy on {kind} with an LMNN classifier: quadruplets (Qwise) are not clearly above pairs "
                    "(RA); the paper reports a gain.",
                    result="attributes",
                    where={"data": data, "classifier": "LMNN", "metric": "accuracy"},
                    keep=_SCORES,
                    factor=100,
                    published=_attributes(data),
                    titles=(f"accuracy on {kind}, %", ""),
                )
                for data, kind in (("osr8", "scenes"), ("pubfig", "faces"))
            ),
            paper="Law, Thome, Cord, IJCV 2017",
            method="quadruplets",
            command="crossview train photos --orderings FILE.txt",
            note="Parikh and Grauman (ICCV 2011) learn a score for each attribute from pairs of classes: this class "
            "has more of the attribute than that one (RA). Law, Thome and Cord (2017) learn from four classes at a "
            "time (Qwise: OQWSL, QWSL). A classifier, here LMNN, then recognises classes by the scores alone.",
            excerpts=(
                Excerpt("attributes", "Beside the paper", r"^(features|RA|Q.Pwise) \| LMNN "),
                Excerpt(
                    "attributes",
                    "(.*), gain over RA, points, paired",
                    r"squared|^QWSL-1",
                    ("scores", "Gaussian", "LMNN"),
                ),
                Excerpt(
                    "attributes",
                    "Classes.*",
                    "odds chosen",
                    ("classes", "osr8, held out", "osr8, seen", "pubfig, held out"),
                ),
            ),
        ),
        Page(
            name="page-changes",
            title="Important changes of web pages",
            question="Can a metric learn which changes of a web page matter, from the dates of its versions alone?",
            results=("changes",),
            plots=(
                Plot(
                    name="page-changes",
                    alt="Mean average precision over four pages: metrics that are learned without labels are far above "
                    "the Euclidean distance, in the paper too.",
                    result="changes",
                    where={"metric": "MAP"},
                    factor=100,
                    published=_means(changes.PAPER),
                    titles=("mAP, mean over the pages, %", ""),
                ),
            ),
            note="Law, Thome and Cord (IJCV 2017, section 5) assume that versions of a page that are near each other "
            "in time differ less than versions that are far apart. From such triplets and quadruplets, a metric learns "
            "which regions of the picture of a page matter. A change is important if the news or stories change, not "
            "the adverts.",
            excerpts=(
                Excerpt(
                    "changes",
                    "Mean.*",
                    "",
                    ("distance", "all pages", "paper, NPR", "paper, NYTimes", "paper, CNN", "paper, BBC"),
                ),
                Excerpt("changes", "Gain.*", r"^(diagonal|full|1-slack) \|"),
                Excerpt("changes", ".*with labels, %", r"^(none|10 active|10 random) \|", ("labels", "all pages")),
            ),
        ),
        Page(
            name="fantope",
            title="Fantope: metrics of low rank",
            question="Does the Fantope regulariser find metrics of low rank that order new items better?",
            results=("fantope-toy", "verification"),
            plots=(
                Plot(
                    name="fantope-toy",
                    alt="Share of unseen quadruplets in order: the Fantope is above the trace and no regularisation, "
                    "and as good as in the paper.",
                    result="fantope-toy",
                    where={"metric": "accuracy"},
                    factor=100,
                    published={name: float(row[0]) for name, row in fantope.PAPER.items() if row[0]},
                    titles=("unseen quadruplets in order, %", ""),
                ),
                Plot(
                    name="verification",
                    alt="Pairs of photographs of unseen classes: learned metrics are above PCA and the Euclidean "
                    "distance; the Fantope and the trace are equally good.",
                    result="verification",
                    where={"metric": "accuracy"},
                    keep={name: name for name in ("Euclidean", "PCA", "no regularisation", "trace", "Fantope")}
                    | {"Fantope and trace": "Fantope and trace", "Fantope, through the product": "Fantope in a space"},
                    factor=100,
                    titles=("pairs decided correctly, %", ""),
                ),
            ),
            paper="Law, Thome, Cord, CVPR 2014",
            method="Fantope",
            command="crossview train photos --learner fantope --constraints FILE.csv",
            note="Law, Thome and Cord (CVPR 2014) penalise the sum of the smallest eigenvalues of a metric, so that "
            "its rank falls to the wanted one. The first section learns a known metric of rank 10; the second one "
            "decides whether two photographs show the same class, where the paper uses faces.",
            excerpts=(
                Excerpt(
                    "fantope-toy",
                    "",
                    r"^(no regularisation|descent.*|trace|Fantope|Fantope and trace) \|",
                    ("method", "accuracy, %", "accuracy, paper", "rank"),
                ),
                Excerpt(
                    "verification",
                    "merged20",
                    r"^(Euclidean|trace|Fantope|Fantope, through the product) \|",
                    ("method", "accuracy, %", "rank", "paper, LFW"),
                ),
            ),
        ),
        Page(
            name="notions",
            title="Notions of similarity, learned jointly",
            question="Do several notions of similarity, such as colour and shape, need fewer answers if a learner "
            "learns them jointly?",
            results=(
                "joint-synthetic",
                "joint-poses",
                "joint-attributes",
                "joint-newview",
                "joint-consistency",
                "joint-hidden",
            ),
            plots=(
                *map(_learning_curve, ("uniform", "clustered")),
                Plot(
                    name="notions-later",
                    alt="A notion that comes later needs far fewer triplets than a notion that is learned alone, if "
                    "the map of the other notions is there.",
                    result="joint-newview",
                    where={"set": "uniform", "metric": "error"},
                    x="triplets",
                    keep=_LATER,
                    factor=100,
                    titles=("triplets of the new notion", "error on its new triplets, %"),
                    log="x",
                ),
            ),
            paper="Zhang, Maji, Tomioka, 2015",
            method="joint metrics",
            command="crossview train photos --learner joint --answers",
            note="Zhang, Maji and Tomioka (2015) learn from triplets: in this notion, A is more similar to B than to "
            "C. A joint embedding has one map that all notions share and a metric of each notion over it. The error is "
            "the share of new triplets in the wrong order; one half is chance.",
            excerpts=(
                Excerpt(
                    "joint-consistency",
                    "",
                    "uniform|faces|clustered|poses",
                    ("set", "consistency", "joint gains, %", "pooled, %", "paper, joint", "paper, pooled"),
                ),
            ),
        ),
        Page(
            name="spoken-letters",
            title="Spoken letters of groups of speakers",
            question="Do metrics that groups of speakers share recognise spoken letters better?",
            results=("isolet",),
            plots=(
                Plot(
                    name="spoken-letters",
                    alt="Error of 3 nearest neighbours: learned metrics reduce the error of the Euclidean distance to "
                    "less than a third; metrics that groups share, and metrics of each group, hardly differ.",
                    result="isolet",
                    where={"neighbors": "own", "metric": "error"},
                    factor=100,
                    published={name: float(row[0]) for name, row in ISOLET.items()},
                    titles=("error of 3-NN, % (less is better)", ""),
                ),
            ),
            note="A task is a group of speakers of the ISOLET data. MT-LMNN learns a metric that all tasks share and "
            "one of each task; the joint embedding is that of Zhang, Maji and Tomioka (2015), table 1.",
            excerpts=(
                Excerpt("isolet", ""),
                Excerpt("isolet", "Paired.*"),
            ),
        ),
        Page(
            name="class-trees",
            title="Metrics that respect a tree of classes",
            question="Does a metric that learns from a tree of classes make fewer and smaller mistakes?",
            results=("taxonomy", "taxonomy-regularizers"),
            plots=(
                Plot(
                    name="class-trees",
                    alt="Hierarchical accuracy of 10 nearest neighbours, letters of 12 speakers: full metrics are "
                    "above diagonal ones and the Euclidean distance; the tree (Qwise) adds almost nothing.",
                    result="taxonomy",
                    where={
                        "set": "letters of 12 speakers",
                        "classifier": "10-NN",
                        "metric": "hierarchical accuracy",
                    },
                    only=lambda row: "against" not in row,
                    factor=100,
                    titles=("hierarchical accuracy, %", ""),
                ),
            ),
            note="Law, Thome and Cord (2017) ask that siblings in a tree of classes lie nearer than cousins. "
            "Hierarchical accuracy counts a wrong class as partly right if it is near in the tree. The paper's "
            "figures are those of photographs that are not here, so only the differences between methods compare.",
            excerpts=(
                Excerpt(
                    "taxonomy",
                    "Letters of 12 speakers",
                    "",
                    ("method", "10-NN hierarchical accuracy", "paper, 10-NN hierarchical"),
                ),
                Excerpt(
                    "taxonomy",
                    "(.*): Paired.*",
                    "Qwise, full − LMNN",
                    ("10-NN hierarchical accuracy", "SVM hierarchical accuracy"),
                ),
                Excerpt("taxonomy-regularizers", ".*: Paired.*", "", ("difference", "10-NN accuracy")),
            ),
        ),
        Page(
            name="codes",
            title="Binary codes across views",
            question="How much quality do short binary codes keep when one view queries another view?",
            results=("hashing",),
            plots=tuple(
                Plot(
                    name=f"codes-{data}",
                    alt=f"Mean average precision by bits, {kind} that no learner has seen, across views: npp-hash is "
                    "among the best codes at every length, and longer codes gain little beyond 64 bits.",
                    result="hashing",
                    where={"data": data, "database": "unseen", "metric": "map"},
                    only=lambda row: row["query_view"] != row["database_view"],
                    x="bits",
                    keep=_CODES,
                    titles=("bits of a code", "mAP among unseen items"),
                    log="x",
                )
                for data, kind in (("corel", "photographs"), ("wikipedia", "documents"))
            ),
            note="A code is a string of bits, and the distance of two codes is the number of bits that differ: short "
            "codes take little memory. Published hashers (SCM, SCRATCH, class codes) stand beside ours.",
            excerpts=(
                Excerpt(
                    "hashing",
                    "(Photographs|Wikipedia).*, 64 bits",
                    r"^(npp-hash|kernel (npp-hash|scratch|scm|class codes)) \|",
                    ("method", "across, labelled", "across, unseen"),
                ),
                Excerpt(
                    "hashing",
                    ".*best embeddings",
                    r"across \| unseen",
                    ("data", "best embeddings", "npp-hash", "kernel npp-hash"),
                ),
            ),
        ),
        Page(
            name="musl",
            title="MuSL: a metric for each group of classes",
            question="Do several metrics, each for a group of classes, recognise photographs better than one metric?",
            results=("musl", "musl-novel"),
            plots=(
                Plot(
                    name="musl",
                    alt="5-NN accuracy by the number of metrics: many metrics recognise better than few, "
                    "whether MuSL, k-means or chance groups the classes.",
                    result="musl",
                    where={"part": "curve", "metric": "5-NN"},
                    x="metrics",
                    keep=_MUSL,
                    factor=100,
                    titles=("metrics", "5-NN accuracy, %"),
                    log="x",
                ),
                Plot(
                    name="musl-novel",
                    alt="5-NN accuracy on classes that no metric learned from: two or three metrics with chosen "
                    "thresholds are slightly above one metric; twenty are far below.",
                    result="musl-novel",
                    where={"metric": "5-NN", "examples": 30, "thresholds": "chosen"},
                    x="metrics",
                    keep={"MuSL, retrained": "MuSL", "k-means": "k-means"},
                    factor=100,
                    titles=("metrics", "5-NN accuracy on novel classes, %"),
                    log="x",
                ),
            ),
            paper="Babenko, Branson, Belongie, ICCV 2009",
            method="MuSL",
            command="crossview train photos --learner musl",
            note="Babenko, Branson and Belongie (ICCV 2009) group classes and learn a metric of weighted bits for each "
            "group (MuSL). More metrics help as in the paper, but MuSL's groups are not better than those of k-means, "
            "and "
            "new classes gain little. The paper's figures are from its text, on other pictures.",
            excerpts=(
                Excerpt("musl", "Beside.*", "five metrics − (MuSL|k-means|one)|one per"),
                Excerpt("musl-novel", "Beside.*", "chosen|constants|k-means"),
            ),
        ),
    ),
)
