"""What a user may choose; imported before all that takes long to import."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_NUM_STEPS = 32
"""Iterations of a steady window, unless the user wants another number."""


@dataclass(frozen=True)
class Options:
    """What a user may choose about the steps.

    Attributes:
        anchor: regular expression of the kernel that occurs once per layer, tried on its
            op and its name; None for attention.
        llm_inference: whether iterations without annotations have phases; None to decide
            by the kernels.
        max_num_seqs: most requests that run at once: an iteration that computes more tokens
            prefills; None if unknown.
        num_steps: iterations of a steady window.
        autoencoder: whether an autoencoder judges runs, too.
    """

    anchor: str | None = None
    llm_inference: bool | None = None
    max_num_seqs: int | None = None
    num_steps: int = DEFAULT_NUM_STEPS
    autoencoder: bool = False
