"""The searches of a state: one for each list of the page, and their messages."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.search_state import ONE, SearchState, Setting
from crossview.server.edge.pages.uploads import Uploads
from crossview.v1 import search_pb2 as pb

PAGE = 40
"""Number of results of each list that a page begins with; further ones come as people scroll."""
MOST = 2_000
"""Maximum number of results of a list."""
_MOST_LISTS = 8


@dataclass(frozen=True)
class Choices:
    """The spaces, views and targets that a setting can choose from."""

    space: Any
    """The message of the space that answers."""
    spaces: tuple[str, ...]
    views: tuple[str, ...]
    targets: tuple[str, ...]
    by_words: bool = False
    """Whether the space is not the active one, because that has no view for texts."""

    @property
    def name(self) -> str:
        """The short name of the space."""
        return short(self.space.name)


@dataclass(frozen=True)
class Search:
    """The search of one list."""

    title: str
    request: pb.SearchRequest
    setting: Setting
    choices: Choices


def short(name: str) -> str:
    """Return the last part of a resource name."""
    return name.rpartition("/")[2]


def choices(info: Any, setting: Setting, has_text: bool) -> Choices:
    """Return what a setting can choose from; words choose ``raw`` if the active space cannot take them."""
    by_name = {short(space.name): space for space in info.spaces}
    texts = {view.name for view in info.views if "text" in view.inputs}
    wanted = setting.space or info.active_space or "raw"
    if wanted not in by_name:
        raise PageError(404, f"no space {wanted!r}; there is: {', '.join(by_name)}")
    by_words = False
    if has_text and not setting.space and not texts & set(by_name[wanted].views) and texts & set(by_name["raw"].views):
        wanted, by_words = "raw", True
    space = by_name[wanted]
    return Choices(space, tuple(by_name), tuple(space.views), tuple(space.targets), by_words)


def searches(state: SearchState, info: Any, uploads: Uploads) -> list[Search]:
    """Return the searches of a state: of each setting one list, or one for each target; raise PageError."""
    requests = []
    settings = [state.setting] if state.other is None else [state.setting, state.other]
    for setting in settings:
        choice = choices(info, setting, bool(state.text))
        targets = setting.targets or _searched(choice, setting.view, _askable(state, info))
        fused = state.lists == ONE or state.other is not None or len(targets) == 1
        lists: list[tuple[str, ...]] = [(target,) for target in targets[:_MOST_LISTS]]
        for chosen in [setting.targets] if fused else lists:
            request = _request(state, setting, choice, info, uploads, chosen)
            requests.append(Search(", ".join(chosen) or ", ".join(choice.targets), request, setting, choice))
    return requests


def _searched(choice: Choices, view: str, askable: Collection[str]) -> tuple[str, ...]:
    """Return the targets that a query of a view can search, or of all ``askable`` views."""
    if choice.space.cross_view:
        return choice.targets
    views = view.split("+") if view else askable
    return tuple(target for target in choice.targets if target.partition(":")[0] in views) or choice.targets


def _askable(state: SearchState, info: Any) -> set[str]:
    """Return the views that take all inputs of the query; items have rows of any view."""
    kinds = {"text"} if state.text else set[str]()
    kinds |= {"image" for example in state.examples if example.kind == "picture"}
    return {view.name for view in info.views if kinds <= set(view.inputs)}


def _request(
    state: SearchState, setting: Setting, choice: Choices, info: Any, uploads: Uploads, targets: Sequence[str]
) -> pb.SearchRequest:
    request = pb.SearchRequest(parent=info.name, space=choice.name, targets=targets, k=PAGE, per=state.per)
    request.include_missing = state.missing
    if state.where:
        request.filter.where = state.where
    inputs = {view.name: set(view.inputs) for view in info.views}
    if state.text:
        request.queries.add(text=state.text, view=_view(setting.view, "text", inputs))
    for example in state.examples:
        query = request.queries.add()
        if example.kind == "key":
            query.key, query.view = example.value, setting.view
        else:
            picture = uploads.get(example.value)
            if picture is None:
                raise PageError(410, "the server has forgotten an uploaded picture: remove it, and choose it again")
            query.image, query.view = picture, _view(setting.view, "image", inputs)
        if not example.liked:
            query.weight = -1.0
    if len(request.queries) > 1 or any(not example.liked for example in state.examples):
        request.combine = pb.COMBINE_LEARN
    elif setting.view and len(targets or choice.targets) > 1:
        request.merge = True
    return request


def _view(wanted: str, kind: str, inputs: dict[str, set[str]]) -> str:
    """Return the view of a query, unless its parts do not take this kind of input."""
    return wanted if all(kind in inputs.get(part, ()) for part in wanted.split("+")) else ""
