from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from perfetto_autoviz.share.link import KERNEL_STREAMS, file_url, startup_commands, ui_link


def route_arguments(link: str) -> dict[str, list[str]]:
    """The arguments as the page reads them: from the fragment, `#!/?…`."""
    fragment = urlsplit(link).fragment
    assert fragment.startswith("!/?")
    return parse_qs(fragment.removeprefix("!/?"), strict_parsing=True)


@pytest.mark.parametrize(
    "name", ["trace.zip", "my trace.zip", "a+b&c=d#e?f.zip", "100%.zip", "层 'x' \"y\".zip"]
)
def test_any_file_name_survives_both_ways_of_quoting(name: str) -> None:
    link = ui_link(name, 9001, startup_commands(["iterations"]))
    assert link.startswith("https://ui.perfetto.dev/#!/?url=http%3A%2F%2F127.0.0.1%3A9001%2F")
    assert link.isascii()
    assert " " not in link
    arguments = route_arguments(link)
    (url,) = arguments["url"]
    assert url == file_url(name)
    assert unquote(urlsplit(url).path) == f"/{name}"
    assert set(arguments) == {"url", "startupCommands"}


def test_without_commands_there_is_only_the_file() -> None:
    assert ui_link("t.zip", 8080) == (
        "https://ui.perfetto.dev/#!/?url=http%3A%2F%2F127.0.0.1%3A8080%2Ft.zip"
    )


def test_commands_say_what_their_pattern_matches() -> None:
    (text,) = route_arguments(ui_link("t.zip", commands=startup_commands(["layers"])))[
        "startupCommands"
    ]
    commands = json.loads(text)
    assert [command["id"] for command in commands] == [
        "dev.perfetto.ExpandTracksByRegex",
        "dev.perfetto.PinTracksByRegex",
        "dev.perfetto.PinTracksByRegex",
    ]
    assert all(command["args"][1:] == ["name"] for command in commands)


def test_patterns_match_our_tracks_and_the_kernel_streams_only() -> None:
    # The patterns use only what JavaScript and Python have in common.
    titles = ["iterations", "busy share (%)", "autoviz data"]
    group, tracks, streams = (
        re.compile(command["args"][0]) for command in startup_commands(titles)
    )
    assert group.search("autoviz")
    assert not group.search("autoviz data")
    assert tracks.search("iterations")
    assert tracks.search("iterations level 1")
    assert tracks.search("busy share (%)")
    assert not tracks.search("my iterations")
    assert not tracks.search("autoviz data")
    # Thread names of real captures, with the number that the page appends to them.
    assert streams.search("stream 7  7")
    assert streams.search("stream 0 0")
    assert streams.search("Thread 7")
    assert streams.search("swapper 0")  # stream 0 of device 0, seen in the page's release 52
    assert not streams.search("swapper 01")
    assert not streams.search("Thread 1234")
    assert streams.search("7 (autoviz lane 1) 90001")
    assert not streams.search("thread 1234 (python) 1234")
    assert not streams.search("upstream 7")
    assert streams.pattern == KERNEL_STREAMS


def test_without_tracks_only_the_streams_are_pinned() -> None:
    assert len(startup_commands([])) == 2
