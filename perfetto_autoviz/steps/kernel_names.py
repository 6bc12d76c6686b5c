"""The step that says which operation each kernel name stands for."""

from __future__ import annotations

import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import KERNEL_NAME
from perfetto_autoviz.steps.ops import classify_names
from perfetto_autoviz.steps.step import Frames, Read, Step


def name_kernels(frames: Frames, _options: Options) -> dict[str, pd.DataFrame]:
    """Operation and family of each distinct name; the frame of ``kernel_name``."""
    names = frames["_autoviz_distinct_kernel_name"]["name"].dropna().tolist()
    known = classify_names(names)
    return {
        KERNEL_NAME.name: relation_frame(
            KERNEL_NAME, {column: known[column].tolist() for column in KERNEL_NAME.types}
        )
    }


KERNEL_NAMES_STEP = Step(
    name="kernel names",
    reads=(Read("_autoviz_distinct_kernel_name", ("name",)),),
    makes=(KERNEL_NAME,),
    run=name_kernels,
)
