"""The phases of engine steps: prefill, decode and the like."""

from perfetto_autoviz.steps.phases.step import PHASES_STEP

__all__ = ["PHASES_STEP"]
