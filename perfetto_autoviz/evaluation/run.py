"""Evaluation from captures to results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perfetto_autoviz.evaluation.frames import ACTIVITY, base_frames
from perfetto_autoviz.evaluation.labelled import try_labels
from perfetto_autoviz.evaluation.trial import Progress, Settings, Trial, try_capture
from perfetto_autoviz.evaluation.truth import read_labels
from perfetto_autoviz.ingest import RankedCapture
from perfetto_autoviz.opening import OpenOptions, open_ranks
from perfetto_autoviz.steps import Frames


def evaluate_captures(
    found: Sequence[RankedCapture],
    chosen: OpenOptions,
    settings: Settings,
    progress: Progress | None = None,
) -> Trial:
    """Injects anomalies into copies of captures, and counts which of them are found.

    The engines are closed before anything is tried.

    Args:
        found: the captures, one per rank.
        chosen: how they are opened.
        settings: how the trial is made.
        progress: told what is done.

    Raises:
        CaptureError: a file is no capture of a device.
        EngineError: no engine was found, or a capture doesn't fit into it.
    """
    return try_capture(_bases(found, chosen), chosen.steps, settings, progress)


def evaluate_labelled(
    found: Sequence[RankedCapture], chosen: OpenOptions, truths: Sequence[Path], seed: int
) -> Trial:
    """Scores what is found in captures against their truth files.

    Args:
        found: the captures, one per rank.
        chosen: how they are opened.
        truths: files with labels, of any of the ranks; see `perfetto_autoviz.synth.truth`.
        seed: of everything random.

    Raises:
        CaptureError: a file is no capture of a device, or no truth of these captures.
        EngineError: no engine was found, or a capture doesn't fit into it.
    """
    bases = _bases(found, chosen)
    activities = {rank: frames[ACTIVITY] for rank, frames in bases.items()}
    labels = [label for path in truths for label in read_labels(path, activities)]
    return try_labels(bases, chosen.steps, labels, seed)


def _bases(found: Sequence[RankedCapture], chosen: OpenOptions) -> dict[int, Frames]:
    with open_ranks(found, chosen) as opened:
        return opened.on_each(base_frames)
