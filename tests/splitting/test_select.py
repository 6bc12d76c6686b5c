"""Which events a cut holds, on a capture in which that is known by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.splitting import handmade
from tests.splitting.conftest import Cutter


def _cut(cutter: Cutter, capture: Path, folder: Path, **wanted: Any) -> Any:
    manifest = cutter(capture, **wanted)
    (file,) = manifest["files"]
    return handmade.read(folder / "cuts" / file["file"])


def _names(found: Any, phases: str = "XBi") -> set[str]:
    return {event["name"] for event in found["traceEvents"] if event["ph"] in phases}


@pytest.mark.parametrize("name", handmade.VARIANTS)
def test_a_step_with_its_work_and_the_frames_around_it(
    name: str, cutter: Cutter, tmp_path: Path
) -> None:
    events = handmade.variant(name)
    capture = handmade.write(tmp_path / "x.json", events)
    found = _cut(cutter, capture, tmp_path, iterations="1")
    assert _names(found) == handmade.OF_STEP_1
    kept = {(e["cat"], e["id"]) for e in found["traceEvents"] if e["ph"] in "stf"}
    assert kept == handmade.FLOWS_OF_STEP_1
    named = {e["args"]["name"] for e in found["traceEvents"] if e["ph"] == "M"}
    assert named == {"python", "GPU 0", "thread main", "thread worker", "stream 7"}
    assert _names(found, "C") == {"queue"}
    # Nothing is changed, and the order is that of the capture.
    places = [events.index(event) for event in found["traceEvents"]]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    assert {key: found[key] for key in handmade.TOP} == handmade.TOP
    assert found["traceName"] == "hand-made"


def test_begin_and_end_events_stay_pairs(cutter: Cutter, tmp_path: Path) -> None:
    # No overlaps on the stream: brackets can't cross. The drawn spans come first.
    plain = [e for e in handmade.events() if e["name"] not in ("s1 wait of stream", "s1 node b")]
    for event in plain:
        if event["name"] in ("s1 node a", "s1 synchronize"):
            event["dur"] -= 1
    plain.sort(key=lambda event: (event["ts"], -event.get("dur", 0)))
    capture = handmade.write(tmp_path / "x.json", handmade.with_pairs(plain))
    found = _cut(cutter, capture, tmp_path, iterations="1")
    gone = {"s1 wait of stream", "s1 node b"}
    assert _names(found) == handmade.OF_STEP_1 - gone
    begins = [e for e in found["traceEvents"] if e["ph"] == "B"]
    ends = [e for e in found["traceEvents"] if e["ph"] == "E"]
    assert len(begins) == len(ends) > 0
    depth: dict[Any, int] = {}
    for event in sorted(begins + ends, key=lambda e: (e["ts"], e["ph"] == "B")):
        thread = event["pid"], event["tid"]
        depth[thread] = depth.get(thread, 0) + (1 if event["ph"] == "B" else -1)
        assert depth[thread] >= 0
    assert set(depth.values()) == {0}


def test_compact_leaves_out_python_frames_only(cutter: Cutter, tmp_path: Path) -> None:
    capture = handmade.write(tmp_path / "x.json")
    found = _cut(cutter, capture, tmp_path, iterations="1", compact=True)
    assert _names(found) == handmade.OF_STEP_1 - {"main", "loop", "loop of worker"}


def test_a_window_holds_what_lies_between_its_steps(cutter: Cutter, tmp_path: Path) -> None:
    events = [
        *handmade.events(),
        handmade.call("sampling", 1370, 4, 20),
        handmade.activity("sampling kernel", 1530, 5, 20),
        handmade.activity("without a launch", 1505, 1, 77),
    ]
    capture = handmade.write(tmp_path / "x.json", events)
    window, middle = cutter(capture, iterations="1-2", middle=True)["files"]
    found = handmade.read(tmp_path / "cuts" / window["file"])
    between = {"between steps 1 and 2", "sampling", "sampling kernel", "without a launch"}
    step_2 = {"step[DECODE bs=2]", "s2 launch", "s2 kernel", "gpu step 2"}
    assert _names(found) == handmade.OF_STEP_1 | step_2 | between
    assert window["activities_between_iterations"] == 1  # the orphan runs amid step 2
    assert middle["counts"]["kernels"] == 3


AROUND = "execute_diffusion_1_1024x1024"


def test_a_step_inside_another_is_cut_with_what_is_around_it(
    cutter: Cutter, tmp_path: Path
) -> None:
    around = handmade.x(AROUND, "user_annotation", handmade.HOST, handmade.MAIN, 1050, 500)
    capture = handmade.write(tmp_path / "x.json", [around, *handmade.events()])
    found = _cut(cutter, capture, tmp_path, iterations="1", level=1)
    assert _names(found) == handmade.OF_STEP_1 | {AROUND}


def test_several_files_in_one_pass(cutter: Cutter, tmp_path: Path) -> None:
    capture = handmade.write(tmp_path / "x.json")
    manifest = cutter(capture, iterations="all", last=True, phases=True)
    files = {file["window"]: file for file in manifest["files"]}
    assert list(files) == ["iteration-0", "iteration-1", "iteration-2", "phase-decode"]
    assert files["iteration-2"]["chosen_by"] == ["--iterations all", "--last"]
    cuts = {
        window: _names(handmade.read(tmp_path / "cuts" / file["file"]))
        for window, file in files.items()
    }
    assert cuts["iteration-1"] == handmade.OF_STEP_1
    apart = cuts["iteration-0"] | cuts["iteration-1"] | cuts["iteration-2"]
    assert cuts["phase-decode"] - apart == {
        "between steps 0 and 1", "between steps 1 and 2", "earlier on worker",
    }  # fmt: skip
    assert apart <= cuts["phase-decode"]


@pytest.mark.parametrize("bare", [False, True])
def test_text_that_is_no_json_is_mended(bare: bool, cutter: Cutter, tmp_path: Path) -> None:
    text = json.dumps(handmade.events())
    text = text.replace('"name": "s1 op"', '"name": "s1 op", "path": "C:\\new\\users"')
    text = text.replace('"length": 3', '"length": NaN')
    document = text if bare else f'{{"traceName": "C:\\Users", "traceEvents": {text}}}'
    capture = tmp_path / "x.json"
    capture.write_text(document)
    with pytest.raises(json.JSONDecodeError):
        json.loads(document, parse_constant=json.JSONDecoder().decode)
    (file,) = cutter(capture, iterations="1")["files"]
    found = handmade.read(tmp_path / "cuts" / file["file"])
    assert isinstance(found, list) == bare
    cut = found if bare else found["traceEvents"]
    assert {e["name"] for e in cut if e["ph"] in "Xi"} == handmade.OF_STEP_1
    (op,) = [e for e in cut if e["name"] == "s1 op"]
    assert op["path"] == "C:\\new\\users"
    if not bare:
        assert found["traceName"] == "C:\\Users"
