"""Abnormal runs from a capture to the enriched file, SQL and the command line."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from perfetto_autoviz import open_trace
from perfetto_autoviz.cli.app import main
from perfetto_autoviz.engine import Engine
from perfetto_autoviz.reports.anomalies.page import page
from perfetto_autoviz.reports.anomalies.report import anomaly_report
from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import SynthCapture, preset, read_truth, synthesise
from tests.conftest import RANKS, ROOT
from tests.live import bare_engine

STEPS, LAYERS = 24, 48
EACH = 2
"""Anomalies of each kind: a spike, a stall, a swap, a drift, a missing and an extra kernel."""

LAYERS_FLAGGED = """
    SELECT anomaly.id, anomaly.ts, anomaly.dur, anomaly.test, anomaly.tests, anomaly.explanation
    FROM autoviz_run_anomaly AS anomaly
    WHERE anomaly.level > 0
"""
BLAMED = """
    SELECT blamed.run_anomaly_id, blamed.ranking, blamed.channel, blamed.kind, blamed.op,
           blamed.ts, blamed.dur, kernel.ts AS kernel_ts, kernel.dur AS kernel_dur,
           blamed.explanation
    FROM autoviz_kernel_anomaly AS blamed
    LEFT JOIN autoviz_kernel AS kernel USING (seq)
"""


pytestmark = pytest.mark.usefixtures("short_training")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> SynthCapture:
    """Decode steps of a replayed graph, in which things go wrong in known layers."""
    spec = preset("sglang-qwen3-30b-a3b-b300", steps=STEPS, seed=11, launch="graph", anomalies=EACH)
    return synthesise(spec, tmp_path_factory.mktemp("synth"))[0]


@pytest.fixture(scope="module")
def enriched(capture: SynthCapture, short_training: None) -> Path:
    out = capture.path.with_name("enriched.autoviz.zip")
    arguments = ["annotate", str(capture.path), "-o", str(out), "--autoencoder", "-q"]
    assert main(arguments) == 0
    return out


class Stored(NamedTuple):
    """What a plain trace processor reads from the enriched file."""

    flagged: pd.DataFrame
    blamed: pd.DataFrame
    drawn: dict[str, pd.DataFrame]
    told: dict[str, pd.DataFrame]
    tracks: set[str]


@pytest.fixture(scope="module")
def stored(enriched: Path) -> Stored:
    relations = ("run_anomaly", "kernel_anomaly")
    with bare_engine(enriched) as engine:
        if engine.drops_overlaps:
            _check_all_there(engine)
        drawn = "SELECT ts, dur FROM slice WHERE category = 'autoviz.{}' AND dur > 0"
        told = "SELECT ts, dur FROM autoviz_{} WHERE ts IS NOT NULL"
        return Stored(
            engine.query(LAYERS_FLAGGED),
            engine.query(BLAMED),
            {name: engine.query(drawn.format(name)) for name in relations},
            {name: engine.query(told.format(name)) for name in relations},
            set(engine.query("SELECT DISTINCT name FROM track")["name"].dropna()),
        )


def _check_all_there(engine: Engine) -> None:
    """Overlapping kernels are lost in an old engine; what is found doesn't depend on that."""
    assert engine.query("SELECT count() AS n FROM autoviz_run_anomaly")["n"].iloc[0] > 0


def labels(capture: SynthCapture) -> list[dict[str, Any]]:
    document = json.loads(gzip.decompress(capture.truth_path.read_bytes()))
    return list(document["anomalies"])


def in_decode(capture: SynthCapture, label: dict[str, Any]) -> bool:
    """Whether a label's layer is of a decode step: of prefills there are few to learn from."""
    steps = read_truth(capture.truth_path).iterations
    step = max((one for one in steps if one.ts <= label["ts"]), key=lambda one: one.ts)
    return step.phase == "decode"


def overlapping(flagged: pd.DataFrame, label: dict[str, Any]) -> pd.DataFrame:
    """Flagged layers most of which lies in a label's layer, or the other way round."""
    start, end = label["ts"], label["ts"] + label["dur"]
    inside = flagged[["ts", "dur"]].assign(end=flagged["ts"] + flagged["dur"])
    shared = inside["end"].clip(upper=end) - inside["ts"].clip(lower=start)
    return flagged[shared > 0.5 * label["dur"]]


