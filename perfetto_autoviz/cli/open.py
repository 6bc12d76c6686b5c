"""``autoviz open``: one file to ui.perfetto.dev, with our tracks in view."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import remark
from perfetto_autoviz.errors import UsageError

PINNED = (
    "iterations",
    "phases",
    "steady state",
    "layers",
    "patterns",
    "anomalies",
    "blamed kernels",
    "comparison",
)
"""Titles of the tracks that are pinned at the top."""

# The only port that the page's own rules let it read from.
_UI_PORT = 9001
_PATIENCE = 600.0


@click.argument("file")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_UI_PORT,
    show_default=True,
    help="Port on 127.0.0.1. The page reads from no other than the default.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=_PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the page.",
)
@options.quiet
def run(file: str, no_browser: bool, port: int, timeout: float, quiet: bool) -> None:
    """Open a trace in ui.perfetto.dev.

    FILE is served on this machine alone until the page has read it. The link expands and
    pins our tracks and the streams with kernels.
    """
    from perfetto_autoviz.ingest.source import locate
    from perfetto_autoviz.share.link import startup_commands, ui_link
    from perfetto_autoviz.share.serve import OneFileServer

    path = Path(file)
    enriched = locate(path).enriched
    if not enriched and not quiet:
        remark(f"{path.name} has no annotations: autoviz annotate {path} adds them")
    with OneFileServer(path, port) as server:
        link = ui_link(path.name, server.port, startup_commands(PINNED if enriched else ()))
        click.echo(link)
        if server.port != _UI_PORT and not quiet:
            remark(f"ui.perfetto.dev may refuse to read from port {server.port}")
        if not no_browser and not webbrowser.open(link) and not quiet:
            remark("no browser was found: open the link in one on this machine")
        if not quiet:
            remark(f"serving {path.name} until the page has read it; Ctrl-C ends it")
        if not server.wait(timeout):
            raise UsageError(f"nobody read {path.name} within {timeout:g} s: open the link sooner")
    if not quiet:
        remark("the page has read it")


command = click.command("open")(run)
