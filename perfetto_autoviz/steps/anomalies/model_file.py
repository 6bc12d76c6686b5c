"""Models in files: arrays and a JSON header, so that reading one never runs code.

The file is a zip of ``.npy`` arrays as `numpy.savez` writes it, read without pickles. The
header is one array of text. It names the pattern of each model by its operations, so that a
model is never applied to another pattern.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.steps.anomalies.model import Cell, Model
from perfetto_autoviz.steps.anomalies.scaling import Scaling
from perfetto_autoviz.steps.anomalies.scores import Usual
from perfetto_autoviz.steps.anomalies.thresholds import Tail, Threshold
from perfetto_autoviz.wholefile import whole_file

FORMAT = "autoviz-anomaly-models"
VERSION = 2
"""Raised when a file of before can't be read any more."""

_HEADER = "header"

Arrays = dict[str, NDArray[Any]]
Get = Callable[[str], NDArray[Any]]


def save_models(models: Sequence[Model], path: Path) -> None:
    """Writes models; the file appears whole or not at all.

    Raises:
        UsageError: there is no model, or the file can't be written.
    """
    if not models:
        raise UsageError("there's no model to save: no pattern has enough runs to train on")
    arrays: Arrays = {}
    entries = [_entry(model, f"{number}/", arrays) for number, model in enumerate(models)]
    header = {"format": FORMAT, "version": VERSION, "models": entries}
    arrays[_HEADER] = np.array(json.dumps(header, ensure_ascii=False))
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez(file, **dict[str, Any](arrays))


def load_models(path: Path) -> dict[tuple[str, ...], Model]:
    """Reads models, keyed by the operations of their pattern.

    Raises:
        UsageError: the file can't be read, is no file of models, or of another version.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            header = _header(path, arrays)
            models = [_model(entry, arrays.__getitem__) for entry in header["models"]]
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is no file of models: write one with --save-model") from error
    return {model.ops: model for model in models}


def _header(path: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    header = json.loads(str(arrays[_HEADER]))
    if header["format"] != FORMAT:
        raise ValueError(header["format"])
    if header["version"] != VERSION:
        raise UsageError(
            f"{path} has models of version {header['version']}, this reads {VERSION}:"
            " train them again with --save-model"
        )
    return dict(header)


def _entry(model: Model, at: str, arrays: Arrays) -> dict[str, Any]:
    """Header of a model; its arrays are added below a prefix."""
    arrays.update({f"{at}weights/{name}": value for name, value in model.weights.items()})
    arrays[f"{at}across"] = model.across
    scaling = model.scaling
    groups, cells = list(scaling.medians), list(scaling.spread)
    for number, name in enumerate(groups):
        arrays[f"{at}median/{number}"] = scaling.medians[name]
    for number, name in enumerate(cells):
        for kind in ("spread", "ordinals", "offset", "own_spread"):
            arrays[f"{at}{kind}/{number}"] = getattr(scaling, kind)[name]
    return {
        "ops": list(model.ops),
        "weights": list(model.weights),
        "groups": groups,
        "scaled": cells,
        "few": dict(model.few),
        "cells": {
            name: _cell_entry(cell, f"{at}cell/{number}/", arrays)
            for number, (name, cell) in enumerate(model.cells.items())
        },
    }


def _cell_entry(cell: Cell, at: str, arrays: Arrays) -> dict[str, Any]:
    arrays[f"{at}error_spread"], arrays[f"{at}odd"] = cell.usual.error_spread, cell.usual.odd
    threshold = cell.threshold
    return {
        "at": at,
        "idle_weight": cell.usual.idle_weight,
        "drift_spread": cell.usual.drift_spread,
        "extra": cell.usual.extra,
        "count": cell.usual.count,
        "tails": [[tail.start, tail.excess, tail.handicap] for tail in cell.tails],
        "held_out": cell.held_out,
        "threshold": threshold
        and {
            "limits": threshold.limits.tolist(),
            "runs": threshold.runs,
            "allowed": threshold.allowed,
            "abnormal": threshold.abnormal,
            "rate": threshold.rate,
        },
    }


def _model(entry: Mapping[str, Any], get: Get) -> Model:
    at = next(iter(entry["cells"].values()))["at"].split("/")[0] + "/"
    scaled = list(enumerate(entry["scaled"]))
    scaling = Scaling(
        {name: get(f"{at}median/{number}") for number, name in enumerate(entry["groups"])},
        *(
            {name: get(f"{at}{kind}/{number}") for number, name in scaled}
            for kind in ("spread", "ordinals", "offset", "own_spread")
        ),
    )
    return Model(
        ops=tuple(entry["ops"]),
        across=get(f"{at}across"),
        scaling=scaling,
        weights={name: get(f"{at}weights/{name}") for name in entry["weights"]},
        cells={name: _cell(cell, get) for name, cell in entry["cells"].items()},
        few={str(name): int(count) for name, count in entry["few"].items()},
    )


def _cell(entry: Mapping[str, Any], get: Get) -> Cell:
    usual = Usual(
        error_spread=get(f"{entry['at']}error_spread"),
        idle_weight=float(entry["idle_weight"]),
        drift_spread=float(entry["drift_spread"]),
        odd=get(f"{entry['at']}odd"),
        extra={str(op): float(share) for op, share in entry["extra"].items()},
        count=int(entry["count"]),
    )
    threshold = entry["threshold"]
    return Cell(
        usual,
        tuple(Tail(*map(float, tail)) for tail in entry["tails"]),
        threshold
        and Threshold(
            np.array(threshold["limits"], np.float64),
            int(threshold["runs"]),
            int(threshold["allowed"]),
            int(threshold["abnormal"]),
            float(threshold["rate"]),
        ),
        int(entry["held_out"]),
    )
