"""What Python puts together is what SQL makes, row for row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from perfetto_autoviz.errors import EngineError
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import EXPANSIONS, STEPS
from tests.conftest import ROOT
from tests.live import open_fresh

SYNTHETIC = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"
REAL = (
    # Two streams and steps of a graph; nested levels; annotations on the device; no steps at all.
    "llm_serving/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz",
    "pairs/xdit_flux_1024px_two_attention_backends/aiter.json.gz",
    "odd/negative_queue_length_a100.json.gz",
    "many_iterations/param_linear_40steps_rtx2080ti.json.gz",
)


@pytest.fixture(params=[None, *REAL], ids=lambda name: (name or "synthetic").split("/")[-1])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    name = request.param
    path = SYNTHETIC if name is None else Path(request.getfixturevalue("corpus")) / name
    try:
        opened = open_fresh(path)
    except EngineError as error:
        pytest.skip(f"no engine: {error}")
    with opened:
        yield opened


def test_expansions_are_what_sql_makes(session: Session) -> None:
    for expansion in EXPANSIONS:
        read = [r for step in STEPS for r in step.reads if r.relation == expansion.relation]
        columns = list(dict.fromkeys(column for r in read for column in r.columns))
        expanded = session.fetch(expansion.relation, columns)
        queried = session.query(f"SELECT {', '.join(columns)} FROM {expansion.relation}")
        pd.testing.assert_frame_equal(expanded, queried, check_dtype=len(queried) > 0)
