"""Published episodes: imported from clembench's format, replayed, and compared with the published scores."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import papermill
import published
import pytest

import negolab as nl
from negolab.analysis import estimates
from negolab.formats import clembench, list_source, open_source
from negolab.record import Record
from negolab.sweeps.plan import notebook_path, read_plan
from negolab.sweeps.run import Sweep
from tests.conformance.test_conformance import vectors
from tests.conftest import ROOT, missing
from tests.support.clembench_folder import Row, row_of, write

FOLDER = ROOT / "notebooks" / "experiments" / "published"
EXPERIMENT = "air_balloon_survival_en_reasoning off_hard"


def rows() -> Iterator[Row]:
    """Real episodes, which have no licence and are therefore not in this repository."""
    file = vectors() / "balloon" / "episodes.jsonl"
    if not file.is_file():
        missing(f"there is no {file}: set NEGOLAB_VECTORS")
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def imported(root: Path) -> list[Record]:
    found = list_source(root)
    assert found.troubles == ()
    return [one.open() for one in found.records]


def corpus() -> Path:
    """Results of one model as they were published, with those of other games; not in this repository."""
    folder = ROOT.parent / "shared" / "corpora" / "clembench" / "results_en"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    return folder


@pytest.fixture(scope="module")
def real_results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """A results folder of all real episodes."""
    root, found = tmp_path_factory.mktemp("results"), list(rows())
    for row in found:
        write(root, row, row["provenance"]["path"])
    return root, found


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder of matches of scripted players: two models, three instances, both seats."""
    game = nl.load("balloon", preset="clembench", turn_limit=30)
    for a, b in (("linear", "linear"), ("conceder", "conceder"), ("linear", "conceder")):
        for number, record in enumerate(nl.batch(game, a, b, n=3, seed=1)):
            folder = f"results_en/{a}--{b}/hot_air_balloon/{EXPERIMENT}/instance_{number:05}"
            write(tmp_path / "results", row_of(record, EXPERIMENT), folder)
    return tmp_path / "results"


# The importer.


def test_the_stored_scores_of_all_real_episodes_follow_from_their_dialogues(
    real_results: tuple[Path, list[Row]],
) -> None:
    root, found = real_results
    frame = published.stored(imported(root))
    assert frame["match"].nunique() == len(found)
    assert frame.groupby("name")["same"].all().all(), frame[~frame["same"].astype(bool)].head().to_string()
    assert set(frame["name"]) >= {"end", "Main Score", "Normalized harmonic mean", "final deal"}
    assert set(frame["name"]) >= {"Played turns", "Violations Player 1", "Is Pareto Optimum Deal"}


def test_a_stored_score_that_the_dialogue_does_not_come_to_is_told(results: Path) -> None:
    place = next(results.rglob("scores.json"))
    place.write_text(json.dumps({"episode scores": {"Main Score": 12.5}}), "utf-8")
    found = clembench.read_episode(place.parent)
    (difference,) = found.header.notes[clembench.DIFFERENCES]
    assert "Main Score is 12.5 in the file" in difference
    (wrong,) = (pair for pair in clembench.score_pairs(found) if not pair.same)
    assert (wrong.name, wrong.theirs) == ("Main Score", 12.5)


def test_what_the_files_say_stays_with_the_record(results: Path) -> None:
    record = imported(results)[0]
    (again,) = [nl.record.parse_record(record.to_line())]
    assert clembench.score_pairs(again) == clembench.score_pairs(record) != ()
    assert clembench.score_pairs(nl.batch("balloon", "linear", "linear", n=1)[0]) == ()


def test_an_episode_without_a_file_of_scores_is_read_all_the_same(results: Path) -> None:
    place = next(results.rglob("scores.json"))
    place.unlink()
    names = [pair.name for pair in clembench.score_pairs(clembench.read_episode(place.parent))]
    assert "Main Score" not in names and "Normalized harmonic mean" in names


