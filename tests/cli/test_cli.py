"""The command line: output, files, and messages about mistakes."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import negolab as nl
from negolab import catalog
from negolab.store import read
from negolab.studies import links
from negolab.studies.database import Database
from tests.conftest import free_port
from tests.support.command import NEGOLAB, negolab, refusal, succeeding

BASE = """
title = "A study"
game = "trading"
instructions = "Play."
closing = "Thank you."
[[treatments]]
name = "one"
opponent = "fair-split"
"""
"""A short study."""


def test_a_command_starts_without_libraries_that_only_some_commands_need() -> None:
    heavy = [
        "aiohttp",
        "jsonschema",
        "nbformat",
        "openai",
        "pandas",
        "papermill",
        "plotly",
        "pyarrow",
        "scipy",
        "statsmodels",
    ]
    code = f"import sys, negolab.cli; print(sorted({set(heavy)} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout.strip() == "[]"


def test_games_lists_every_game_with_its_presets() -> None:
    shown = negolab("games").stdout
    for word in ("agenda", "balloon", "bargaining", "split", "trading", "textarena-0.7.4", "deal-or-no-deal"):
        assert word in shown
    assert "beta" in negolab("games", "bargaining").stdout


def test_games_explains_each_preset_and_parameter_of_a_game() -> None:
    for name in catalog.game_names():
        shown = negolab("games", name, "--all").stdout
        game, notes = nl.load(name), catalog.preset_notes(catalog.game_module(name))
        assert list(notes) == list(nl.list_games()[name])
        for preset, note in notes.items():
            assert f"  {preset}: {note}\n" in shown
        for parameter, value in catalog.parameters(game).items():
            assert f" {parameter} = {value!r}" in shown
        told = [
            line.partition(": ")[2] for line in negolab("games", name).stdout.partition("\nplayers")[2].splitlines()
        ]
        assert len(set(filter(None, told))) == len(list(filter(None, told))), "no two players are described alike"


def test_games_shows_three_presets_and_the_main_parameters_of_a_game() -> None:
    shown = negolab("games", "bargaining").stdout
    assert "\n  interview: " in shown and "\n  range: " not in shown
    assert "\n  rounds = 6: " in shown and "\n  veto = " not in shown
    assert "\n  conceder (beta, kappa, form, grid, start, reserve): Concedes at once\n" in shown


def test_negolab_alone_names_a_command_for_each_purpose_and_the_guide() -> None:
    ran = negolab()
    assert ran.returncode == 0 and len(ran.stdout.splitlines()) <= 25
    for words in ("serve", "batch bargaining", "new sweep", "new study", "new game", "guide"):
        assert f"negolab {words}" in ran.stdout


def test_help_lists_options_that_few_need_last() -> None:
    shown = negolab("batch", "--help").stdout
    needed, models, advanced = map(shown.index, ("  --swap ", "  --budget ", "  --no-cache "))
    assert needed < models < shown.index("Advanced:") < advanced


def test_games_lists_the_parameters_of_a_game_that_the_guide_does_not_know() -> None:
    shown = negolab("games", "negolab.scaffolds.ultimatum").stdout
    assert "\n  pie = 10: units to divide\n" in shown and "\n  classic: Without a deal" in shown


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["gams"], "no such command 'gams': did you mean games?"),
        (["watch", "tradng"], "unknown game 'tradng': did you mean trading?"),
        (["watch", "trading", "--preset", "sed"], "unknown preset 'sed' of trading: did you mean seed?"),
        (["watch", "trading", "--set", "max_turn=3"], "unknown parameter 'max_turn': did you mean max_turns?"),
        (["watch", "trading", "--set", "max_turns=many"], "max_turns"),
        (["watch", "trading", "--set", "max_turns"], "--set must be NAME=VALUE, not 'max_turns'"),
        (["watch", "bargaining", "--a", "time:bta=2"], "player 'time' has no parameter 'bta': did you mean beta?"),
        (["replay", "nowhere.jsonl"], "no records at nowhere.jsonl"),
        (["replay", "nowhere.jsonl", "--browser"], "no records at nowhere.jsonl"),
        (["replay", ".", "--browser", "--seat", "A"], "leave out --id and --seat"),
        (["export", "nowhere", "--to", "docx"], "--to 'docx'"),
        (["export", "nowhere", "--to", "text"], "--to 'text': did you mean tex?"),
        (["play", "bargaining", "--seat", "C"], "--seat must be A (seller) or B (buyer), not 'C'"),
        (["export", "nowhere", "--to", "csv", "--seat", "A"], "tables contain both seats; choose --to md, html, tex"),
        (["watch", "split", "--set", "preset=classic"], "preset is not a parameter"),
        (["watch", "trading", "--out", __file__], "is a file"),
        (["lab", "--dir", __file__, "--no-browser", "--port", "FREE"], "is a file, but a folder is needed"),
        (["guide", "--save"], "--save needs a page"),
        (["guide", "sweps"], "the guide has no page 'sweps': did you mean sweeps"),
        (["serve", "--port", "99999"], "--port must be at most 65535, not '99999'"),
        (["watch", "trading", "--sed", "3"], "--seed"),
        (["batch", "trading"], "--a is missing: negolab batch GAME --a ... --b ... --out ... (games: agenda, "),
        (["batch", "trading", "--n", "many"], "--n must be a whole number, not 'many'"),
    ],
)
def test_a_mistake_is_answered_in_one_line(args: list[str], said: str) -> None:
    assert said in refusal(*(str(free_port()) if arg == "FREE" else arg for arg in args))


@pytest.mark.parametrize(
    ("name", "to", "said"),
    [
        ("start.md", "new.md", "is a symbolic link, which negolab does not follow here"),
        ("guide", ".", "is a symbolic link, which negolab does not follow here"),
    ],
)
def test_a_folder_with_links_is_not_opened_in_the_lab(tmp_path: Path, name: str, to: str, said: str) -> None:
    outside, got = tmp_path / "outside", tmp_path / "got"
    outside.mkdir()
    got.mkdir()
    (got / name).symlink_to(outside / to)
    assert said in refusal("lab", "--dir", str(got), "--no-browser", "--port", str(free_port()))
    assert not list(outside.iterdir())


def test_watch_prints_the_match_and_can_keep_it(tmp_path: Path) -> None:
    ran = negolab(
        "watch", "trading", "--a", "fair-split", "--b", "greedy-honest", "--seed", "3", "--out", str(tmp_path)
    )
    assert ran.returncode == 0, ran.stderr
    assert "A: [Offer:" in ran.stdout
    assert "possible:" in ran.stdout
    again = negolab("replay", str(tmp_path))
    assert "A: [Offer:" in again.stdout
    assert negolab("check", str(tmp_path)).stdout.startswith("1 record reproduces its stored events")


def test_a_match_without_preset_or_seed_is_headed_by_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "tea.toml"
    file.write_text('title = "Tea"\n[[issues]]\nname = "cups"\nunits = 3\nA = 2\nB = 3\n', "utf-8")
    players = ("--a", "linear", "--b", "conceder", "--seed", "1", "--out", str(tmp_path / "run"))
    watched = negolab("watch", "agenda", "--scenario", str(file), *players).stdout
    assert watched.startswith("agenda, seed 1: A = linear, B = conceder\n")
    assert re.search(r"^points: A \d, B \d$", watched, re.MULTILINE)
    assert re.search(r"^best_share: A [\d.]{1,6}, B [\d.]{1,6}$", watched, re.MULTILINE)
    assert negolab("replay", str(tmp_path / "run")).stdout.startswith("agenda, seed 1: A = linear")


def test_payoffs_are_shown_as_people_read_them(tmp_path: Path) -> None:
    players = ("--a", "boulware", "--b", "linear", "--seed", "7")
    watched = negolab("watch", "bargaining", *players, "--out", str(tmp_path)).stdout
    assert "\nagreed: A $16.81, B $8.19\n" in watched and "\ndetails, amounts in cents\nprice: 5681\n" in watched
    assert "\nagreed: A $16.81, B $8.19\n" in negolab("replay", str(tmp_path)).stdout
    negolab("watch", "bargaining", *players, "--out", str(tmp_path))
    assert "$16.81 / $8.19\n" in negolab("replay", str(tmp_path)).stdout


def test_one_seats_replay_hides_the_other(tmp_path: Path) -> None:
    negolab("watch", "trading", "--seed", "987654321", "--out", str(tmp_path))
    (record,) = read(tmp_path)
    shown = negolab("replay", str(tmp_path), "--seat", "A").stdout
    mine, theirs = (record.events[0].state["private"][seat]["values"] for seat in ("A", "B"))  # type: ignore[union-attr]
    assert f"each worth {mine[1]}" in shown
    assert mine != theirs
    assert str(record.header.seed) not in shown


def test_a_person_plays_in_the_terminal(tmp_path: Path) -> None:
    words = "hello\n" + "[Deny] no\n" * 3 + "Pass.\n" * 5
    ran = negolab(
        "play", "trading", "--seat", "B", "--against", "chat", "--seed", "1", "--out", str(tmp_path), text=words
    )
    assert ran.returncode == 0, ran.stderr
    assert "The end: no deal." in ran.stdout
    (record,) = read(tmp_path)
    assert record.end == "NO_DEAL"


def test_leaving_keeps_what_was_played(tmp_path: Path) -> None:
    negolab("play", "trading", "--seat", "A", "--against", "chat", "--out", str(tmp_path), text="hello\n/quit\n")
    (record,) = read(tmp_path)
    assert record.end == "ABORTED"


def test_a_person_is_told_that_the_rules_decided_for_it(tmp_path: Path) -> None:
    text = "abc\nstill nothing\n/quit\n"
    ran = negolab("play", "bargaining", "--seat", "Seller", "--against", "boulware", "--out", str(tmp_path), text=text)
    assert "No attempts are left: the rules decide." in ran.stdout, ran.stdout


# Links of a study.


def invited(folder: Path, **columns: float) -> tuple[str, str]:
    """Write a study with one participant; return its file, its secret, and the participant's id."""
    (folder / "prices.toml").write_text(BASE)
    with closing(Database(folder / "prices.db")) as database:
        kept = database.study("prices", BASE)
        (who,) = database.invite("prices")
        if columns:
            database.change(who.id, **columns)
    return kept.secret, who.id


