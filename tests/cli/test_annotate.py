"""``autoviz annotate``: what is written where, and what is said about it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.handmade import BATCH_SIZES, LAYER_KERNELS, LAYERS, write_capture
from tests.engine.conftest import descendants

Run = Callable[..., Any]

KERNELS = len(BATCH_SIZES) * LAYERS * len(LAYER_KERNELS)


def _members(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_writes_the_original_and_its_annotations(autoviz: Run, capture: Path) -> None:
    original = capture.read_bytes()
    done = autoviz("annotate", capture)
    out = capture.with_name("small.autoviz.zip")
    assert (done.code, done.err) == (0, "")
    assert sorted(capture.parent.iterdir()) == [out, capture]
    assert capture.read_bytes() == original
    with zipfile.ZipFile(out) as archive:
        name, annotations = archive.namelist()
        assert annotations == "annotations.pftrace"
        assert archive.read(name) == original


def test_summary_of_a_known_capture(autoviz: Run, capture: Path) -> None:
    lines = autoviz("annotate", capture).out.splitlines()
    text = "\n".join(lines)
    assert lines[0] == "small.pt.trace.json"
    assert f"{KERNELS} kernels, 0 copies, 0 fills, 3 runtime calls" in text
    assert "iterations  3 decode (bs 8-16)" in text
    assert f"{LAYERS} in a step: {LAYERS} attention+mlp (8 kernels each)" in text
    assert "doubtful    nothing" in text
    assert f"autoviz open {capture.with_name('small.autoviz.zip')}" in text
    assert not any(line != line.rstrip() for line in lines)


def test_json_is_one_document_with_known_numbers(autoviz: Run, capture: Path) -> None:
    done = autoviz("annotate", capture, "--json")
    assert done.err == ""
    (found,) = json.loads(done.out)["captures"]
    assert found["counts"]["kernel"] == KERNELS
    assert found["iterations"] == [
        {"level": 0, "what": "decode", "count": 3, "batch_sizes": [8, 16]}
    ]
    assert found["layers_per_step"] == [LAYERS, LAYERS]
    # Kernels don't overlap: busy is the sum. A step lasts its kernels and the gaps of 1 µs.
    sums = [
        LAYERS * sum(dur + step for _, dur in LAYER_KERNELS) for step in range(len(BATCH_SIZES))
    ]
    (device,) = found["devices"]
    assert device["busy"] == 1000 * sum(sums)
    gaps = LAYERS * len(LAYER_KERNELS) - 1
    assert device["wall"] == 1000 * (2 * 1000 + sums[-1] + gaps)
    (phase,) = found["phases"]
    assert (phase["phase"], phase["iterations"]) == ("decode", 3)
    assert phase["wall"] == 1000 * (sum(sums) + 3 * gaps)
    assert phase["idle"] == 1000 * 3 * gaps
    gemm = next(family for family in found["families"] if family["family"] == "gemm")
    assert gemm["total"] == 1000 * LAYERS * sum(10 + 8 + 20 + 16 + 4 * step for step in range(3))
    assert found["doubts"] == []
    out = Path(found["output"])
    assert out.stat().st_size == found["output_size"]


def test_quiet_says_nothing(autoviz: Run, capture: Path) -> None:
    assert autoviz("annotate", capture, "--quiet") == (0, "", "")
    assert capture.with_name("small.autoviz.zip").exists()


@pytest.mark.parametrize("out", ["made/", "made", "made.d/deep/"])
def test_output_folder_is_made(autoviz: Run, capture: Path, tmp_path: Path, out: str) -> None:
    assert autoviz("annotate", capture, "-q", "-o", f"{tmp_path}/{out}").code == 0
    assert [path.name for path in (tmp_path / out).iterdir()] == ["small.autoviz.zip"]


def test_existing_output_is_kept_without_force(autoviz: Run, capture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.zip"
    out.write_text("precious")
    done = autoviz("annotate", capture, "-o", out)
    assert done.code == 2
    assert "--force" in done.err
    assert out.read_text() == "precious"
    assert autoviz("annotate", capture, "-q", "-f", "-o", out).code == 0
    assert len(_members(out)) == 2


def test_capture_is_never_its_own_output(autoviz: Run, capture: Path) -> None:
    packed = capture.with_name("packed.zip")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(capture, capture.name)
    before = packed.read_bytes()
    done = autoviz("annotate", packed, "--force", "-o", packed)
    assert done.code == 2
    assert "is the capture itself" in done.err
    assert packed.read_bytes() == before


def test_enriched_trace_is_annotated_anew_in_place(autoviz: Run, capture: Path) -> None:
    assert autoviz("annotate", capture, "-q").code == 0
    out = capture.with_name("small.autoviz.zip")
    first = out.read_bytes()
    done = autoviz("annotate", out)
    assert done.code == 0
    assert "iterations  3 decode" in done.out
    assert out.read_bytes() == first


def test_anchor_is_used(autoviz: Run, capture: Path) -> None:
    done = autoviz("annotate", capture, "--anchor", "act_and_mul", "--json")
    (found,) = json.loads(done.out)["captures"]
    assert list(found["layer_evidence"]) == ["chosen anchor"]
    done = autoviz("annotate", capture, "-f", "--anchor", "nothing_like_this", "--json")
    (found,) = json.loads(done.out)["captures"]
    assert found["layers"] == []
    assert [doubt["kind"] for doubt in found["doubts"]] == ["no_layers"]


def test_ranks_of_a_folder(autoviz: Run, tmp_path: Path) -> None:
    for rank in (1, 0):
        write_capture(tmp_path / f"any{rank}.json", distributedInfo={"rank": rank, "world_size": 2})
    done = autoviz("annotate", tmp_path, "--json", "-o", tmp_path / "out")
    found = json.loads(done.out)["captures"]
    assert [each["capture"]["rank"] for each in found] == [0, 1]
    assert [Path(each["output"]).name for each in found] == ["any0.autoviz.zip", "any1.autoviz.zip"]
    assert len({each["capture"]["run_id"] for each in found}) == 1


def test_two_files_of_one_rank_are_refused(autoviz: Run, tmp_path: Path) -> None:
    paths = [
        write_capture(tmp_path / name, distributedInfo={"rank": 0, "world_size": 2})
        for name in ("a.json", "b.json")
    ]
    done = autoviz("annotate", *paths)
    assert done.code == 2
    assert "rank 0" in done.err
    assert sorted(tmp_path.iterdir()) == paths


def test_one_output_file_for_two_captures_is_refused(autoviz: Run, tmp_path: Path) -> None:
    paths = [write_capture(tmp_path / f"rank{rank}.json") for rank in (0, 1)]
    done = autoviz("annotate", *paths, "-o", tmp_path / "one.zip")
    assert done.code == 2
    assert "give a folder with -o" in done.err


def test_missing_output_folder_is_refused_before_work(
    autoviz: Run, capture: Path, tmp_path: Path
) -> None:
    done = autoviz("annotate", capture, "-o", tmp_path / "no" / "out.zip")
    assert done.code == 2
    assert "there's no folder" in done.err


def test_unwritable_output_leaves_nothing(autoviz: Run, capture: Path) -> None:
    folder = Path("/proc/self")
    if not folder.is_dir():
        pytest.skip("needs a folder in which nobody can write")
    done = autoviz("annotate", capture, "-o", folder / "out.zip")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "out.zip" in done.err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "terminated"]
)
def test_interrupted_leaves_no_partial_file(capture: Path, number: int, code: int) -> None:
    command = [sys.executable, "-c", "import sys; from perfetto_autoviz.cli import main; "]
    command[-1] += "print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen(
        [*command, "annotate", str(capture)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        while not descendants(process.pid) and process.poll() is None:
            time.sleep(0.005)  # until the engine starts
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in err
    assert list(capture.parent.iterdir()) == [capture]