def test_a_model_at_two_temperatures_is_two_players(results: Path) -> None:
    (models,) = (folder for folder in (results / "results_en").iterdir() if folder.name == "linear--conceder")
    for temperatures in ("linear-t0.0--conceder-t1.0", "linear-t0.7--conceder-t1.0"):
        shutil.copytree(models, models.with_name(temperatures))
    found = imported(results)
    assert len({record.id for record in found}) == len(found) == 15
    players = {tuple(record.header.players.values()) for record in found}
    assert players >= {("linear-t0.0", "conceder-t1.0"), ("linear-t0.7", "conceder-t1.0"), ("linear", "conceder")}


def test_the_temperature_is_read_from_the_meta_data_where_no_folder_states_it(results: Path) -> None:
    place = next(results.rglob("interactions.json"))
    said = json.loads(place.read_text("utf-8"))
    said["meta"]["results_folder"] = "conceder-t0.5"
    place.write_text(json.dumps(said), "utf-8")
    record = clembench.read_episode(place.parent)
    assert all(name.endswith("-t0.5") for name in record.header.players.values())


def test_an_episode_has_the_same_id_whenever_and_wherever_it_is_read(results: Path, tmp_path: Path) -> None:
    before = [record.id for record in imported(results)]
    results.rename(tmp_path / "elsewhere")
    assert [record.id for record in imported(tmp_path / "elsewhere")] == before
    assert len(set(before)) == len(before)


def test_other_games_are_named_once_and_crashed_episodes_counted_by_model(results: Path) -> None:
    for number in range(3):
        place = results / "results_en" / "linear--linear" / "clean_up" / "easy" / f"instance_0000{number}"
        place.mkdir(parents=True)
        (place / "instance.json").write_text('{"game_id": 1, "grid": []}', "utf-8")
    gone, damaged, kept = sorted((results / "results_en" / "conceder--conceder").rglob("interactions.json"))
    gone.unlink()
    damaged.write_text('{"turns": 5}', "utf-8")
    kept.with_name("instance.json").write_text("[]", "utf-8")
    source = open_source(results)
    assert len(list(source)) == 6
    first = gone.parent
    assert source.left_out == (
        "conceder--conceder: 2 episodes crashed (interactions.json is missing or cannot be read), left out; "
        f"first: {first}",
        f"1 episode cannot be read, left out: instance.json: not a JSON object; first: {kept.parent}",
        "clean_up: 3 episodes of another game, left out",
    )
    assert list_source(results).troubles == source.left_out


def test_a_file_that_leads_out_and_a_number_beyond_floats_cost_their_own_episode_alone(results: Path) -> None:
    link, huge, *_ = sorted(results.rglob("interactions.json"))
    shutil.move(link, results.parent / "private.json")
    link.symlink_to(results.parent / "private.json")
    huge.write_text(json.dumps({**json.loads(huge.read_text("utf-8")), "Played turns": 10**400}), "utf-8")
    source = open_source(results)
    assert len(list(source)) == 7
    told = str(source.left_out)
    assert "interactions.json is a link to a place outside results" in told and "OverflowError" in told


def test_scores_that_differ_are_counted_by_name(results: Path) -> None:
    place = next(results.rglob("scores.json"))
    place.write_text(json.dumps({"episode scores": {"Main Score": 12.5}}), "utf-8")
    records = list(open_source(results))
    stored = sum(len(clembench.score_pairs(record)) for record in records)
    *lines, line = clembench.score_lines(records, by_name=True)
    assert line == (
        f"{stored - 1} of {stored} stored scores of 9 episodes re-derived; "
        "differences: Main Score 1 (in 1 of the episodes)"
    )
    assert any("Main Score" in line and "8 of 9; first: record " in line for line in lines)
    assert [line] == list(clembench.score_lines(records))


def test_every_score_of_a_published_folder_follows_from_its_dialogues() -> None:
    source, records = open_source(corpus()), list[Record]()
    for entry in source.entries():
        assert entry.differences == ()
        assert set(entry.record.header.players.values()) == {"gpt-5-mini-2025-08-07-t1.0"}
        records.append(entry.record)
    assert [*clembench.score_lines(records)] == [
        "476 of 476 stored scores of 26 episodes re-derived; differences: none"
    ]
    assert source.left_out == (
        "clean_up: 3 episodes of another game, left out",
        "dond: 24 episodes of another game, left out",
    )


# The frames.