def test_links_that_have_expired_are_not_offered_as_unused(tmp_path: Path) -> None:
    invited(tmp_path, created=time.time() - 31 * 86400)
    ran = negolab("study", "links", "prices.toml", cwd=tmp_path)
    assert ran.returncode == 2 and "no valid unused links are left" in ran.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["links", "prices.toml", "--out", "nodir/l.csv"], "nodir/l.csv cannot be written: No such file or directory"),
        (["export", "prices.toml", "--out", "prices.toml/x"], "prices.toml/x cannot be written: File exists"),
    ],
)
def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, args: list[str], said: str) -> None:
    invited(tmp_path)
    assert said in refusal("study", *args, cwd=tmp_path)


@pytest.mark.parametrize("game", ["balloon", "bargaining"])
def test_a_new_studys_comments_stand_in_one_column(tmp_path: Path, game: str) -> None:
    negolab("new", "study", "mine", "--game", game, cwd=tmp_path)
    lines = (tmp_path / "mine.toml").read_text("utf-8").splitlines()
    commented = [line for line in lines if "  # " in line]
    assert len(commented) > 10 and any(line.startswith('# name = "mine"') for line in commented)
    assert {line.index("  # ") for line in commented if len(line.partition("  # ")[0].rstrip()) <= 50} == {51}


