"""Iterations: spans, what belongs to them, and the step that ties both."""

from perfetto_autoviz.steps.iterations.step import ITERATIONS_STEP, find_iterations

__all__ = ["ITERATIONS_STEP", "find_iterations"]
