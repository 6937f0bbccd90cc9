"""Commands that publish collections to object storage and an engine."""

import threading
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import JsonOption, NameArgument, YesOption, confirm, print_json, print_result
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.copies import QuietOption
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.publishing.publish import Publication

_SHOWN = 10
"""Items that are listed."""
EngineOption = Annotated[
    str, typer.Option("--engine", metavar="ADDRESS", help="The engine: milvus://HOST:PORT or milvus:FILE.db.")
]


@dataclass(frozen=True)
class PublishedName:
    """A published collection, as an engine has it."""

    name: str
    space: str
    bundle: str
    """The path of the bundle below the address of all bundles."""
    items: int
    generations: int
    """Number of its generations in the engine, with the one in use."""


@dataclass(frozen=True)
class Unpublished:
    """What was removed from an engine."""

    name: str
    generations: int


def publish(
    name: NameArgument,
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="Address of all bundles: a folder, s3://... or gs://...")
    ],
    engine: Annotated[
        str,
        typer.Option(
            "--engine", metavar="ADDRESS", help="Engine to fill: milvus://HOST:PORT or milvus:FILE.db [default: none]."
        ),
    ] = "",
    space: Annotated[str, typer.Option("--space", help="Space to publish [default: the active space].")] = "",
    published_name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Name to publish under [default: that of the collection].")
    ] = "",
    index: Annotated[
        str,
        typer.Option("--index", metavar="KIND", help="Kind of index in the engine: auto, flat, ivf, hnsw, diskann."),
    ] = "auto",
    follow: Annotated[bool, typer.Option("--follow", help="Then send changes as they happen, until Ctrl-C.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be published, and change nothing.")
    ] = False,
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish what a collection learned as a bundle, and its items to an engine.

    Servers without a catalog (crossview serve --bundle --engine) then answer for the collection. The engine is filled
    and checked beside the generation in use, which the new one replaces in one step. The same command finishes an
    interrupted publication.

    Examples:
        crossview publish pets --to /srv/bundles --engine milvus://localhost:19530
        crossview publish pets --to s3://models/crossview
        crossview publish pets --to /srv/bundles --engine milvus:pets.db --follow
    """
    from crossview.engine.home import Home
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.following import follow as send_changes
    from crossview.engine.publishing.milvus import Milvus
    from crossview.engine.publishing.publish import PublishRequest
    from crossview.engine.publishing.publish import publish as publish_

    connection = Milvus(engine_address(engine)) if engine else None
    request = PublishRequest(to=to, engine=connection, space=space, name=published_name, index=index, dry_run=dry_run)

    def show(found: "Publication") -> None:
        print_result(found, _described(found, dry_run), as_json)

    with Home(home).open(name) as collection:
        with progress_bar(not quiet and not as_json) as progress:
            found = publish_(collection, request, progress)
        show(found)
        if follow and connection is not None and not dry_run:
            stopping = threading.Event()
            try:
                for later in send_changes(collection, request, stopping):
                    show(later)
            except KeyboardInterrupt:
                stopping.set()
                say("stopped: the same command sends what changes later", err=True)
    if connection is not None:
        connection.close()


def unpublish(name: NameArgument, engine: EngineOption, yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Remove a published collection from an engine; its bundles and its catalog stay.

    Examples:
        crossview unpublish pets --engine milvus://localhost:19530 --yes
    """
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.following import remove
    from crossview.engine.publishing.milvus import Milvus

    with closing(Milvus(engine_address(engine))) as connection:
        if not yes:
            confirm(f"Remove {name} from engine {engine}?", f"removing {name} from an engine needs --yes")
        count = remove(connection, name)
    print_result(Unpublished(name, count), f"removed {name} from engine {engine}: {count} generations", as_json)


def published(engine: EngineOption, as_json: JsonOption = False) -> None:
    """List the published collections of an engine.

    Examples:
        crossview published --engine milvus://localhost:19530
    """
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.following import listed
    from crossview.engine.publishing.milvus import Milvus

    with closing(Milvus(engine_address(engine))) as connection:
        found = [PublishedName(**one) for one in listed(connection)]
    lines = [f"{one.name}: space {one.space}, {one.items:,} items, bundle {one.bundle}" for one in found]
    if as_json:
        print_json(found)
    else:
        say("\n".join(lines) or f"engine {engine} has no published collection")


def _described(found: "Publication", planned: bool) -> str:
    """Return a publication as sentences."""
    verb = "would publish" if planned else "published"
    lines = [f"{verb} space {found.space} of {found.items:,} items as {found.name}: bundle {found.bundle}"]
    for one in found.targets:
        recall = "" if one.recall is None else f", finds {one.recall:.1%} of the nearest items"
        lines.append(f"  {one.target}: {one.items:,} items, index {one.index}{recall}")
    if found.kept:
        lines.append(f"  {found.kept:,} items that servers wrote were taken over")
    lines += [f"  not published: {one.key}: {one.reason}" for one in found.failures[:_SHOWN]]
    if len(found.failures) > _SHOWN:
        lines.append(f"  and {len(found.failures) - _SHOWN:,} more")
    return "\n".join(lines)
