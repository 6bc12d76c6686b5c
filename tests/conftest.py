"""Fixtures that every room's tests share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfetto_autoviz import RankSet, open_trace

ROOT = Path(__file__).resolve().parents[1]
RANKS = ROOT / "traces" / "sglang-qwen3-8b-tp2"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one flag by which files that pin results are written anew."""
    parser.addoption(
        "--refresh-references",
        action="store_true",
        help="write the references of tests anew from what is found; look at the difference",
    )


def pytest_collection_finish() -> None:
    """Collects garbage less often: whole captures as objects are none, nor are all the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture
def refresh(request: pytest.FixtureRequest) -> bool:
    """Whether references are to be written anew."""
    return bool(request.config.getoption("--refresh-references"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real captures, which is not part of the project."""
    folder = Path(os.environ.get("AUTOVIZ_CAPTURES", ROOT.parent / "shared" / "traces"))
    if not (folder / "llm_serving").is_dir():
        pytest.skip(f"the real captures are not at {folder}; set AUTOVIZ_CAPTURES to run this test")
    return folder


@pytest.fixture(scope="module")
def ranks() -> Iterator[RankSet]:
    """The two shipped ranks of one run, open together."""
    with open_trace(RANKS) as opened:
        assert isinstance(opened, RankSet)
        yield opened


@pytest.fixture(scope="module")
def short_training() -> Iterator[None]:
    """Trains autoencoders for a tenth of the time, where it doesn't matter how well they learn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perfetto_autoviz.steps.anomalies.training.STEPS", 40)
        yield
