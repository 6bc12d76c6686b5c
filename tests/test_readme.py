"""What the README shows is run as it stands there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfetto_autoviz import Session, open_trace
from perfetto_autoviz.cli.app import main
from tests.live import public_relations

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHIPPED = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The commands of the tour in order, but the one that waits for a browser."""
    shown = [line for block in blocks("bash") for line in block.splitlines()]
    shown += [
        line[2:] for block in blocks("console") for line in block.splitlines() if line[:2] == "$ "
    ]
    annotate = [line for line in shown if line.startswith("autoviz annotate")]
    others = [line for line in shown if line.startswith("autoviz") and line not in annotate]
    return annotate + [line for line in others if not line.startswith("autoviz open")]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_trace(SHIPPED) as opened:
        assert isinstance(opened, Session)
        yield opened


@pytest.mark.parametrize("sql", blocks("sql"))
def test_sql_examples_answer(session: Session, sql: str) -> None:
    assert not session.query(sql).empty


def test_python_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})


def test_the_tours_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    shown = commands()
    assert len(shown) >= 4
    for command in shown:
        words = shlex.split(command, comments=True)
        assert main(words[1:]) == 0, command
    assert (tmp_path / "out" / "vllm-gptoss20b.autoviz.zip").exists()
    assert list(tmp_path.glob("conc*_layer.csv"))
    printed = capsys.readouterr().out
    assert "decode" in printed
    assert_comparison_is_shown(printed, tmp_path / "out" / "compare")


def assert_comparison_is_shown(printed: str, results: Path) -> None:
    """The matches, the changes and the picture are those of the shipped builds."""
    rows = [line for block in blocks("text") for line in block.splitlines() if line[:2] == "P1"]
    assert len(rows) >= 4
    found = {" ".join(line.split()) for line in printed.splitlines()}
    assert {" ".join(row.split()) for row in rows} <= found
    shown = ROOT / "traces" / "qwen3-8b-builds" / "waterfall.svg"
    assert (results / "pairs" / "P1.1-P1.1" / shown.name).read_text() == shown.read_text()


def test_the_summary_is_the_one_that_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["annotate", str(SHIPPED), "-o", str(tmp_path / "demo.autoviz.zip")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    (shown,) = blocks("console")
    for line in shown.splitlines()[2:-1]:
        for stretch in line.split("…"):
            assert " ".join(stretch.split()).rstrip(" ·,") in printed


def test_every_public_relation_is_in_the_table() -> None:
    named = set(re.findall(r"`(autoviz_\w+)`", README))
    assert set(public_relations()) <= named


def test_the_csv_name_is_the_one_that_is_shown(session: Session) -> None:
    sizes = session.query("SELECT batch_size FROM autoviz_phase WHERE phase = 'decode'")
    usual = sizes["batch_size"].value_counts()
    assert f"conc{usual.index[0]}_layer.csv" in README