def test_an_open_link_is_as_old_as_its_printing(tmp_path: Path) -> None:
    secret, _ = invited(tmp_path)
    with sqlite3.connect(tmp_path / "prices.db") as raw:
        raw.execute("UPDATE studies SET created = created - 31 * 86400")
    raw.close()
    ran = negolab("study", "links", "prices.toml", "--open", cwd=tmp_path)
    assert links.read_token(secret, "prices", ran.stdout.strip().rpartition("/")[2], 60) == links.OPEN
    assert "this open link is valid until" in ran.stderr


def test_a_study_is_added_to_a_database_of_others_only_when_that_is_said(tmp_path: Path) -> None:
    invited(tmp_path)
    (tmp_path / "other.toml").write_text(BASE)
    for command in (["links", "other.toml", "-n", "1"], ["status", "other.toml"], ["export", "other.toml"]):
        assert "the database has prices" in refusal("study", *command, "--db", "prices.db", cwd=tmp_path)
    ran = negolab("study", "links", "other.toml", "-n", "1", "--db", "prices.db", "--new", cwd=tmp_path)
    assert ran.returncode == 0 and ran.stdout.count("/join/") == 1


@pytest.mark.parametrize("to", ["md", "html", "tex"])
def test_one_seats_transcript_hides_the_other(tmp_path: Path, to: str) -> None:
    negolab("watch", "trading", "--seed", "987654321", "--out", str(tmp_path))
    (record,) = read(tmp_path)
    for seat in ("A", "B"):
        succeeding("export", str(tmp_path), "--to", to, "--seat", seat, "--out", str(tmp_path / "out"))
        (shown,) = (path.read_text("utf-8") for path in (tmp_path / "out").glob(f"*-{seat}.{to}"))
        assert f"as seat {seat} saw it" in shown.replace("\n", " ")
        assert not list((tmp_path / "out").glob(f"*{record.id}*")), "from which a seed can be found"
        for hidden in (record.id, str(record.header.seed), *record.header.players.values(), "worth start"):
            assert hidden not in shown
    assert len(list((tmp_path / "out").iterdir())) == 2
    said = refusal("export", str(tmp_path), "--to", to, "--seat", "A", "--out", str(tmp_path / "out"))
    assert f"match-1-A.{to} already exists: choose another folder with --out" in said


