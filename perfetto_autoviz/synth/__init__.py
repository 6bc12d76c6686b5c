"""Composes realistic captures of LLM serving with known truth.

Kernel names, sequences, durations, gaps and noise come from measured captures; a scenario
says how they are put together. Nothing here knows how captures are analysed.
"""

from perfetto_autoviz.synth.arrays import SynthArrays, synth_arrays
from perfetto_autoviz.synth.arrivals import Arrivals
from perfetto_autoviz.synth.bench import bench_capture
from perfetto_autoviz.synth.builds import BuildPair, build_folders, second_build
from perfetto_autoviz.synth.compose import synthesise, truth_path
from perfetto_autoviz.synth.edits import EDIT_KINDS, EditPlan, TrueEdit
from perfetto_autoviz.synth.presets import PRESETS, preset
from perfetto_autoviz.synth.scenario import EPOCH_US, RECENT_US, ScenarioSpec, SynthCapture
from perfetto_autoviz.synth.truth import Truth, TruthHeader, TruthWriter, read_truth

__all__ = [
    "EDIT_KINDS",
    "EPOCH_US",
    "PRESETS",
    "RECENT_US",
    "Arrivals",
    "BuildPair",
    "EditPlan",
    "ScenarioSpec",
    "SynthArrays",
    "SynthCapture",
    "TrueEdit",
    "Truth",
    "TruthHeader",
    "TruthWriter",
    "bench_capture",
    "build_folders",
    "preset",
    "read_truth",
    "second_build",
    "synth_arrays",
    "synthesise",
    "truth_path",
]
