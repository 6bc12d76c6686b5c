"""The Python steps: pure functions that add what SQL can't."""

from perfetto_autoviz.steps.iterations import ITERATIONS_STEP
from perfetto_autoviz.steps.kernel_names import KERNEL_NAMES_STEP
from perfetto_autoviz.steps.layers import LAYERS_STEP
from perfetto_autoviz.steps.phases import PHASES_STEP
from perfetto_autoviz.steps.step import Options, Read, Step

STEPS: tuple[Step, ...] = (KERNEL_NAMES_STEP, ITERATIONS_STEP, PHASES_STEP, LAYERS_STEP)
"""All steps; each runs when something first reads what it makes."""

__all__ = ["STEPS", "Options", "Read", "Step"]
