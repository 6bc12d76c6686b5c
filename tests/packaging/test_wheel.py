"""A built wheel is complete, and works where there are no sources."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path

import pytest

from perfetto_autoviz.engine import start_engine
from perfetto_autoviz.errors import EngineError

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"
STEPS = 24  # real engine steps in it, as traces/README.md says
LAYERS = 24  # of its model

BUILD_SECONDS = 300
COMMAND_SECONDS = 120


def run(
    command: Sequence[str | Path],
    *,
    timeout: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        timeout=timeout,
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built the way that anyone builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip: list[str | Path] = [sys.executable, "-m", "pip"]
    run([*pip, "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], timeout=BUILD_SECONDS)
    (built,) = folder.glob("*.whl")
    return built


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a folder outside of the sources."""

    scripts: Path
    folder: Path

    def run(self, *command: str | Path) -> str:
        """Output of a console script, run where the sources can't be found."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_"))}
        name, *arguments = command
        return run(
            [self.scripts / name, *arguments], cwd=self.folder, env=clean, timeout=COMMAND_SECONDS
        )


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an environment of its own, which borrows only the dependencies.

    Installing PyTorch once more would take minutes. A path file lends what the tests run
    with; unlike a site folder, it brings no editable installation with it, which is named
    by a path file of its own.
    """
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    variables = {"base": str(environment), "platbase": str(environment)}
    packages = Path(sysconfig.get_path("purelib", "venv", variables))
    scripts = Path(sysconfig.get_path("scripts", "venv", variables))
    python = scripts / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python]
    run([*pip, "install", "--quiet", "--no-deps", wheel], timeout=COMMAND_SECONDS)
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return Installed(scripts, folder)


def members(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def below(folder: str, *suffixes: str) -> set[str]:
    """Files of the sources, as paths from their root."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes
    }


def test_wheel_holds_every_sql_module(wheel: Path) -> None:
    modules = below("sql", ".sql")
    assert {"sql/kernels.sql", "sql/source/iteration.sql"} <= modules
    assert {f"perfetto_autoviz/{name}" for name in modules} <= members(wheel)


def test_wheel_holds_every_source_and_data_file(wheel: Path) -> None:
    wanted = below("perfetto_autoviz", ".py", ".mjs", ".json", ".html", ".css", ".js")
    assert {
        "perfetto_autoviz/engine/wasm/trace_processor.mjs",
        "perfetto_autoviz/synth/models.json",
    } <= wanted
    assert wanted <= members(wheel)


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    folders = {name.partition("/")[0] for name in members(wheel)}
    assert {f for f in folders if not f.endswith(".dist-info")} == {"perfetto_autoviz"}
    assert not [name for name in members(wheel) if "__pycache__" in name]


def test_metadata_names_the_licence_and_the_dependencies(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        head = BytesParser().parsebytes(archive.read(metadata), headersonly=True)
        assert any(n.endswith("licenses/LICENSE") for n in archive.namelist())
    assert head["License-Expression"] == "Apache-2.0"
    required = {line.split(">")[0] for line in head.get_all("Requires-Dist", [])}
    assert {"numpy", "pandas", "perfetto", "torch", "rapidfuzz", "sqlglot", "click"} <= required


def test_installed_package_is_not_the_source_tree(installed: Installed) -> None:
    code = "import perfetto_autoviz.sqlpackage as s; print(s.__file__); print(s.sql_folder())"
    module, sql = installed.run("python", "-c", code).splitlines()
    for path in (Path(module), Path(sql)):
        assert path.is_relative_to(installed.folder)
        assert not path.is_relative_to(ROOT)


def test_installed_command_tells_its_version_and_help(installed: Installed, wheel: Path) -> None:
    assert wheel.name.split("-")[1] in installed.run("autoviz", "--version")
    assert "annotate" in installed.run("autoviz", "--help")


def test_installed_command_annotates_and_answers(installed: Installed) -> None:
    """All that the wheel carries is used: the engine's harness, the modules, the steps."""
    try:
        start_engine().close()
    except EngineError as error:
        pytest.skip(f"no trace processor: {error}")
    capture = Path(shutil.copy(CAPTURE, installed.folder))
    enriched = installed.folder / "enriched.zip"
    installed.run("autoviz", "annotate", capture, "-o", enriched)
    assert len(zipfile.ZipFile(enriched).namelist()) == 2
    sql = (
        "SELECT count() AS steps, (SELECT max(layer) + 1 FROM autoviz_layer) AS layers"
        " FROM autoviz_iteration WHERE is_real AND level = 0"
    )
    answer = installed.run("autoviz", "query", enriched, sql, "--format", "json")
    assert json.loads(answer) == [{"steps": STEPS, "layers": LAYERS}]