_SIDE = {"A": "B", "B": "A"}


def _hiring(folder: Path, candidate: str) -> dict[str, str]:
    """A scenario in which the candidate has this seat."""
    recruiter = _SIDE[candidate]
    name = f"{candidate}.toml"
    (folder / name).write_text(
        f"""title = "Hiring"
roles = {{ {candidate} = "candidate", {recruiter} = "recruiter" }}
brief = {{ {candidate} = "mine", {recruiter} = "THEIRS" }}
[[issues]]
name = "pay"
options = ["low", "high"]
{candidate} = [0, 31337]
{recruiter} = [51337, 0]
"""
    )
    return {"game": "agenda", "scenario": str(folder / name)}


def test_a_role_is_the_seat_that_has_it_in_each_game(tmp_path: Path) -> None:
    games = {seat: _hiring(tmp_path, seat) for seat in ("A", "B")}
    nl.tournament(games, ["linear", "conceder"], out=tmp_path / "run", design={"draws": 1})
    succeeding("export", "run", "--to", "md", "--seat", "candidate", "--out", "out", cwd=tmp_path)
    seen = [path.read_text() for path in (tmp_path / "out").iterdir()]
    assert len(seen) == 4 and all("31337" in text and "51337" not in text and "THEIRS" not in text for text in seen)
    nl.run("bargaining", "linear", "conceder", n=1, out=tmp_path / "run/price")
    said = refusal("replay", "run", "--seat", "candidate", "--html", "page.html", cwd=tmp_path)
    assert "--seat must be A (seller) or B (buyer), not 'candidate'" in said


BATCH = ["batch", "trading", "--a", "greedy-honest", "--b", "random-legal", "--seed", "1"]


