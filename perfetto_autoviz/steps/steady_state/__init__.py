"""Where a capture is in steady state, and which windows of two captures are alike."""

from perfetto_autoviz.steps.steady_state.step import STEADY_STATE_STEP

__all__ = ["STEADY_STATE_STEP"]
