"""Every conformance vector of every game, and of estimates: those in `$NEGOLAB_VECTORS` or `../shared/vectors`, and
without either folder the slice beside this module (an error in `.ci/run`)."""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from negolab.catalog import game_names
from tests.conformance import Case
from tests.conftest import NEGOLAB_CI

HERE = Path(__file__).parent
SLICE = HERE / "vectors"


def vectors() -> Path:
    """The folder of the vectors, by the rules above."""
    chosen = os.environ.get("NEGOLAB_VECTORS")
    folder = Path(chosen) if chosen else HERE.parents[2] / "shared" / "vectors"
    if chosen or folder.is_dir() or NEGOLAB_CI:
        return folder
    return SLICE


def cases_of(game: str) -> Callable[[Path], Iterator[Case]]:
    """The reader of a game's vectors."""
    cases: Callable[[Path], Iterator[Case]] = importlib.import_module(f"tests.conformance.{game}").cases
    return cases


def run(game: str, folder: Path) -> tuple[Counter[str], Counter[str], list[str]]:
    """(rows per file, passed per file, one line per failure) of one game."""
    rows: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    failures: list[str] = []
    for case in cases_of(game)(folder):
        rows[case.file] += 1
        try:
            case.check()
            passed[case.file] += 1
        except Exception as error:  # every row is run; the failure is reported below
            failures.append(f"{game}/{case.file} {case.id}: {type(error).__name__}: {error}"[:400])
    return rows, passed, failures


@pytest.mark.parametrize("game", [*game_names(), "numbers"])
def test_every_vector_holds(game: str, record_property: Callable[[str, object], None]) -> None:
    folder = vectors()
    assert folder.is_dir(), f"no vectors at {folder}: set NEGOLAB_VECTORS"
    rows, passed, failures = run(game, folder / game)
    for file, count in rows.items():
        record_property(f"vectors of {game}/{file}", f"{passed[file]:>4} of {count:>4} passed")
    assert not failures, "\n".join(failures[:20])


def test_the_folder_of_vectors_is_not_empty() -> None:
    folder = vectors()
    first_cases = (next(iter(cases_of(game)(folder / game)), None) for game in game_names())
    assert any(first_cases), f"no vectors in {folder}"
