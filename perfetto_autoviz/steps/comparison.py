"""The relations of a comparison, which has not taken place yet."""

from __future__ import annotations

import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import COMPARISON_RELATIONS
from perfetto_autoviz.steps.step import Frames, Step


def no_comparison(_frames: Frames, _options: Options) -> dict[str, pd.DataFrame]:
    """Empty frames: a capture by itself was compared with nothing."""
    return {relation.name: relation_frame(relation, {}) for relation in COMPARISON_RELATIONS}


COMPARISON_STEP = Step(name="comparison", reads=(), makes=COMPARISON_RELATIONS, run=no_comparison)
