"""The manifest of a split: what each file holds, and from where."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from perfetto_autoviz.session import Session
from perfetto_autoviz.splitting.split import Cut
from perfetto_autoviz.splitting.windows import Wanted
from perfetto_autoviz.wholefile import replacing

MANIFEST = "manifest.json"
_SCHEMA = "autoviz-split"
_VERSION = 1
_BLOCK = 1 << 20


def manifest_of(
    wanted: Wanted, *, compact: bool, enriched: bool, captures: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The manifest without its files; the same input makes the same one.

    Args:
        wanted: what was asked for.
        compact: whether the frames of Python were left out.
        enriched: whether the files are enriched traces.
        captures: from `describe_capture`.
    """
    return {
        "schema": _SCHEMA,
        "version": _VERSION,
        "generator": f"perfetto-autoviz {version('perfetto-autoviz')}",
        "options": {**asdict(wanted), "compact": compact, "enriched": enriched},
        "captures": list(captures),
        "files": [],
    }


def describe_capture(session: Session) -> dict[str, Any]:
    """Where a cut is from."""
    capture = session.capture
    return {
        "name": capture.path.name,
        "member": capture.member,
        "rank": session.rank,
        "sha256": capture.sha256,
        "size": capture.size,
        "events": capture.event_count,
        "repairs": {repair.kind: repair.count for repair in capture.repairs},
    }


def describe_file(cut: Cut, file: Path, folder: Path, capture: dict[str, Any]) -> dict[str, Any]:
    """What a file holds.

    Args:
        cut: what was cut.
        file: the file that came of it.
        folder: the folder of the manifest.
        capture: from `describe_capture`.
    """
    contents = cut.contents
    return {
        "file": file.relative_to(folder).as_posix(),
        "window": cut.window.name,
        "chosen_by": list(cut.window.chosen_by),
        "capture": capture["name"],
        "rank": capture["rank"],
        "size": file.stat().st_size,
        "sha256": _sha256(file),
        "ts": contents.ts,
        "dur": contents.dur,
        "counts": contents.counts,
        "activities_between_iterations": contents.between,
        "phases": contents.phases,
        "iterations": list(contents.iterations),
    }


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest, whole or not at all."""
    with replacing(folder / MANIFEST) as partial:
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        partial.write_text(text + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
