"""`negolab study try`: bots pass every page, payments add up, and a study's mistakes are found."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from negolab.catalog import data_folder
from negolab.studies import clock
from negolab.studies.endings import ENDINGS
from negolab.studies.export import export
from negolab.studies.study_config import Study
from negolab.studies.study_file import parse_study, read_study
from negolab.studies.trial.findings import Findings, examine
from negolab.studies.trial.run import trial
from negolab.studies.trial.stand_ins import STAND_IN
from negolab.studies.trial.visitor import scripts
from tests.studies.test_service import ALONE, PAIRS, STUDY, study
from tests.studies.test_steps import ALL, GRID, QUIZ, steps, steps_study
from tests.support.endpoints import running_endpoint
from tests.support.in_process import negolab
from tests.support.recompute_payments import differences

EXAMPLES = sorted((data_folder() / "studies").glob("*.toml"))


def found(tried: Study, n: int = 12) -> Findings:
    with trial(tried, n) as (run, database):
        return examine(run, database)


def test_bots_pass_every_kind_of_step_and_the_study_ends_for_all_of_them() -> None:
    tried = study(f"{ALL}\n{ALONE}\n[limits]\nreply = 120", 'consent = "Will you?"')
    with trial(tried, 20) as (run, database):
        result = examine(run, database)
        assert result.wrong == []
        assert all(page.passed > 0 for page in result.pages) and len(result.pages) == 10
        assert {bot.script.kind for bot in run.bots} == {script.kind for script in scripts(tried, 20)}
        assert sum(n for _, n, _ in result.endings) + sum(result.stayed.values()) == 20
        for bot in run.bots:
            assert database.participant(bot.id).status in ENDINGS or bot.left_at is not None
    endings = {name for name, _, _ in result.endings}
    assert {"complete", "quiz", "declined", "withdrawn", "timeout"} <= endings


def test_payments_add_up_by_an_independent_script_and_matches_are_numbered_for_each(tmp_path: Path) -> None:
    with trial(read_study(data_folder() / "studies" / "paid.toml"), 16) as (run, database):
        export(database, run.study, tmp_path / "out", "csv")
        result = examine(run, database)
    assert differences(tmp_path / "out") == []
    assert sum(map(len, result.pay.values())) + sum(result.stayed.values()) == 16
    matches = pd.read_csv(tmp_path / "out" / "matches.csv")
    assert matches.loc[matches.practice > 0, ["round_a", "round_b"]].isna().all(axis=None)
    counted = matches[matches.practice == 0]
    columns = {seat: {f"participant_{seat}": "who", f"round_{seat}": "round"} for seat in "ab"}
    seats = [counted.rename(columns=names)[["who", "round"]].dropna() for names in columns.values()]
    rounds = pd.concat(seats).groupby("who")["round"].apply(sorted)
    assert all(found == list(range(1, len(found) + 1)) for found in rounds) and rounds.map(len).max() == 3


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_nothing_is_wrong_with_the_examples(file: Path) -> None:
    assert found(read_study(file), 12).wrong == []


def test_a_trial_is_drawn_from_the_seed_takes_no_time_and_leaves_nothing_behind() -> None:
    tried = study(steps("instructions", QUIZ, "match") + "\n" + PAIRS, "[pairing]\nwait = 3600\n[limits]\nreply = 900")
    results: list[Any] = []
    for _ in range(2):
        began = time.monotonic()
        with trial(tried, 8) as (run, database):
            place = Path(str(database.url.database))
            assert place.is_file()
            result = examine(run, database)
            results.append((result.paths, result.pages, run.seconds))
        assert not place.exists() and not place.parent.exists()
        assert run.seconds > 900 > 60 > time.monotonic() - began
    assert results[0] == results[1]
    assert abs(clock.time() - time.time()) < 1, "the clock is the machine's again"


def test_bots_write_whole_and_large_numbers_as_the_page_takes_them() -> None:
    asked = QUIZ.replace('"10"', '"2500000"\nwhole = true') + GRID.partition("\n")[2].replace(
        "least = 18\nmost = 99", "least = 1500000\nmost = 9500000\nwhole = true"
    )
    quiz, questions = asked.partition('[[steps.questions]]\nname = "trust"')[::2]
    parts = steps("instructions", quiz, f'questions\n[[steps.questions]]\nname = "trust"{questions}', "match")
    assert found(study(parts + "\n" + ALONE), 8).wrong == []


def test_models_are_replaced_and_named() -> None:
    tried = study(steps("instructions", 'match\nopponent = "llm:gpt-5-mini"') + "\n" + PAIRS)
    with trial(tried, 2) as (run, database):
        assert run.replaced == ("llm:gpt-5-mini",)
        (match, *_) = database.matches(run.study.name)
        assert STAND_IN in database.record(match.id).header.players.values()


DELAYED = f"{ALONE}\ndelay = {{ median = 30, least = 20, most = 40 }}\n[limits]\nmatch = 25"
SHORT = steps("instructions", GRID.replace("questions\n", "questions\nseconds = 3\n", 1), "match") + "\n" + ALONE
RARE = ALONE + "\n" + ALONE.replace('"one"', '"rare"')
MANY = steps("instructions", 'match\nmatches = 3\nmatching = "stranger"') + "\n" + PAIRS


@pytest.mark.parametrize(
    ("tables", "n", "said"),
    [
        (DELAYED, 6, ["limits.match is 25 s, no more than the delay of greedy-honest", "timed out at"]),
        (SHORT, 6, ["timed out at 2 questions"]),
        (RARE, 1, ["nobody was assigned to treatment"]),
        (MANY, 10, ["never found a partner"]),
        (PAIRS, 4, ["could not continue at 2 match: nothing happened", "write reply = 120 under [limits]"]),
    ],
    ids=[
        *("a limit shorter than the delay", "a page that nobody reads in time", "a treatment that nobody got"),
        *("pairs that never meet", "a partner who closed the page without a limit"),
    ],
)
def test_a_mistake_of_a_study_is_found(tables: str, n: int, said: list[str]) -> None:
    wrong = "\n".join(found(study(tables), n).wrong)
    assert [words for words in said if words not in wrong] == []


def test_a_missing_code_is_found() -> None:
    text = STUDY.format(tables=ALONE, more="").replace('withdrawn = "GONE"\n', "")
    (wrong,) = found(parse_study(text, Path("trade.toml"))).wrong
    assert wrong.startswith("no code for the ending withdrawn, which") and "[codes]" in wrong


def test_a_fault_of_a_researchers_own_player_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from negolab.protocols import Scripted\n\nclass Broken(Scripted):\n"
        "    def act(self, game, seen):\n        raise ZeroDivisionError\n"
    )
    tables = '[[treatments]]\nname = "one"\nopponent = "mine.py:Broken"'
    own = parse_study(STUDY.format(tables=tables, more=""), tmp_path / "trade.toml")
    wrong = "\n".join(found(own, 3).wrong)
    assert "the study ended with an error for bot" in wrong and "ZeroDivisionError" in wrong


def test_the_command_prints_all_and_says_by_its_status_if_something_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "trade.toml"
    file.write_text(STUDY.format(tables=ALONE, more=""))
    done = negolab("study", "try", str(file), "-n", "4")
    assert done.returncode == 0, done.stderr
    for words in (
        "went through",
        "page",
        "treatment",
        "no payments",
        "matches:",
        "no problems were found",
        "try every page",
    ):
        assert words in done.stdout, (words, done.stdout)
    file.write_text(file.read_text().replace('complete = "DONE"\n', ""))
    done = negolab("study", "try", str(file), "-n", "4")
    assert done.returncode == 1 and "wrong: no code for the ending complete" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["trade.toml"]


def test_the_bots_data_are_exported_under_a_name_of_their_own(tmp_path: Path) -> None:
    file, out = tmp_path / "trade.toml", tmp_path / "tried"
    file.write_text(STUDY.format(tables=ALONE, more=""))
    done = negolab("study", "try", str(file), "-n", "4", "--out", str(out))
    assert done.returncode == 0, done.stderr
    people = pd.read_csv(out / "participants.csv")
    assert len(people) == 4 and set(people.study) == {"trade-trial"}
    (out / "export.json").write_text('{"study": "trade"}')
    done = negolab("study", "try", str(file), "-n", "4", "--out", str(out))
    assert done.returncode == 2 and "is not an export of the study 'trade-trial'" in done.stderr


def test_half_of_the_bots_go_through_and_every_page_has_one_who_does_not() -> None:
    planned = scripts(steps_study(ALL, more='consent = "Will you?"'), 100)
    count = Counter(script.kind for script in planned)
    assert count["through"] >= 50
    assert {script.position for script in planned if script.kind in ("leaves", "closes")} == set(range(10))


def test_models_play_themselves_if_asked_to_and_are_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "trade.toml"
    file.write_text(
        STUDY.format(tables='[[treatments]]\nname = "one"\nopponent = "llm:fake-1"', more="")
        .replace('game = "trading"', 'game = "bargaining"')
        .replace("[codes]\n", "[limits]\nreply = 120\n[codes]\n")
    )
    with running_endpoint(latency=0.05) as server:
        done = negolab("study", "try", str(file), "-n", "4", "--models", "--base-url", server.url)
        assert server.counts()["answered"] > 0
    assert done.returncode == 0, done.stdout + done.stderr
    assert "random-legal" not in done.stdout
    assert "--models" in negolab("study", "try", str(file), "--budget", "1").stderr


def test_why_models_failed_is_told_once_for_all_matches(tmp_path: Path) -> None:
    tried = study(steps("instructions", 'match\nopponent = "llm:gpt-5-mini"') + f"\n{ALONE}\n[models]\npatience = 1")
    file = tmp_path / "trade.toml"
    file.write_text(tried.text, "utf-8")
    told = negolab("study", "try", str(file), "-n", "4", "--models", "--base-url", "http://127.0.0.1:9/v1").stdout
    noted = [line for line in told.splitlines() if line.startswith("wrong: the host noted an error")]
    assert len(noted) == 2 and all("the other seat's player failed (RunFailed)" in line for line in noted)
    (replaced,) = [line for line in told.splitlines() if line.startswith("wrong: models replaced in")]
    assert "by nobody (" in replaced and "127.0.0.1:9" in replaced
