"""Layers of an iteration: where they lie, what kind they are, and the step that ties both."""

from perfetto_autoviz.steps.layers.step import LAYERS_STEP, find_layers

__all__ = ["LAYERS_STEP", "find_layers"]
