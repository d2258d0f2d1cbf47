"""Frames as files for the browser to save."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pandas as pd

from negolab.analysis import tables
from negolab_widgets.results.choices import Choice

KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
"""Media types by suffix."""


def written(frame: pd.DataFrame, suffix: str) -> bytes:
    """A frame as the bytes of a CSV or Parquet file; in CSV, text that begins like a formula is defused."""
    with tempfile.TemporaryDirectory(prefix="negolab-") as folder:
        file = Path(folder) / f"table.{suffix}"
        tables.write(frame, file)
        return file.read_bytes()


def named(run: str, choice: Choice, suffix: str) -> str:
    """A file's name that says what is in it."""
    parts = [run, choice.outcome.key, *(factor.column for factor in choice.by)]
    return "-".join(filter(None, (re.sub(r"[^\w.]+", "-", part).strip("-.") for part in parts)))[:100] + f".{suffix}"
