"""Values as notebooks show them: small pieces of HTML with escaped content, within any theme of the notebook."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from crossview.engine.errors import CrossviewError
from crossview.engine.markup import Markup, data_uri, element, markup, name

if TYPE_CHECKING:
    from crossview.engine.evaluation import Evaluation, EvaluationRow
    from crossview.engine.hits import Hit, HitList
    from crossview.engine.info import CollectionInfo, SpaceInfo
    from crossview.engine.item import Item

SHOWN = 50
"""Maximum number of hits of a list, and of lines of a table."""
SAMPLE, _LISTS, _LABELS = 12, 12, 20
"""Maximum number of items of a collection, of lists of hits, and of labels."""
_BYTES = 250_000
"""Maximum number of bytes of the pictures of one value."""
_TEXT = 80
_STYLE = Markup(
    "<style>.crossview{font:13px/1.4 system-ui,sans-serif}.crossview h4{font-size:15px;margin:8px 0}"
    ".crossview p{margin:4px 0;font-size:inherit;opacity:.75}"
    ".crossview .tiles{display:flex;flex-wrap:wrap;gap:12px;margin:8px 0}"
    ".crossview figure{margin:0;width:112px;overflow-wrap:anywhere}.crossview figure div{height:112px;display:flex;"
    "align-items:center;justify-content:center;background:rgba(128,128,128,.12);border-radius:8px;overflow:hidden}"
    ".crossview img{max-width:100%;max-height:100%;margin:0}.crossview figcaption span{display:block}"
    ".crossview .bar{height:4px;background:rgba(128,128,128,.25);margin:3px 0}"
    ".crossview .bar i{display:block;height:100%;background:#0a8276}"
    ".crossview table{border-collapse:collapse;margin:8px 0}"
    ".crossview th,.crossview td{padding:4px 16px 4px 0;text-align:left;border-bottom:1px solid rgba(128,128,128,.3)}"
    ".crossview .n{text-align:right;font-variant-numeric:tabular-nums}</style>"
)
_Self = TypeVar("_Self")
Thumbnail = Callable[[str], bytes]


def shown(make: Callable[[_Self], Markup]) -> Callable[[_Self], str | None]:
    """Return a method ``_repr_html_`` that returns None if it fails, so that the notebook shows the text."""

    @wraps(make)
    def run(self: _Self) -> str | None:
        try:
            return str(element("div", _STYLE, make(self), class_="crossview"))
        except Exception:  # noqa: BLE001 - a closed collection or a lost server must not hide the value
            return None

    return run


def lists_html(lists: "Sequence[HitList]", thumbnail: Thumbnail | None) -> Markup:
    """Return lists of hits as rows of pictures; ``thumbnail`` reads the picture of a key, if there is one."""
    pictures = _Pictures(thumbnail)
    return markup(*(_list(one, pictures) for one in lists[:_LISTS]), _more(len(lists) - _LISTS, "lists"))


def collection_html(info: "CollectionInfo", items: "Sequence[Item]" = (), thumbnail: Thumbnail | None = None) -> Markup:
    """Return a collection: its size, views, spaces and labels, and some of its items."""
    pictures = _Pictures(thumbnail)
    labels = [f"{label} ({count:,})" for label, count in sorted(info.labels.items(), key=lambda pair: -pair[1])]
    tiles = [_tile(pictures.of(one.key), one.key, one.labels, one.text) for one in items[:SAMPLE]]
    views = [[view.name, view.extractor, f"{view.dim:,}"] for view in info.views]
    return markup(
        element("h4", name(info.name), f": {info.items:,} items"),
        element("div", tiles, class_="tiles") if tiles else "",
        element("p", "Labels: ", name(", ".join(labels[:_LABELS]), 1000)) if labels else "",
        _table(["view", "extractor", ">dim"], views),
        _table(_SPACE_HEADS, [_space_line(one, one.name == info.active_space) for one in info.spaces]),
    )


def space_html(info: "SpaceInfo") -> Markup:
    """Return a space: its learner and targets, and how well it recognises labels."""
    labels = [
        [name(one.label), f"{one.items:,}", f"{one.tested:,}", "" if one.recall is None else f"{one.recall:.2f}"]
        for one in info.labels[:_LABELS]
    ]
    return markup(
        element("h4", "Space ", name(info.name)),
        _table(_SPACE_HEADS, [_space_line(info, info.active)]),
        _table(["label", ">items", ">tested", ">recall"], labels) if labels else "",
        *(element("p", note) for note in info.notes),
    )


def evaluation_html(evaluation: "Evaluation") -> Markup:
    """Return the figures of an evaluation, a column for each space."""
    spaces = list(dict.fromkeys(row.space for row in evaluation.rows))
    cells = {(row.query_view, row.database_view, row.database, row.metric, row.k, row.space): row
             for row in evaluation.rows}  # fmt: skip
    lines = []
    keys = dict.fromkeys(key[:-1] for key in cells)
    for key in sorted(keys, key=lambda key: (key[:3], key[3] != "map")):  # mAP first, the rest as measured
        query, target, database, metric, k = key
        place = f"{query} → {target}" + (f", {database}" if database else "")
        values = [_figure(cells.get((*key, space))) for space in spaces]
        lines.append([place, "mAP" if metric == "map" else metric.replace("_", " "), str(k or ""), *values])
    counts = (evaluation.comparisons, "comparisons") if evaluation.comparisons else (evaluation.queries, "queries")
    heads = ["queries → items", "metric", ">k", *(f">{space}" for space in spaces)]
    return markup(
        element("h4", f"Evaluation by {counts[0]:,} {counts[1]}"),
        _table(heads, lines[:SHOWN]),
        _more(len(lines) - SHOWN, "figures"),
        element("p", evaluation.protocol),
    )


def _figure(row: "EvaluationRow | None") -> str:
    if row is None:
        return "–"
    return f"{row.value:.3f}" + (f" ± {row.standard_error:.3f}" if row.standard_error else "")


_SPACE_HEADS = ["space", "learner", "targets", ">trained items", ">held out", ">generation"]


def _space_line(info: "SpaceInfo", active: bool) -> list[Any]:
    targets = ", ".join(f"{target} ({info.size(target)})" for target in info.targets)
    learner = info.spec or "the views"
    counts = [f"{info.trained_items:,}", f"{info.held_out:,}", str(info.generation)]
    return [name(info.name + (" (active)" if active else "")), learner, targets, *counts]


class _Pictures:
    """The pictures of one value, until they take too many bytes."""

    def __init__(self, thumbnail: Thumbnail | None) -> None:
        self._thumbnail, self._left = thumbnail, _BYTES

    def of(self, key: str) -> str:
        """Return the address of an item's picture; "" without one, and if the collection is closed or deleted."""
        if self._thumbnail is None:
            return ""
        try:
            data = self._thumbnail(key)
        except CrossviewError:
            return ""
        if len(data) > self._left:
            return ""
        self._left -= len(data)
        return data_uri(data)


