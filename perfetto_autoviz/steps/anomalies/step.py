"""The step that finds abnormal runs of patterns over all ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import ANOMALY_GROUP, KERNEL_ANOMALY, RUN_ANOMALY, STRAGGLER
from perfetto_autoviz.steps.anomalies.context import CONTEXT_READS
from perfetto_autoviz.steps.anomalies.findings import Findings, find
from perfetto_autoviz.steps.anomalies.frames import anomaly_frames
from perfetto_autoviz.steps.anomalies.kernels import ACTIVITY
from perfetto_autoviz.steps.anomalies.runs import READS
from perfetto_autoviz.steps.anomalies.stragglers import Lateness, lateness
from perfetto_autoviz.steps.step import Frames, Read, SetStep

_COLLECTIVE = "communication"


def find_anomalies(
    ranks: Mapping[int, Frames], options: Options
) -> dict[int, dict[str, pd.DataFrame]]:
    """Abnormal runs by their duration and, if wanted, by the autoencoder.

    Returns:
        By rank the frames of ``anomaly_group``, ``run_anomaly`` and ``kernel_anomaly``, the
        rank's own, and of ``straggler``, equal for all ranks.
    """
    found = find(ranks, autoencoder=options.autoencoder)
    return anomaly_frames(found, late_ranks(found, ranks), ranks)


def late_ranks(found: Findings, ranks: Mapping[int, Frames]) -> dict[int, Lateness]:
    """How late each rank is, by pattern; empty for a single rank."""
    if len(ranks) < 2:
        return {}
    families = [ranks[rank][ACTIVITY]["family"] for rank in sorted(ranks)]
    collective = np.concatenate([(one == _COLLECTIVE).to_numpy(bool) for one in families])
    late = {
        pattern: lateness(found.runs.matrix(pattern), found.groups, collective)
        for pattern in found.runs.names
    }
    return {pattern: one for pattern, one in late.items() if one is not None}


def _merged(reads: tuple[Read, ...]) -> tuple[Read, ...]:
    """Reads with each relation once."""
    columns: dict[str, dict[str, None]] = {}
    for read in reads:
        columns.setdefault(read.relation, {}).update(dict.fromkeys(read.columns))
    return tuple(Read(relation, tuple(names)) for relation, names in columns.items())


ANOMALIES_STEP = SetStep(
    name="anomalies",
    reads=_merged((*READS, *CONTEXT_READS, Read(ACTIVITY, ("family",)))),
    makes=(ANOMALY_GROUP, RUN_ANOMALY, KERNEL_ANOMALY, STRAGGLER),
    run=find_anomalies,
)
