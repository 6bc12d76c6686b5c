"""``autoviz synth``: captures that were never recorded, with their truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfetto_autoviz.cli.terminal import show
from perfetto_autoviz.errors import UsageError

if TYPE_CHECKING:
    from perfetto_autoviz.synth import ScenarioSpec
    from perfetto_autoviz.synth.program import LaunchMode

LAUNCH_MODES = ("graph", "piecewise", "eager")
"""How steps can be launched; the synthesiser's own, named here to keep --help light."""


@click.argument("preset", required=False)
@click.option("--list", "list_presets", is_flag=True, help="List the presets.")
@click.option("--steps", type=click.IntRange(min=1), help="Engine steps. Default: the preset's.")
@click.option("--ranks", type=click.IntRange(min=1), help="Ranks, one file for each.")
@click.option("--seed", type=click.IntRange(min=0), help="Decides everything random.")
@click.option("--launch", type=click.Choice(LAUNCH_MODES), help="How all steps are launched.")
@click.option(
    "--anomalies",
    type=click.IntRange(min=1),
    help="Let so many of each kind of anomaly happen in layers: a kernel that lasts longer or"
    " waits, is missing, extra or in another's place, a layer that is slow as a whole, a"
    " collective that is slow on one rank. The truth labels them.",
)
@click.option(
    "--edits",
    type=click.IntRange(min=1),
    help="Make a second build too, with so many edits in each kind of layer: kernels renamed,"
    " split, fused, added, removed, moved, slower or faster. The builds go into DIR/a and"
    " DIR/b; the truth of b tells what became of each kernel of a.",
)
@click.option(
    "--edit-seed", type=click.IntRange(min=0), help="Decides the edits. Default: the seed."
)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    default=".",
    show_default=True,
    help="Folder for the files; made if missing.",
)
def run(
    preset: str | None,
    list_presets: bool,
    steps: int | None,
    ranks: int | None,
    seed: int | None,
    launch: LaunchMode | None,
    anomalies: int | None,
    edits: int | None,
    edit_seed: int | None,
    out: str,
) -> None:
    """Make a capture with known truth, or one of each of two builds.

    PRESET names a scenario after a measured capture (see --list). Each rank's capture gets
    its truth beside it: iterations, phases, layers, and the place of each kernel.
    """
    if list_presets:
        _list()
        return
    if preset is None:
        raise UsageError("no preset was given: autoviz synth --list shows them")
    if edit_seed is not None and edits is None:
        raise UsageError("--edit-seed decides the edits of a second build: give --edits too")
    from perfetto_autoviz.synth import preset as scenario

    spec = scenario(preset, steps=steps, ranks=ranks, seed=seed, launch=launch, anomalies=anomalies)
    folder = Path(out)
    if edits is None:
        _make([(spec, folder)])
    else:
        _make(_builds(spec, folder, edits, edit_seed))


def _builds(
    spec: ScenarioSpec, folder: Path, edits: int, edit_seed: int | None
) -> list[tuple[ScenarioSpec, Path]]:
    from perfetto_autoviz.synth import EditPlan, build_folders, second_build

    seed = spec.seed if edit_seed is None else edit_seed
    pair = second_build(spec, EditPlan(edits), seed)
    return list(zip((pair.a, pair.b), build_folders(folder), strict=True))


def _make(builds: list[tuple[ScenarioSpec, Path]]) -> None:
    from perfetto_autoviz.synth import synthesise

    for spec, folder in builds:
        _check_folder(spec, folder)
    for spec, folder in builds:
        try:
            made = synthesise(spec, folder)
        except OSError as error:
            raise UsageError(f"can't write to {folder}: {error.strerror or error}") from error
        for capture in made:
            click.echo(f"{capture.path}  rank {capture.rank}, {capture.events:,} events")
            click.echo(f"{capture.truth_path}  its truth")


command = click.command("synth")(run)


def _check_folder(spec: ScenarioSpec, folder: Path) -> None:
    """Only what was synthesised may be replaced: a capture with its truth beside it."""
    from perfetto_autoviz.synth import truth_path
    from perfetto_autoviz.synth.compose import capture_name

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder: give one with -o")
    for rank in range(spec.ranks):
        path = folder / capture_name(spec, rank)
        if path.exists() and not truth_path(path).exists():
            raise UsageError(f"{path} exists and has no truth beside it: choose another folder")


def _list() -> None:
    from rich.table import Table

    from perfetto_autoviz.synth import PRESETS

    found = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("Preset", "Model", "Annotations", "Ranks", "Steps"):
        found.add_column(name, justify="right" if name in ("Ranks", "Steps") else "left")
    for spec in PRESETS.values():
        model = spec.model if isinstance(spec.model, str) else spec.model.name
        found.add_row(spec.name, model, spec.dialect, str(spec.ranks), str(spec.steps))
    show(found)
