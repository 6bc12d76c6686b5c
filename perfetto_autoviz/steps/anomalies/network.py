"""The autoencoder: small enough to read in one sitting.

Imports torch, and so must only be imported by what runs the autoencoder.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

CHANNELS = 2
NARROW, WIDE = 16, 32
KERNEL = 5
STRIDE = 2
COMPRESSION = STRIDE * STRIDE
"""Positions per position of the code, which has one channel where the input has two."""


class Autoencoder(nn.Module):
    """A strided convolutional encoder, and a decoder that mirrors it with upsampling.

    Strides instead of max pooling: pooling hands the largest values on, and an outlier must
    not be reconstructed. Padding and masked values take no part: they are 0 before each layer,
    as what lies outside of a sequence is, so that neither their values nor their number change
    anything.
    """

    def __init__(self) -> None:
        super().__init__()
        half = KERNEL // 2
        self.narrow = nn.Conv1d(CHANNELS, NARROW, KERNEL, STRIDE, half)
        self.wide = nn.Conv1d(NARROW, WIDE, KERNEL, STRIDE, half)
        self.code = nn.Conv1d(WIDE, 1, 1)
        self.widen = nn.Conv1d(1, WIDE, KERNEL, 1, half)
        self.narrower = nn.Conv1d(WIDE, NARROW, KERNEL, 1, half)
        self.out = nn.Conv1d(NARROW, CHANNELS, KERNEL, 1, half)

    def forward(self, values: Tensor, there: Tensor) -> Tensor:
        """Reconstructs runs.

        Args:
            values: shape ``(runs, channels, length)``, the length a multiple of `COMPRESSION`.
            there: same shape, 1 where there is a value and 0 elsewhere.

        Returns:
            The reconstruction, same shape; without meaning where there is no value.
        """
        # A position is part of the run if any channel has a value.
        full = there.amax(dim=1, keepdim=True)
        half = functional.max_pool1d(full, STRIDE)
        quarter = functional.max_pool1d(half, STRIDE)
        inner = torch.relu(self.narrow(values * there)) * half
        inner = torch.relu(self.wide(inner)) * quarter
        code = self.code(inner) * quarter
        inner = torch.relu(self.widen(code)) * quarter
        inner = torch.relu(self.narrower(_twice(inner) * half)) * half
        out: Tensor = self.out(_twice(inner) * full)
        return out


def _twice(values: Tensor) -> Tensor:
    return functional.interpolate(values, scale_factor=float(STRIDE), mode="nearest")
