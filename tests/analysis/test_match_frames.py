"""The measured matches that are kept beside a cell's records: used while they are true, made anew when not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import negolab as nl
from negolab.analysis import match_frames, tables
from negolab.analysis.columns import to_frame, unify
from negolab.analysis.match_frames import FILE, read_matches


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nl.run("bargaining", "linear", "boulware", n=4, seed=1, out=tmp_path)
    return tmp_path


def unmeasurable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test fail if a match is measured."""
    monkeypatch.setattr(match_frames, "measure_match", lambda record: pytest.fail(f"{record.id} is measured"))


def test_matches_and_measures_are_those_of_the_tables_and_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_matches(folder)
    expected = tables.matches(folder).merge(tables.measures(folder), on="match")
    found = to_frame(first)
    pd.testing.assert_frame_equal(found[list(expected)].convert_dtypes(), expected.convert_dtypes(), check_dtype=False)
    assert list(found["agreed"]) == list(found["end"] == "AGREED")
    unmeasurable(monkeypatch)
    assert read_matches(folder).equals(first)


@pytest.mark.parametrize("change", ["records", "version", "file"])
def test_what_was_made_from_something_else_is_made_anew(
    folder: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_matches(folder)
    if change == "records":
        nl.run("bargaining", "linear", "boulware", n=6, seed=1, out=folder)
    elif change == "version":
        monkeypatch.setattr(match_frames, "__version__", "0.0.0")
    else:
        (folder / FILE).write_bytes((folder / FILE).read_bytes()[:100])
    with monkeypatch.context() as patch, pytest.raises(pytest.fail.Exception):
        unmeasurable(patch)
        read_matches(folder)
    assert len(read_matches(folder)) == (6 if change == "records" else len(before))


def test_a_table_that_came_with_a_folder_from_elsewhere_is_not_believed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, kept = read_matches(folder), pq.read_table(folder / FILE)
    forged = kept.set_column(kept.schema.get_field_index("agreed"), "agreed", pa.array([None] * len(kept), pa.bool_()))
    pq.write_table(forged, folder / FILE)
    assert read_matches(folder)["agreed"].null_count == len(kept), "here the table is ours"
    received = tmp_path_factory.mktemp("received") / "run"
    shutil.copytree(folder, received)  # with the times of the files
    assert read_matches(received).equals(true)
    renamed = received.rename(received.with_name("renamed"))  # as a cell is published
    unmeasurable(monkeypatch)
    assert read_matches(renamed).equals(true)


def test_a_folder_that_cannot_be_written_is_measured_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not yours")

    monkeypatch.setattr(pq, "write_table", refuse)
    assert len(read_matches(folder)) == 4 and not (folder / FILE).exists()


def test_columns_that_are_empty_in_some_cells_are_numbers_or_yes_and_no() -> None:
    parts = [
        pa.table({"a": [1], "b": pa.nulls(1), "c": ["x"], "d": pa.nulls(1)}),
        pa.table({"a": [0.5], "b": [True], "c": pa.nulls(1), "e": [2]}),
    ]
    found = to_frame(unify(parts))
    kinds = {name: str(kind) for name, kind in found.dtypes.items()}
    assert kinds == {"a": "float64", "b": "boolean", "c": "str", "d": "float64", "e": "float64"}
    assert len(unify([])) == 0
