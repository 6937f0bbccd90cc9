"""Markdown table and plot of the Wikipedia benchmark, published figures beside ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIRECTIONS = (("image", "text"), ("text", "image"), ("both", "both"))
PUBLISHED = (
    ("CCA", 0.2549, 0.1846),
    ("JGRHML", 0.2830, 0.2119),
    ("JFSSL", 0.3063, 0.2275),
    ("SCM", 0.3501, 0.2496),
)
SOURCE = (
    "Published: mAP as compared by Zhu et al., Data Analysis and Knowledge Discovery 4(5), 2020, p. 84-91, "
    "on the same documents; their features and tuning need not be ours."
)
# Told apart in the common kinds of colour blindness; in the order of the methods.
COLORS = ("#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#555555")
STYLES = ("-", "--")  # the second for the methods after those that have used up the colours


def markdown(document: Mapping[str, Any]) -> str:
    """Returns the report: mAP of both directions and their mean, ours and published, and what was chosen."""
    settings = document["settings"]
    protocol = (
        f"{settings['train']} documents to train on; {settings['test']} test documents in {len(settings['classes'])} "
        "classes are queries and database. mAP over the whole ranking; P@10 is the precision at 10. "
        f"Settings: {settings['tuning']}."
    )
    heads = ["method", "image → text", "text → image", "mean", "mean in cross-validation"]
    lines = [[*heads, "P@10 image → text", "P@10 text → image"]]
    for one in document["chosen"]:
        name = one["method"]
        found = [_cell(document, name, "map", None, pair) for pair in DIRECTIONS]
        precisions = [_cell(document, name, "precision", 10, pair) for pair in DIRECTIONS[:2]]
        lines.append([name, *found, f"{one['score']:.4f}", *precisions])
    for name, image, text in PUBLISHED:
        lines.append([f"{name} (published)", f"{image:.4f}", f"{text:.4f}", f"{(image + text) / 2:.4f}", "", "", ""])
    chosen = [["method", "chain", "settings", "seconds"]]
    for one in document["chosen"]:
        given = ", ".join(f"{name}={value}" for name, value in one["settings"].items())
        chosen.append([one["method"], one["spec"], given, f"{one['seconds']:.0f}"])
    parts = ["# Images and texts of Wikipedia, after Rasiwasia et al. (ACM Multimedia 2010)", protocol, _table(lines)]
    parts += [SOURCE, f"## Chosen settings\n\n{_table(chosen)}", f"The run took {document['seconds']:.0f} s."]
    return "\n\n".join(parts) + "\n"


def write(folder: Path, document: Mapping[str, Any], text: str) -> None:
    """Writes wikipedia.md and wikipedia.png into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wikipedia.md").write_text(text + "\n![precision and recall](wikipedia.png)\n", encoding="utf-8")
    plot(folder / "wikipedia.png", document)


def plot(path: Path, document: Mapping[str, Any]) -> None:
    """Draws interpolated precision at 11 recalls, one panel per direction, one curve per method."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the plot needs matplotlib: pip install "crossview[bench]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    methods = [one["method"] for one in document["chosen"]]
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.5), sharex=True, sharey=True, layout="constrained")
    for axis, (query, database) in zip(axes, DIRECTIONS, strict=False):
        for number, method in enumerate(methods):
            rows = _rows(document, method, query, database, "interpolated precision")
            points = [row["recall"] for row in rows], [row["value"] for row in rows]
            look = {"color": COLORS[number % len(COLORS)], "linestyle": STYLES[number // len(COLORS)]}
            axis.plot(*points, **look, marker="o", markersize=3, label=method)
        axis.set_title(f"{query} query, {database} database")
        axis.set_xlabel("recall")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("interpolated precision, mean over queries")
    axes[0].set_ylim(bottom=0)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(len(methods), 4), frameon=False
    )
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _cell(document: Mapping[str, Any], method: str, metric: str, k: int | None, pair: tuple[str, str]) -> str:
    return next(f"{row['value']:.4f}" for row in _rows(document, method, *pair, metric) if row["k"] == k)


def _rows(document: Mapping[str, Any], method: str, query: str, database: str, metric: str) -> list[Mapping[str, Any]]:
    wanted = (method, query, database, metric)
    names = ("method", "query_view", "database_view", "metric")
    return [row for row in document["rows"] if tuple(row[name] for name in names) == wanted]


def _table(lines: list[list[str]]) -> str:
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body])