def test_each_real_episode_is_a_row_per_seat_with_what_its_source_says(real_results: tuple[Path, list[Row]]) -> None:
    root, found = real_results
    frame = published.episodes(imported(root))
    assert len(frame) == 2 * len(found)
    stated = sorted((row["end"], round(row["official"]["main"] or 0.0, 6)) for row in found)
    games = frame.drop_duplicates("match")
    assert sorted(zip(games["end"], games["score"].round(6), strict=True)) == stated
    rejected = sum(
        message["verdict"] != "ok" and bool(message["codes"]) for row in found for message in row["messages"]
    )
    assert frame["format"].sum() + frame["rule"].sum() == rejected
    lost = frame.groupby("match")["lost"].sum()
    assert lost.equals(games.set_index("match")["end"].isin(["FORFEIT", "ABORTED"]).astype(float).reindex(lost.index))


def test_models_share_an_instance_and_an_instance_is_a_draw(results: Path) -> None:
    frame = published.episodes(imported(results))
    assert frame["draw"].nunique() == 3 and frame["match"].nunique() == 9
    found = estimates.estimate_groups(frame, {"name": "player"}, published.MEASURES).set_index(["name", "measure"])
    assert (found.loc[("linear", "score (%)"), "n"], found.loc[("linear", "score (%)"), "draws"]) == (6, 3)
    assert found.loc[("linear", "deals (% of episodes)"), "n"] == 6


def test_models_are_compared_with_the_best_one(results: Path) -> None:
    frame = published.episodes(imported(results))
    means = frame.groupby("player")["score"].mean()
    (row,) = published.behind(frame).itertuples()
    assert (row.best, row.player) == (means.idxmax(), means.idxmin())
    assert row.n == 3 and row.low <= row.value <= row.high
    alone = frame[(frame["player"] == "linear") & (frame["opponent"] == "linear")]
    assert published.behind(alone).empty


def test_nothing_read_gives_empty_frames_and_no_error() -> None:
    assert published.episodes([]).empty and published.stored([]).empty
    assert published.behind(published.episodes([])).empty


# The notebooks.


def run_plan(folder: str, out: Path) -> Path:
    """Run the plan on a folder."""
    file = FOLDER / "plan.toml"
    plan = read_plan(file).with_fixed({"folder": folder})
    end = Sweep(plan, notebook_path(plan, file), out).run(workers=1)
    assert end.states == {"done": 1}
    return out


def report_text(run: Path, out: Path) -> str:
    """The text of the report."""
    done = papermill.execute_notebook(
        str(FOLDER / "report.ipynb"), str(out), {"run": str(run)}, cwd=str(FOLDER), progress_bar=False
    )
    return "\n".join(filter(None, (_shown(output) for cell in done.cells for output in cell.get("outputs", ()))))


def _shown(output: Any) -> str:
    data = output.get("data", {})
    return str(data.get("text/markdown") or data.get("text/plain") or output.get("text", ""))


@pytest.mark.long
def test_the_study_reads_a_folder_and_reports_on_it(results: Path, tmp_path: Path) -> None:
    run = run_plan(str(results), tmp_path / "run")
    words = report_text(run, tmp_path / "report.ipynb")
    assert "9 episodes of 2 models on 3 instances" in words
    assert "**The stored scores hold** in 9 of 9 episodes." in words
    assert "has the highest mean score" in words


@pytest.mark.long
def test_without_a_folder_the_study_says_so_and_ends_well(tmp_path: Path) -> None:
    run = run_plan("", tmp_path / "run")
    executed = nbformat.read(next(run.glob("cells/*/notebook.ipynb")), 4)
    assert "give their folder as the parameter `folder`" in "".join(map(_shown, executed.cells[-1]["outputs"]))
    assert "There are no published episodes here" in report_text(run, tmp_path / "report.ipynb")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(papermill.PapermillExecutionError, match=r"there is no folder .*nowhere: give its whole path"):
        papermill.execute_notebook(
            str(FOLDER / "experiment.ipynb"),
            str(tmp_path / "out.ipynb"),
            {"folder": str(tmp_path / "nowhere"), "out": str(tmp_path / "out")},
            cwd=os.fspath(FOLDER),
            progress_bar=False,
        )
