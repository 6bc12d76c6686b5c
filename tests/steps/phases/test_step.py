"""What annotations state decides, and then nothing else is read."""

from __future__ import annotations

import pandas as pd
import pytest

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import ITERATION, PHASE
from perfetto_autoviz.steps.phases.step import find_phases
from perfetto_autoviz.steps.step import LazyFrames, Read


def iterations(names: list[str], kinds: list[str] | None = None) -> pd.DataFrame:
    count = len(names)
    columns = {
        "ts": [1000 * i for i in range(count)],
        "dur": [900] * count,
        "id": range(count),
        "level": [0] * count,
        "number": range(count),
        "kind": kinds or ["step"] * count,
        "name": names,
    }
    return relation_frame(ITERATION, columns)


def only(frame: pd.DataFrame) -> LazyFrames:
    """Frames of which only the iterations may be looked at."""

    def fetch(relation: str, _: tuple[str, ...]) -> pd.DataFrame:
        assert relation == ITERATION.source
        return frame

    return LazyFrames((Read(ITERATION.source, ()), Read("_autoviz_operator_shape", ())), fetch)


def test_stated_phases_cost_nothing_more() -> None:
    frame = iterations(
        ["step[DECODE bs=64]", "execute_context_2(6144)_generation_3(3)", "step[IDLE bs=0]"]
    )
    found = find_phases(only(frame), Options())[PHASE.name]
    assert found["phase"].tolist() == ["decode", "mixed", "idle"]
    assert found["batch_size"].tolist() == [64, 5, 0]
    assert found["evidence"].tolist()[1] == "annotation counts"


@pytest.mark.parametrize("kind", ["generation", "capture", "warm-up"])
def test_what_is_no_step_has_no_phase(kind: str) -> None:
    frame = iterations(["execute_diffusion_1_1024x1024"], [kind])
    assert find_phases(only(frame), Options())[PHASE.name].empty


def test_the_user_may_say_that_there_are_none() -> None:
    frame = iterations(["ProfilerStep#7"])
    assert find_phases(only(frame), Options(llm_inference=False))[PHASE.name].empty
