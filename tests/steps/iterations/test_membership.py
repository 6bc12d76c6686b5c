"""Activities belong to the span that launched them, also where the launch was lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.iterations.membership import Activities, adopt_unlaunched

LOST = -1


def activities(rows: Sequence[tuple[int, int, int]]) -> Activities:
    """From rows of stream, start in ns, and start of the launch; each takes 10 ns."""
    frame = pd.DataFrame(rows, columns=["stream", "ts", "launch_ts"])
    return Activities.of(
        frame.assign(
            dur=10,
            device=0,
            kind="kernel",
            launch_ts=frame["launch_ts"].astype("Int64").mask(frame["launch_ts"] == LOST),
            launch_utid=1,
        )
    )


def test_a_lost_launch_gives_work_to_the_step_around_it_on_its_stream() -> None:
    # The second step's first copy runs on stream 2 while the first step's graph, whose launch
    # was lost, still runs on stream 7.
    rows = [(2, 0, 0), (7, 10, 5), (7, 20, LOST), (2, 25, 22), (7, 30, LOST), (7, 40, 8)]
    rows += [(7, 50, 24), (7, 60, LOST), (7, 70, 26)]
    owner = np.array([0, 0, -1, 1, -1, 0, 1, -1, 1])
    found = adopt_unlaunched(activities(rows), owner, 2)
    assert found.tolist() == [0, 0, 0, 1, 0, 0, 1, 1, 1]


def test_work_of_a_step_before_the_recording_stays_without_an_owner() -> None:
    # It runs on stream 7 while the first recorded step already runs its copies on stream 2.
    rows = [(2, 0, 0), (7, 5, LOST), (7, 15, LOST), (2, 20, 12), (7, 30, 14), (7, 40, 16)]
    owner = np.array([0, -1, -1, 0, 0, 0])
    assert adopt_unlaunched(activities(rows), owner, 1).tolist() == [0, -1, -1, 0, 0, 0]


def test_a_stream_without_any_launch_belongs_to_what_runs_beside_it() -> None:
    rows = [(7, 0, 0), (9, 5, LOST), (7, 20, 12), (9, 25, LOST), (7, 40, 30), (9, 45, LOST)]
    owner = np.array([0, -1, 0, -1, 0, -1])
    assert adopt_unlaunched(activities(rows), owner, 1).tolist() == [0] * 6
