"""The Python steps: pure functions that add what SQL can't."""

from perfetto_autoviz.steps.anomalies.step import ANOMALIES_STEP
from perfetto_autoviz.steps.comparison import COMPARISON_STEP
from perfetto_autoviz.steps.expansion import EXPANSIONS, Expansion
from perfetto_autoviz.steps.iterations import ITERATIONS_STEP
from perfetto_autoviz.steps.kernel_names import KERNEL_NAMES_STEP
from perfetto_autoviz.steps.layers import LAYERS_STEP
from perfetto_autoviz.steps.patterns.step import PATTERNS_STEP
from perfetto_autoviz.steps.phases import PHASES_STEP
from perfetto_autoviz.steps.steady_state import STEADY_STATE_STEP
from perfetto_autoviz.steps.step import Frames, Read, SetStep, Step

STEPS: tuple[Step | SetStep, ...] = (
    KERNEL_NAMES_STEP,
    ITERATIONS_STEP,
    PHASES_STEP,
    STEADY_STATE_STEP,
    LAYERS_STEP,
    PATTERNS_STEP,
    ANOMALIES_STEP,
    COMPARISON_STEP,
)
"""All steps; each runs when something first reads what it makes."""

__all__ = ["EXPANSIONS", "STEPS", "Expansion", "Frames", "Read", "SetStep", "Step"]
