"""The step that says what phase each iteration is in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import PHASE
from perfetto_autoviz.steps.phases.inferred import inferred_phases
from perfetto_autoviz.steps.phases.language import is_language_model
from perfetto_autoviz.steps.phases.stated import stated_phase
from perfetto_autoviz.steps.phases.work import Work
from perfetto_autoviz.steps.step import Frames, Read, Step

Row = dict[str, Any]


def find_phases(frames: Frames, options: Options) -> dict[str, pd.DataFrame]:
    """The phase of each iteration of which there is evidence.

    What an annotation states decides. Iterations whose annotations state nothing, or that
    have none, are judged by shapes, kernels and durations, if the capture is of a language
    model; only for them is anything read but the iterations.

    Returns:
        The frame of the relation ``phase``, in the order of the iterations.
    """
    iterations = frames["_autoviz_src_iteration"]
    rows = {
        int(number): row
        for number, name in zip(iterations["id"], iterations["name"], strict=True)
        if (row := stated_phase(str(name)))
    }
    for row in _inferred(frames, options, _unstated(iterations, rows)):
        rows[row.pop("iteration_id")] = row
    spans = iterations.set_index("id")[["ts", "dur"]]
    numbers = [number for number in spans.index if number in rows]
    columns = {name: [rows[number].get(name) for number in numbers] for name in PHASE.types}
    columns |= {name: spans.loc[numbers, name].tolist() for name in ("ts", "dur")}
    columns["iteration_id"] = numbers
    return {PHASE.name: relation_frame(PHASE, columns if rows else {})}


def _unstated(iterations: pd.DataFrame, stated: dict[int, Row]) -> list[int]:
    """Innermost real steps whose phases nothing states, in order."""
    known = {number for number, row in stated.items() if row["phase"] != "unknown"}
    outer = set(iterations["parent_id"].dropna().astype(int))
    steps = iterations[(iterations["kind"] == "step") & iterations["number"].notna()]
    ordered = steps.sort_values(["host_ts", "ts", "id"], na_position="last")["id"].astype(int)
    return [number for number in ordered if number not in known | outer]


def _inferred(frames: Frames, options: Options, steps: list[int]) -> list[Row]:
    if not steps or options.llm_inference is False:
        return []
    names = frames["_autoviz_src_kernel_name"]
    if not options.llm_inference and not is_language_model(
        frames["_autoviz_src_iteration"]["dialect"].dropna().unique(),
        names["name"],
        lambda: frames["_autoviz_module_call"],
    ):
        return []
    work = Work.of(
        np.array(steps, np.int64),
        frames["autoviz_iteration_kernel"],
        frames["_autoviz_activity"],
        frames["_autoviz_activity_name"],
        names,
    )
    return inferred_phases(
        work,
        lambda: frames["_autoviz_operator_shape"],
        lambda: frames["_autoviz_grid"],
        options.max_num_seqs,
    )


PHASES_STEP = Step(
    name="phases",
    reads=(
        Read(
            "_autoviz_src_iteration",
            ("ts", "dur", "id", "parent_id", "number", "kind", "name", "dialect", "host_ts"),
        ),
        Read("_autoviz_src_kernel_name", ("name", "op", "family")),
        Read("_autoviz_module_call", ("ts", "dur", "name", "utid")),
        Read("autoviz_iteration_kernel", ("iteration_id", "seq")),
        Read("_autoviz_activity", ("ts", "dur", "kind", "launch_ts", "launch_utid")),
        Read("_autoviz_activity_name", ("seq", "name_number")),
        Read(
            "_autoviz_operator_shape",
            (
                *("ts", "dur", "utid"),
                *(f"{which}_{i}" for which in ("first", "second") for i in range(4)),
            ),
        ),
        Read("_autoviz_grid", ("seq", "x", "yz")),
    ),
    makes=(PHASE,),
    run=find_phases,
)
