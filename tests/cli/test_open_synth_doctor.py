"""The commands that need no engine of their own: open, synth and doctor."""

from __future__ import annotations

import json
import re
import socket
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from perfetto_autoviz.cli.open import PINNED
from perfetto_autoviz.synth import PRESETS, read_truth
from perfetto_autoviz.tracks.specs import DATA_TITLE
from perfetto_autoviz.tracks.views import track_specs

Run = Callable[..., Any]


@pytest.fixture
def opened_link(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Links that were given to a browser, which reads the file as the page would."""
    links: list[str] = []

    def browse(link: str) -> bool:
        links.append(link)
        found = re.search(r"url=([^&]+)", link)
        assert found
        url = unquote(found[1])
        reader = threading.Thread(target=lambda: urllib.request.urlopen(url).read())
        reader.start()
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    return links


def test_open_serves_once_and_ends(autoviz: Run, capture: Path, opened_link: list[str]) -> None:
    assert autoviz("annotate", capture, "-q").code == 0
    done = autoviz("open", capture.with_name("small.autoviz.zip"), "--port", 0, "--timeout", 20)
    assert done.code == 0
    assert done.out == opened_link[0] + "\n"
    assert done.out.startswith("https://ui.perfetto.dev/#!/?url=http%3A%2F%2F127.0.0.1%3A")
    commands = json.loads(unquote(done.out.partition("startupCommands=")[2]))
    assert [command["args"][0] for command in commands[:2]] == [
        "^autoviz$",
        r"^(iterations|phases|steady state|layers|patterns|anomalies|blamed kernels|comparison)"
        r"( level \d+)?$",
    ]
    assert "the page has read it" in done.err


def test_open_says_what_is_not_annotated(
    autoviz: Run, capture: Path, opened_link: list[str]
) -> None:
    done = autoviz("open", capture, "--port", 0, "--timeout", 20)
    assert done.code == 0
    assert opened_link
    assert f"small.pt.trace.json has no annotations: autoviz annotate {capture}" in done.err


def test_open_gives_up(autoviz: Run, capture: Path) -> None:
    done = autoviz("open", capture, "--no-browser", "--port", 0, "--timeout", 0.3, "-q")
    assert done.code == 2
    assert done.out.startswith("https://ui.perfetto.dev/")
    assert done.err == (
        "autoviz: nobody read small.pt.trace.json within 0.3 s: open the link sooner\n"
    )


def test_open_says_that_the_port_is_taken(autoviz: Run, capture: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = autoviz("open", capture, "--no-browser", "--port", other.getsockname()[1], "-q")
    assert (done.code, done.out) == (2, "")
    assert "can't be used" in done.err
    assert done.err.count("\n") == 1


def test_pinned_tracks_are_those_we_write() -> None:
    from perfetto_autoviz.frames import relation_frame
    from perfetto_autoviz.relations import RELATIONS

    frames = {relation.name: relation_frame(relation, {}) for relation in RELATIONS}
    assert tuple(spec.title for spec in track_specs(frames) if spec.title != DATA_TITLE) == PINNED


def test_synth_lists_all_presets(autoviz: Run) -> None:
    done = autoviz("synth", "--list")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == list(PRESETS)


def test_synth_writes_what_was_asked_for(autoviz: Run, tmp_path: Path) -> None:
    out = tmp_path / "made"
    arguments = ("synth", "sglang-qwen3-8b-tp2", "--steps", 3, "--ranks", 2, "--seed", 5)
    done = autoviz(*arguments, "--launch", "graph", "-o", out)
    assert (done.code, done.err) == (0, "")
    truths = sorted(out.glob("*.truth.json.gz"))
    assert len(truths) == 2
    assert len(list(out.iterdir())) == 4
    for rank, path in enumerate(truths):
        truth = read_truth(path)
        assert (truth.header.rank, truth.header.seed) == (rank, 5)
        assert sum(i.kind == "step" and i.level == 0 for i in truth.iterations) == 3
        assert {i.launch for i in truth.iterations} == {"graph"}
    assert all(str(path) in done.out for path in out.iterdir())
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    assert autoviz(*arguments, "--launch", "graph", "-o", out).code == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


def test_synth_replaces_no_recorded_capture(autoviz: Run, tmp_path: Path) -> None:
    recorded = tmp_path / "vllm-gptoss20b.pt.trace.json.gz"
    recorded.write_text("recorded")
    done = autoviz("synth", "vllm-gptoss20b", "--steps", 1, "-o", tmp_path)
    assert done.code == 2
    assert recorded.read_text() == "recorded"
    assert "is no folder" in autoviz("synth", "vllm-gptoss20b", "-o", recorded).err


def test_synth_makes_two_builds(autoviz: Run, tmp_path: Path) -> None:
    arguments = ("synth", "sglang-qwen3-8b", "--steps", 2, "--edits", 3, "-o", tmp_path)
    assert autoviz(*arguments).code == 0
    truths = [read_truth(next((tmp_path / name).glob("*.truth.json.gz"))) for name in "ab"]
    assert not truths[0].edits
    changes = [edit for edit in truths[1].edits if edit.kind != "same"]
    assert len(changes) == 3
    assert autoviz(*arguments, "--edit-seed", 9).code == 0
    other = read_truth(next((tmp_path / "b").glob("*.truth.json.gz")))
    assert [edit for edit in other.edits if edit.kind != "same"] != changes
    assert "give --edits too" in autoviz("synth", "sglang-qwen3-8b", "--edit-seed", 9).err


def test_doctor_in_words_and_as_json(autoviz: Run) -> None:
    found = autoviz("doctor", "--json")
    report = json.loads(found.out)
    assert found.code == (0 if report["works"] else 2)
    words = autoviz("doctor")
    assert words.code == found.code
    assert all(engine["kind"] in words.out for engine in report["engines"])
    assert ("all is well" in words.out) == report["works"]


def test_doctor_says_what_to_do(autoviz: Run) -> None:
    done = autoviz("doctor", "--trace-processor", "/nowhere/shell")
    assert done.code == 2
    assert "there's no trace processor at /nowhere/shell" in done.out
    assert "what to do" in done.out
    assert "something is missing" in done.out
