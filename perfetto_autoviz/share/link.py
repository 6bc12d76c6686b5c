"""Links that open a local file in ui.perfetto.dev and arrange its tracks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypedDict
from urllib.parse import quote

from perfetto_autoviz.tracks.specs import DATA_TITLE, ROOT_TITLE

UI_ORIGIN = "https://ui.perfetto.dev"
"""The page that may read the file."""

UI_PORT = 9001
"""The only local port from which that page's content security policy lets it load."""

KERNEL_STREAMS = r"^(stream \d+|swapper 0$|Thread \d{1,3}$|\d+ \(autoviz lane \d+\))"
"""Names of tracks with kernels: as Kineto names a stream's thread, e.g. ``stream 7  7``; as the
page calls stream 0 of device 0, whose numbers are those of Linux's idle thread, ``swapper 0``, and
a stream without a name, e.g. ``Thread 7`` (threads of the host have longer numbers); as a repaired
capture names the rest of an overlapping stream, e.g. ``7 (autoviz lane 1)``."""

_PIN, _EXPAND = "dev.perfetto.PinTracksByRegex", "dev.perfetto.ExpandTracksByRegex"
# Without it, some releases of the page stop and ask what the pattern is to be matched with.
_MATCH_NAME = "name"

# What has a meaning in a JavaScript regular expression; re.escape does more than it allows.
_SPECIAL = re.compile(r"[.*+?^${}()|\[\]\\]")


class Command(TypedDict):
    """A command that the page runs once the trace is loaded."""

    id: str
    args: list[str]


def startup_commands(titles: Sequence[str]) -> list[Command]:
    """Commands that expand our group and pin tracks and kernel streams at the top.

    Args:
        titles: titles of the tracks to pin, with all their levels; each may be absent.
    """
    commands: list[Command] = [
        {"id": _EXPAND, "args": [f"^{ROOT_TITLE}$", _MATCH_NAME]},
    ]
    shown = "|".join(_SPECIAL.sub(r"\\\g<0>", title) for title in titles if title != DATA_TITLE)
    if shown:
        commands.append({"id": _PIN, "args": [rf"^({shown})( level \d+)?$", _MATCH_NAME]})
    commands.append({"id": _PIN, "args": [KERNEL_STREAMS, _MATCH_NAME]})
    return commands


def file_url(name: str, port: int = UI_PORT) -> str:
    """Where the server offers a file of that name."""
    return f"http://127.0.0.1:{port}/{quote(name, safe='')}"


def ui_link(name: str, port: int = UI_PORT, commands: Sequence[Command] = ()) -> str:
    """The address that opens a served file in the page.

    Args:
        name: the file's name, without its folder.
        port: where it's served.
        commands: run by the page once the file is loaded.
    """
    link = f"{UI_ORIGIN}/#!/?url={quote(file_url(name, port), safe='')}"
    if commands:
        text = json.dumps(list(commands), ensure_ascii=False, separators=(",", ":"))
        link += f"&startupCommands={quote(text, safe='')}"
    return link