def _list(one: "HitList", pictures: _Pictures) -> Markup:
    where = f" in {one.target}" if one.target else ""
    tiles = [_hit(hit, pictures) for hit in one.hits[:SHOWN]]
    head = element("h4", f"{len(one.hits):,} hits for query {one.query}{where}")
    return markup(head, element("div", tiles, class_="tiles"), _more(len(one.hits) - SHOWN, "hits"))


def _hit(hit: "Hit", pictures: _Pictures) -> Markup:
    match, bar = "", None
    if hit.match is not None:
        match = f"match {hit.match:.2f}, "
        bar = element("span", element("i", style=f"width:{min(max(100 * hit.match, 0), 100):.0f}%"), class_="bar")
    figures = [bar, element("span", f"{match}{hit.distance:.4g}")]
    return _tile(pictures.of(hit.key), hit.key, hit.labels, hit.text, figures)


def _tile(picture: str, key: str, labels: Iterable[str], text: str, more: Any = None) -> Markup:
    file = key.rpartition("/")[2] or key
    inside = element("img", src=picture, alt=f"picture of {file}") if picture else element("span", text[:_TEXT])
    caption = [element("span", name(file, whole=key)), element("span", name(", ".join(labels))), more]
    return element("figure", element("div", inside), element("figcaption", caption))


def _more(count: int, words: str) -> Markup:
    return element("p", f"and {count:,} more {words}") if count > 0 else Markup("")


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    right = ["n" if head.startswith(">") else None for head in heads]
    head = [element("th", one.lstrip(">"), class_=kind) for one, kind in zip(heads, right, strict=True)]
    lines = [
        element("tr", [element("td", cell, class_=kind) for cell, kind in zip(row, right, strict=True)]) for row in rows
    ]
    return element("table", element("tr", head), lines)