@pytest.mark.parametrize(
    ("players", "more", "told"),
    [
        (("linear", "boulware"), ("--swap",), "only 2 of the 8 matches are distinct"),
        (("linear", "boulware"), (), "only 1 of the 8 matches is distinct"),
        (("linear", "random-legal"), (), ""),
        (("linear", "boulware"), ("--preset", "asymmetric"), ""),
    ],
)
def test_games_that_will_be_copies_are_named_before_they_are_played(
    players: tuple[str, str], more: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    a, b = players
    done = succeeding("batch", "bargaining", "--a", a, "--b", b, "--n", "8", *more, "--out", str(tmp_path / "run"))
    assert (f"Nothing is random in this batch: {told}" in done.stderr) == bool(told)
    assert ("For random draws, try --preset" in done.stderr) == bool(told)


def test_a_batch_that_is_run_again_plays_only_what_is_missing(tmp_path: Path) -> None:
    for n in ("20", "30"):
        ran = succeeding(*BATCH, "--n", n, "--out", str(tmp_path))
    assert "30 matches" in ran.stdout
    assert "[" in ran.stdout and "n = 30" in ran.stdout
    assert len({record.id for record in read(tmp_path)}) == len(read(tmp_path)) == 30
    other = negolab("batch", "trading", "--a", "chat", "--b", "chat", "--out", str(tmp_path))
    assert (
        "contains another run, which differs in a (greedy-honest then, chat now), b (random-legal then, "
        in other.stderr
    )


def _remove(folder: Path) -> None:
    (folder / "records.jsonl").unlink()


def _replace(folder: Path) -> None:
    file = folder / "records.jsonl"
    file.rename(folder / "mine.jsonl")
    file.write_bytes((folder / "mine.jsonl").read_bytes()[: 1 << 12])


def _move(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


@pytest.mark.parametrize(("lose", "workers"), [(_remove, 1), (_replace, 2), (_move, 1)])
def test_a_batch_whose_records_are_lost_ends_with_an_error_and_no_summary(
    lose: Callable[[Path], None], workers: int, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    command = [*NEGOLAB, *BATCH, "--n", "1000", "--workers", str(workers), "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    file = folder / "records.jsonl"
    while not file.exists() or file.stat().st_size < 1 << 13:
        time.sleep(0.01)
    lose(folder)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (2, "")
    assert err.splitlines()[-1] == f"negolab: {file}: was deleted, moved or replaced while it was being written"
    assert lose is _replace or not file.exists()


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_ten_kills_lose_no_game_and_repeat_none(tmp_path: Path) -> None:
    n = 20_000 if os.environ.get("NEGOLAB_SLOW") else 4000
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [*BATCH, "--n", str(n), "--out"]
    kills = 0
    file = killed / "records.jsonl"
    for kill in range(1, 11):
        process = subprocess.Popen(
            [*NEGOLAB, *command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        target = kill * n // 11
        while process.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") < target):
            time.sleep(0.01)
        kills += process.poll() is None
        process.kill()
        process.wait()
    assert kills == 10
    succeeding(*command, str(killed))
    negolab(*command, str(whole))
    left, right = ({r.id: (r.events, r.header.players) for r in read(folder)} for folder in (killed, whole))
    assert len(left) == len(read(killed)) == n
    assert left == right, "the tables equal an undisturbed run's"


def test_who_reads_no_more_is_told_nothing_and_a_child_that_ends_is_no_such_reader() -> None:
    ran = subprocess.Popen([*NEGOLAB, "guide", "studies"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.stdout is not None and ran.stderr is not None
    ran.stdout.close()
    assert ran.stderr.read() == b"" and ran.wait() == 1
    code = (
        "import subprocess; from negolab import cli; cli.app = lambda **_: subprocess.Popen(['true'], stdin=-1)."
        "communicate(b'x' * 10**6) and print('goes on'); cli.main()"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "goes on\n"