def test_what_went_wrong_is_found_and_blamed(capture: SynthCapture, stored: Stored) -> None:
    flagged, blamed = stored.flagged, stored.blamed
    known = labels(capture)
    found = [overlapping(flagged, label) for label in known]
    missed = [label for label, rows in zip(known, found, strict=True) if rows.empty]
    assert len(known) >= 6 * EACH
    assert len(missed) <= 3
    assert not [label["kind"] for label in missed if in_decode(capture, label)]
    right = []
    for label, rows in zip(known, found, strict=True):
        if label["kind"] in ("spike", "stall") and len(rows):
            first = blamed[blamed["run_anomaly_id"].isin(rows["id"]) & (blamed["ranking"] == 1)]
            culprits = {culprit["ts"] for culprit in label["culprits"]}
            right.append(bool(culprits & set(first["ts"])))
    assert len(right) >= 2 * EACH - 1
    assert sum(right) >= len(right) - 1


def test_few_others_are_flagged(capture: SynthCapture, stored: Stored) -> None:
    flagged = stored.flagged
    by_network = flagged[flagged["test"] != "duration"]
    known = pd.concat([overlapping(by_network, label) for label in labels(capture)])
    others = len(by_network) - known["id"].nunique()
    assert others < 0.04 * STEPS * LAYERS


def test_blamed_kernels_are_kernels(stored: Stored) -> None:
    blamed = stored.blamed
    there = blamed[blamed["kernel_ts"].notna()]
    assert len(there)
    assert (there["ts"] == there["kernel_ts"]).all()
    assert (there["dur"] == there["kernel_dur"]).all()
    assert (blamed["ts"].isna() == (blamed["kind"] == "missing")).all()
    assert blamed["explanation"].str.len().gt(0).all()


def test_slices_are_drawn_over_the_runs_and_kernels(stored: Stored) -> None:
    for relation, drawn in stored.drawn.items():
        told = stored.told[relation]
        assert sorted(drawn.itertuples(index=False)) == sorted(told.itertuples(index=False))
    assert "blamed kernels" in stored.tracks
    assert any(name.startswith("anomalies") for name in stored.tracks)


class Told(NamedTuple):
    """What the command wrote for two ranks, and its files."""

    out: str
    err: str
    csv: Path
    html: Path
    model: Path


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, short_training: None) -> Told:
    folder = tmp_path_factory.mktemp("told")
    csv, html, model = (folder / name for name in ("a.csv", "a.html", "a.npz"))
    out, err = io.StringIO(), io.StringIO()
    arguments = ["anomalies", str(RANKS), "--csv", str(csv), "--html", str(html)]
    with redirect_stdout(out), redirect_stderr(err):
        assert main([*arguments, "--save-model", str(model)]) == 0
    return Told(out.getvalue(), err.getvalue(), csv, html, model)


def test_the_command_tells_it_all(told: Told) -> None:
    assert "Late rank" in told.out
    assert "not judged by autoencoder: 32 runs" in told.out
    assert f"written to {told.model}" in told.err
    rows = pd.read_csv(told.csv)
    assert rows["ranking"].tolist() == list(range(1, len(rows) + 1))
    assert set(rows["rank"]) == {0, 1}
    text = told.html.read_text(encoding="utf-8")
    # plotly.js holds addresses of its own; nothing may be fetched from any.
    assert "default-src &#x27;none&#x27;" in text
    assert "<script src" not in text


def test_a_saved_model_finds_the_same(told: Told, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["anomalies", str(RANKS), "--model", str(told.model), "--json"]) == 0
    again = json.loads(capfd.readouterr().out)
    assert len(again["anomalies"]) == len(pd.read_csv(told.csv))


def test_a_model_of_other_patterns_is_refused(
    told: Told, capfd: pytest.CaptureFixture[str]
) -> None:
    other = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"
    assert main(["anomalies", str(other), "--model", str(told.model)]) == 2
    assert "has no model of any pattern of these captures" in capfd.readouterr().err


def test_what_is_stored_is_shown_again_with_names_escaped(enriched: Path) -> None:
    with open_trace(enriched) as session:
        assert isinstance(session, Session)
        assert session.stored
        report = anomaly_report([session])
        document = report.as_dict()
        evil = "</script><script>alert(1)</script><b>kernel"
        named = replace(report, runs=report.runs.assign(explanation=evil))
        text = page(named, [session], None)
    assert {one["test"] for one in document["combinations"]} == {"duration", "autoencoder"}
    assert [one["ranking"] for one in document["anomalies"][:3]] == [1, 2, 3]
    assert text.count("alert(1)") > len(report.runs)
    assert "<script>alert" not in text
    assert "<b>kernel" not in text
