"""What is imported before anything is asked for, and how failures are told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import pytest

from perfetto_autoviz.cli import app
from perfetto_autoviz.cli.app import COMMANDS
from perfetto_autoviz.cli.split import MODES
from perfetto_autoviz.cli.synth import LAUNCH_MODES
from perfetto_autoviz.steps.steady_state.windows import Mode
from perfetto_autoviz.synth.program import LaunchMode

Run = Callable[..., Any]

_HEAVY = ("torch", "pandas", "numpy")
_PROBE = f"""
import json, sys
from perfetto_autoviz.cli import main
for arguments in json.loads(sys.argv[1]):
    main(arguments)
    loaded = [name for name in {_HEAVY!r} if name in sys.modules]
    print("after", arguments, "loaded", loaded)
"""


def test_help_loads_nothing_heavy() -> None:
    asked = [["--help"], ["--version"], [], ["synth"], *([name, "--help"] for name in COMMANDS)]
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("after ")]
    assert told == [f"after {arguments} loaded []" for arguments in asked]


def test_every_command_has_the_same_two_members() -> None:
    context = app.group.make_context("autoviz", ["--help"], resilient_parsing=True)
    for name in COMMANDS:
        command = app.group.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert callable(command.callback)
        assert command.callback.__name__ == "run"


def test_help_names_all_commands(autoviz: Run) -> None:
    for arguments in (["--help"], []):
        done = autoviz(*arguments)
        assert done.code == 0
        assert all(f"  {name} " in done.out for name in COMMANDS)


def test_the_package_runs_as_the_command_does(autoviz: Run) -> None:
    for arguments, code in ((["--help"], 0), (["annotate", "missing.json"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "perfetto_autoviz", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
        )
        command = autoviz(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == command
        assert done.returncode == code


def test_version(autoviz: Run) -> None:
    done = autoviz("--version")
    assert (done.code, done.out) == (0, f"autoviz {version('perfetto-autoviz')}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "No such command 'nope'"),
        (["--nope"], "No such option '--nope'"),
        (["annotate"], "Missing argument 'CAPTURE...'; see autoviz annotate --help"),
        (["query", "x.json"], "Missing argument 'SQL'"),
        (["query", "x.json", "SELECT 1", "--format", "xml"], "'xml' is not one of"),
        (["annotate", "x.json", "--anchor", "("], "'(' is no regular expression"),
        (["layers"], "no trace was given"),
        (["synth"], "no preset was given"),
        (["synth", "nope"], "no preset 'nope'"),
        (["synth", "vllm-gptoss20b", "--steps", "0"], "0 is not in the range"),
        (["open", "x.json", "--port", "70000"], "70000 is not in the range"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(
    autoviz: Run, arguments: list[str], said: str
) -> None:
    done = autoviz(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("autoviz: ")
    assert said in done.err
    assert done.err.count("\n") == 1


def _bad_inputs(folder: Path) -> dict[str, Path]:
    made = {
        "missing": folder / "missing.json",
        "empty": folder / "empty.json",
        "page": folder / "page.json",
        "pointer": folder / "pointer.json.gz",
        "folder": folder / "nothing",
        "host": folder / "host.json",
    }
    made["empty"].touch()
    made["page"].write_text("<!DOCTYPE html><html><body>Sign in</body></html>")
    made["pointer"].write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    )
    made["folder"].mkdir()
    made["host"].write_text(
        '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}'
    )
    return made


@pytest.mark.parametrize("kind", ["missing", "empty", "page", "pointer", "folder", "host"])
@pytest.mark.parametrize("command", ["annotate", "query", "layers", "open"])
def test_bad_input_is_told_in_one_line(
    autoviz: Run, tmp_path: Path, command: str, kind: str
) -> None:
    if (command, kind) == ("open", "host"):
        pytest.skip("a trace without device work can be looked at")
    path = _bad_inputs(tmp_path)[kind]
    before = sorted(tmp_path.rglob("*"))
    more = {"query": ["SELECT 1"], "open": ["--no-browser"], "layers": ["--csv"]}.get(command, [])
    done = autoviz(command, path, *more)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("autoviz: ")
    assert path.name in done.err
    assert done.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_missing_engine_is_told_in_one_line(autoviz: Run, capture: Path) -> None:
    done = autoviz("query", capture, "SELECT 1", "--trace-processor", "/nowhere/shell")
    assert done.code == 2
    assert "there's no trace processor at /nowhere/shell" in done.err
    assert done.err.count("\n") == 1


def test_a_bug_is_told_in_one_line(autoviz: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_arguments: object) -> None:
        raise RuntimeError("this can't\nbe")

    monkeypatch.setattr("perfetto_autoviz.cli.doctor.command.callback", fails)
    done = autoviz("doctor")
    assert done.code == 70
    assert done.err == (
        "autoviz: this is a bug, please report it: RuntimeError: this can't be"
        " (AUTOVIZ_DEBUG=1 shows where)\n"
    )
    monkeypatch.setenv("AUTOVIZ_DEBUG", "1")
    with pytest.raises(RuntimeError):
        autoviz("doctor")


def test_launch_modes_are_the_synthesisers() -> None:
    assert get_args(LaunchMode) == LAUNCH_MODES


def test_modes_of_windows_are_those_of_the_steps() -> None:
    assert ("all", *get_args(Mode)) == MODES


def test_a_closed_output_is_no_bug() -> None:
    done = subprocess.run(
        f'"{sys.executable}" -c "{_MAIN}" doctor --json >&-',
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "bug" not in done.stderr
    assert done.returncode in (0, 2)


_MAIN = "import sys; from perfetto_autoviz.cli.app import main; sys.exit(main())"
