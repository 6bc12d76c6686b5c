"""The row that says what a capture is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import pandas as pd

from perfetto_autoviz import sqlpackage
from perfetto_autoviz.engine import Engine
from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.ingest import Counts, RankedCapture
from perfetto_autoviz.ingest.events import DEVICE_ANNOTATION, HOST_ANNOTATION, LAUNCH, kind_of
from perfetto_autoviz.relations import CAPTURE, SCHEMA_VERSION
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps.framework import framework_of

_IDENTITY = (
    "file_name",
    "file_size",
    "sha256",
    "rank",
    "rank_evidence",
    "repairs",
    "left_out",
    "run_id",
)
"""What an enriched trace knows about its capture better than a scan of what is inside."""


def stored_identity(engine: Engine) -> dict[str, Any]:
    """What the annotations say about the file that they were made from."""
    module = sqlpackage.modules()[f"{sqlpackage.SOURCE_PREFIX}{CAPTURE.name}"]
    engine.execute(module.sql)
    rows = engine.query(f"SELECT {', '.join(_IDENTITY)} FROM {CAPTURE.source}")
    if rows.empty:
        return {}
    return {str(name): None if pd.isna(value) else value for name, value in rows.iloc[0].items()}


def capture_frame(
    session: Session, each: RankedCapture, identity: Mapping[str, Any]
) -> pd.DataFrame:
    """The row of the relation ``capture``: what the scan found, and the framework's name.

    Args:
        session: with the capture loaded.
        each: the capture's rank and where that is from.
        identity: columns that are known better; they replace what the scan found.
    """
    capture = session.capture
    counts = _counts(session)
    known = capture.metadata
    names = session.fetch("_autoviz_annotation", ("name",))["name"].unique()
    row = {
        "schema_version": SCHEMA_VERSION,
        "autoviz_version": version("perfetto-autoviz"),
        "file_name": capture.path.name,
        "file_size": capture.size,
        "sha256": capture.sha256,
        "rank": each.rank if each.rank is not None else known.rank,
        "rank_evidence": each.evidence,
        "world_size": known.world_size,
        "framework": framework_of(names.tolist()),
        "gpu_name": known.gpu_name,
        "gpu_count": known.gpu_count,
        "runtime": known.runtime,
        "collective_library": known.collective_library,
        "trace_name": known.trace_name,
        "base_time_ns": known.base_time_ns,
        "event_count": capture.event_count,
        "kernel_count": counts.kernel,
        "memcpy_count": counts.memcpy,
        "memset_count": counts.memset,
        "launch_count": counts.launch,
        "annotation_count": counts.annotation,
        "repairs": json.dumps([asdict(repair) for repair in capture.repairs]),
        "left_out": ",".join(capture.left_out) or None,
        "metadata": json.dumps(known.other),
        **identity,
    }
    return relation_frame(CAPTURE, {name: [value] for name, value in row.items()})


def device_counts(session: Session) -> dict[str, int]:
    """How many device activities of each kind the engine holds."""
    loaded = session.query("SELECT kind, count() AS n FROM _autoviz_device_slice GROUP BY kind")
    return dict(zip(loaded["kind"], loaded["n"].astype(int), strict=True))


_CATEGORIES = """
SELECT category, id IN (SELECT id FROM _autoviz_flow_launch) AS launches, count() AS n
FROM slice GROUP BY 1, 2
"""


def _counts(session: Session) -> Counts:
    """What the scan counted; of a native trace, what the engine resolved the names of."""
    if not session.capture.counts.unnamed:
        return session.capture.counts
    rows = session.query(_CATEGORIES)
    kind = rows["category"].fillna("").map(kind_of)
    launch = (kind == LAUNCH) | (rows["launches"] == 1)
    annotation = kind.isin([HOST_ANNOTATION, DEVICE_ANNOTATION])
    return Counts(
        **device_counts(session),
        launch=int(rows["n"][launch].sum()),
        annotation=int(rows["n"][annotation].sum()),
    )
