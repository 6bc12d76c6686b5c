from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perfetto_autoviz.engine import webassembly
from perfetto_autoviz.engine.doctor import doctor


def test_a_working_engine(wasm_folder: Path) -> None:
    report = doctor(str(wasm_folder))
    (engine,) = report.engines
    assert report.works
    assert (engine.kind, engine.version, engine.works) == ("wasm", "v55.3", True)
    assert engine.keeps_overlaps is False
    assert engine.location == str(wasm_folder)
    assert report.remedies == ()
    assert report.packages["torch"]
    assert json.loads(json.dumps(report.as_dict()))["engines"][0]["version"] == "v55.3"


def test_a_missing_engine(tmp_path: Path) -> None:
    report = doctor(str(tmp_path / "nothing"))
    assert not report.works
    assert report.engines[0].problem
    assert len(report.remedies) == 1
    assert "--trace-processor" in report.remedies[0]


def test_nothing_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AUTOVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AUTOVIZ_NO_DOWNLOAD", "1")
    monkeypatch.delenv("AUTOVIZ_TRACE_PROCESSOR", raising=False)
    report = doctor()
    assert [(engine.kind, engine.works) for engine in report.engines] == [
        ("native", False),
        ("wasm", False),
    ]
    assert report.tools == {"node": None, "npm": None}
    assert any("install Node.js" in remedy for remedy in report.remedies)
    assert any("trace_processor_shell" in remedy for remedy in report.remedies)


def test_a_damaged_cache(
    tmp_path: Path, wasm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOVIZ_CACHE", str(tmp_path))
    folder = tmp_path / webassembly.FOLDER
    folder.mkdir()
    for name in webassembly.FILES:
        (folder / name).write_bytes((wasm_folder / name).read_bytes())
    (folder / "trace_processor.wasm").write_bytes(b"damaged")
    monkeypatch.setenv("AUTOVIZ_NO_DOWNLOAD", "1")
    monkeypatch.delenv("AUTOVIZ_TRACE_PROCESSOR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    report = doctor()
    assert report.engines[1].problem == "trace_processor.wasm isn't the file that was fetched"
    assert report.remedies[0] == f"delete {folder}: it's fetched again"


def test_a_missing_package(wasm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfetto_autoviz.engine.doctor.PACKAGES", ("no-such-distribution",))
    report = doctor(str(wasm_folder))
    assert not report.works
    assert report.remedies == (
        "the Python package no-such-distribution is missing: pip install no-such-distribution",
    )


def test_torch_is_not_imported() -> None:
    program = "import sys, perfetto_autoviz.engine.doctor; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "False\n"
