"""Study files: valid content, messages about mistakes, and their commands."""

from __future__ import annotations

import csv
import random
import stat
import statistics
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from negolab.catalog import game_names
from negolab.cli import study as standing
from negolab.studies import links
from negolab.studies.database import Database
from negolab.studies.endings import ENDINGS
from negolab.studies.status import status
from negolab.studies.study_config import Delay, Study
from negolab.studies.study_file import read_study
from tests.studies.test_export import play_study
from tests.support.in_process import negolab

STUDIES = sorted((Path(__file__).parents[2] / "data" / "studies").glob("*.toml"))

HEAD = """
title = "A study"
game = "trading"
instructions = "Play."
closing = "Thank you."
"""
TREATMENT = """
[[treatments]]
name = "one"
opponent = "fair-split"
"""
PAIR = '\n[[treatments]]\nname = "pair"\n'
BASE = HEAD + TREATMENT


def written(tmp_path: Path, text: str, name: str = "prices.toml") -> Path:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return file


def study(tmp_path: Path, text: str) -> Study:
    return read_study(written(tmp_path, text))


# What a file says.


def test_a_short_study_has_sensible_defaults(tmp_path: Path) -> None:
    found = study(tmp_path, BASE)
    assert found.name == "prices"
    assert found.text == study(tmp_path, "\ufeff" + BASE).text == BASE
    assert found.cells == [("one", 1.0)]
    assert found.consents == []
    assert found.limits.reply is None
    assert not found.paired
    assert found.treatment("one").delay.seconds(random.Random(1)) == 0
    assert found.loaded(found.treatments[0]).preset == "seed"


def test_presets_and_parameters_are_of_the_treatment(tmp_path: Path) -> None:
    found = study(tmp_path, BASE + 'preset = "tolerant"\nparams = { max_turns = 4, base_values = [6, 7, 8, 9, 10] }\n')
    game = found.loaded(found.treatments[0])
    assert game.max_turns == 4  # type: ignore[attr-defined]
    assert game.base_values == (6, 7, 8, 9, 10)  # type: ignore[attr-defined]
    assert game.rules == "tolerant"  # type: ignore[attr-defined]


def test_a_scenario_stands_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text("max_turns = 4\n", "utf-8")
    found = study(tmp_path, BASE + 'preset = "short.toml"\n')
    assert found.loaded(found.treatments[0]).max_turns == 4  # type: ignore[attr-defined]
    found = study(tmp_path, BASE + 'params = { scenario = "short.toml", spread_percent = 30 }\n')
    assert found.loaded(found.treatments[0]).max_turns == 4  # type: ignore[attr-defined]
    (tmp_path / "short.toml").write_text("max_turn = 4\n", "utf-8")
    with pytest.raises(ValueError, match=r"treatment 'one': .*short.toml: unknown key 'max_turn': did you mean"):
        study(tmp_path, BASE + 'preset = "short.toml"\n')


def test_a_scenario_by_its_name_is_a_parameter_of_a_treatment(tmp_path: Path) -> None:
    text = BASE.replace('"trading"', '"agenda"').replace('"fair-split"', '"linear"')
    found = study(tmp_path, text + 'params = { scenario = "hiring", turns = 6 }\n')
    game = found.loaded(found.treatments[0])
    assert (game.title, game.turns, game.preset) == ("Hiring an engineer", 6, "hiring")  # type: ignore[attr-defined]


def test_a_changed_consent_text_has_another_version(tmp_path: Path) -> None:
    first, second = (study(tmp_path, f'consent = "I agree{end}"\n' + BASE) for end in (".", "!"))
    assert first.consents and first.consents != second.consents


def test_a_game_of_ones_own_stands_beside_the_study(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "negolab" / "scaffolds" / "ultimatum.py"
    (tmp_path / "own_ultimatum.py").write_text(source.read_text())
    text = BASE.replace('"trading"', '"own_ultimatum.py"').replace("fair-split", "random-legal")
    found = study(tmp_path, text)
    assert type(found.loaded(found.treatments[0])).__name__ == "Ultimatum"


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_every_example_can_be_run(file: Path) -> None:
    found = read_study(file)
    assert found.game == ("bargaining" if file.stem == "paid" else file.stem)
    assert len(found.treatments) > 1


def test_there_is_an_example_for_every_game_and_some_are_of_pairs() -> None:
    assert {file.stem for file in STUDIES} == {*game_names(), "paid"}
    assert {file.stem for file in STUDIES if read_study(file).paired} == {"agenda", "paid", "trading"}


# Mistakes.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BASE + "weigth = 2\n", "treatment 'one': unknown key 'weigth': did you mean weight?"),
        ("titel = 'x'\n" + BASE, "unknown key 'titel': did you mean title?"),
        ("text = 'x'\n" + BASE, "unknown key 'text'"),
        (BASE + "delay = { medain = 1 }\n", "treatment 'one': delay: unknown key 'medain': did you mean median?"),
        (BASE + "[limits]\nrepl = 1\n", "limits: unknown key 'repl': did you mean reply?"),
        (BASE.replace('"A study"', "3"), 'title must be text, not 3: write it in quotes, "..."'),
        (BASE.replace('title = "A study"', ""), "title is missing: write title = ..."),
        (BASE.replace('name = "one"', ""), "treatment 1 of 1: name is missing"),
        (HEAD, "treatments is missing"),
        ("treatments = []\n" + HEAD, "treatments are missing: write at least one [[treatments]]"),
        (BASE.replace("[[treatments]]", "[treatments]"), "treatments: each one begins with [[treatments]]"),
        (BASE + TREATMENT, "the treatment 'one' appears twice"),
        (BASE.replace('"one"', '"one more"'), "treatment 'one more': name must be letters, digits and hyphens"),
        ("name = 'a/b'\n" + BASE, "name must be letters, digits and hyphens"),
        (BASE.replace("Play.", "  "), "instructions is empty"),
        ("consent = ' '\n" + BASE, "consent is empty"),
        (BASE.replace('"trading"', '"tradin"'), "unknown game 'tradin': did you mean trading?"),
        (BASE.replace('"trading"', '"nowhere.py"'), "there is no module at"),
        (BASE + "preset = 'sed'\n", "treatment 'one': unknown preset 'sed' of trading: did you mean seed?"),
        (
            BASE + "params = { max_turn = 3 }\n",
            "treatment 'one': unknown parameter 'max_turn': did you mean max_turns?",
        ),
        (BASE + "params = { max_turns = 0 }\n", "treatment 'one': max_turns"),
        (BASE.replace("fair-split", "fare-split"), "opponent: unknown player 'fare-split' for trading: did you mean"),
        (BASE + "seat = 'C'\n", "treatment 'one': seat must be one of A, B, random, not 'C'"),
        (BASE + "weight = 0\n", "treatment 'one': weight must be a number above 0, not 0"),
        (BASE + "weight = inf\n", "weight must be a number above 0, not inf"),
        (BASE + "weight = 'two'\n", "treatment 'one': weight must be a number above 0, not 'two'"),
        (BASE + "delay = { median = -1 }\n", "delay: median must be a number from 0 up"),
        (BASE + "delay = { median = 90 }\n", "delay: median must lie between least and most, 0 to 60 s"),
        (BASE + "delay = { spread = nan }\n", "delay: spread must be a number from 0 up"),
        (BASE + "[limits]\nreply = 0\n", "limits: reply must be a number above 0, not 0"),
        (BASE + "[limits]\nmatch = nan\n", "limits: match must be a number above 0, not nan"),
        ("expires = 0\n" + BASE, "expires must be a number above 0"),
        ("seed = 1.5\n" + BASE, "seed must be a whole number, not 1.5"),
        (BASE + "[codes]\ncomplet = 'x'\n", "codes: unknown word 'complet': did you mean complete?"),
        (BASE + "[codes]\ncomplete = 'x'\nerror = 'x'\n", "the code 'x' appears twice"),
        (BASE + "[codes]\ncomplete = ''\n", "codes.complete is empty"),
        (BASE + "[endings]\nnever = 'x'\n", "endings: unknown word 'never'"),
        (BASE + "[pairing]\nwait = 5\n", "pairing: every treatment has an opponent"),
        (HEAD + PAIR + "[pairing]\nwait = 0\n", "pairing: wait must be a number above 0"),
        (HEAD + PAIR + "[pairing]\nthen = 'fare-split'\n", "treatment 'pair': opponent: unknown player 'fare-split'"),
        (HEAD + PAIR + "seat = 'A'\n", "treatment 'pair': the seats of two participants are drawn"),
        (HEAD + PAIR + "delay = { median = 1 }\n", "treatment 'pair': delay needs an opponent"),
        (BASE + "[practice]\nmatches = 1\n", "practice: add an opponent"),
        (BASE + "[practice]\nopponent = 'chat'\n", "practice: matches is 0"),
        (BASE + "[practice]\nmatches = -1\n", "practice: matches must be a whole number from 0 to 100, not -1"),
        (BASE + "[practice]\nmatches = 1\nopponent = 'chatt'\n", "practice: opponent: unknown player 'chatt'"),
        (
            BASE + "[[questions]]\nname = 'a'\nlabel = 'A'\nkind = 'yes'\n",
            "question 'a': kind must be one of choice, grid, number, several, text, not 'yes'",
        ),
        (BASE + "[[questions]]\nname = 'a'\nlabel = 'A'\nkind = 'choice'\n", "question 'a': choices and kind"),
        (BASE + "[[questions]]\nname = 'a'\nlabel = 'A'\nchoices = ['x', 'y']\n", "question 'a': choices and kind"),
        (BASE + "[[questions]]\nname = 'a b'\nlabel = 'A'\n", "question 'a b': name must be a letter, then"),
        (BASE + "[[questions]]\nname = 'a'\nlabel = 'A'\n" * 2, "the question 'a' appears twice"),
        ("external = 'a b'\n" + BASE, "external must be a letter, then"),
        ("title =", "Invalid value"),
        (BASE + "\n[treatments]\nname = 'x'\n", "each one begins with [[treatments]]"),
        ("expires = 1e300\n" + BASE, "at most 3,650"),
        ("seed = " + "[" * 3000 + "]" * 3000, "its brackets are nested too deeply"),
        ("seed = 1\na" + ".a" * 50_000 + " = 1", "line 2: a key has too many parts"),
        ("[a" + " . 'a'" * 50_000 + "]", "line 1: a key has too many parts"),
        ("x = {a" + ".a" * 50_000 + " = 1}", "line 1: a key has too many parts"),
        ("seed = " + "1" * 5_000, "a number has too many digits"),
    ],
    ids=lambda words: words.strip()[:40],
)
def test_a_mistake_is_named_with_file_and_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        study(tmp_path, text)
    shown = str(caught.value)
    assert shown.startswith(f"{tmp_path / 'prices.toml'}: ")
    assert said in shown
    assert "\n" not in shown


def test_an_opponent_must_be_able_to_sit_across(tmp_path: Path) -> None:
    text = BASE.replace('"trading"', '"bargaining"').replace("fair-split", "anchored")
    with pytest.raises(ValueError, match="sits at A only, not at B; choose the participant's seat"):
        study(tmp_path, text)
    with pytest.raises(ValueError, match=r"sits at A only, not at B$"):
        study(tmp_path, text + "seat = 'A'\n")
    assert study(tmp_path, text + "seat = 'B'\n").treatments[0].across() == ("A",)
    rounds = '[[steps]]\nkind = "instructions"\n[[steps]]\nkind = "match"\nmatches = 2\nroles = "alternating"\n'
    with pytest.raises(
        ValueError, match=r"sits at A only, not at B; roles = \"alternating\" needs one for both seats$"
    ):
        study(tmp_path, text + "seat = 'B'\n" + rounds)


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.toml cannot be read: No such file"):
        read_study(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b'# a\ntitle = "\xe9"')
    with pytest.raises(ValueError, match="line 2: not UTF-8 text: save"):
        read_study(tmp_path / "latin.toml")
    with pytest.raises(ValueError, match="name must be letters, digits and hyphens"):
        read_study(written(tmp_path, BASE, "my study.toml"))


# The delay of a player.


def test_delays_spread_about_their_median_within_their_bounds() -> None:
    rng = random.Random(4)
    drawn = [Delay(median=5, spread=0.5, least=2, most=20).seconds(rng) for _ in range(2000)]
    assert all(2 <= seconds <= 20 for seconds in drawn)
    assert statistics.median(drawn) == pytest.approx(5, rel=0.05)
    assert statistics.stdev(drawn) > 1


def test_a_seed_gives_the_same_delays() -> None:
    first, second = ([Delay(median=3, spread=1).seconds(rng) for _ in range(5)] for rng in map(random.Random, (9, 9)))
    assert first == second
    assert len(set(first)) == 5


def test_extreme_delays_stay_within_their_bounds() -> None:
    drawn = [Delay(median=1, spread=1e9).seconds(random.Random(seed)) for seed in range(20)]
    assert all(0 <= seconds <= 60 for seconds in drawn)
    assert Delay(median=2).seconds(random.Random(1)) == pytest.approx(2)


# The command line.


@pytest.mark.parametrize("game", game_names())
def test_a_new_study_works_as_it_is(tmp_path: Path, game: str) -> None:
    ran = negolab("new", "study", "mine", "--game", game, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "negolab study links mine.toml -n 20" in ran.stdout
    assert "negolab serve mine.toml" in ran.stdout
    found = read_study(tmp_path / "mine.toml")
    assert found.game == game
    assert set(found.codes) == set(ENDINGS) - {"quiz", "model"}, "it has no quiz and no model"
    assert found.consent and found.limits.reply
    lines = [line for line in found.text.splitlines() if line.startswith(("title", "game", "seed")) and "#" in line]
    assert {line.index("#") for line in lines} == {53}, "the comments stand in line"


def test_what_the_template_comments_out_works_too(tmp_path: Path) -> None:
    negolab("new", "study", "mine", cwd=tmp_path)
    lines = (tmp_path / "mine.toml").read_text("utf-8").splitlines()
    # A line that is commented out is TOML behind its "# ".
    live = [line[2:] if line.startswith("# ") and _is_toml(line[2:]) else line for line in lines]
    pair = '[[treatments]]\nname = "pairs"\n'
    text = "\n".join(live).replace("[pairing]", f"{pair}\n[pairing]")
    found = study(tmp_path, text)
    assert found.paired and found.practice.matches and found.external
    assert found.questions and found.endings and found.links
    assert found.payment is not None and found.payment.endings


def _is_toml(line: str) -> bool:
    if not line.startswith("[") and " = " not in line:
        return False
    try:
        return bool(tomllib.loads(line))
    except tomllib.TOMLDecodeError:
        return False


def test_new_never_overwrites(tmp_path: Path) -> None:
    file = written(tmp_path, "mine")
    ran = negolab("new", "study", file.stem, cwd=tmp_path)
    assert ran.returncode == 2
    assert "already exists and was not changed" in ran.stderr
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["lnks", "prices.toml"], "no such command 'lnks': did you mean links?"),
        (["links", "nowhere.toml"], "nowhere.toml cannot be read: No such file"),
        (["links", "prices.toml"], "no valid unused links are left; create 20 with -n 20"),
        (["links", "prices.toml", "-n", "0"], "-n must be at least 1, not '0'"),
        (["links", "prices.toml", "-n", "2", "--open"], "leave out -n, --out and --test"),
        (["links", "prices.toml", "--test", "--open"], "leave out -n, --out and --test"),
        (["links", "prices.toml", "-n", "2", "--url", "lab"], "--url must be an address"),
        (["links", "prices.toml", "-n", "2", "--db", "mysql://x/y"], "mysql is not supported"),
        (["links", "prices.toml", "-n", "2", "--db", "prices.toml"], "is not a SQLite database"),
        (["status", "prices.toml"], "no links yet; `negolab study links"),
        (["export", "prices.toml"], "no links yet"),
        (["export", "prices.toml", "--to", "excel"], "--to 'excel'"),
    ],
)
def test_a_mistake_is_answered_in_one_line(tmp_path: Path, args: list[str], said: str) -> None:
    written(tmp_path, BASE)
    ran = negolab("study", *args, cwd=tmp_path)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert not ran.stdout


def opened(folder: Path) -> closing[Database]:
    """The database that the commands made."""
    return closing(Database(folder / "prices.db"))


def made(tmp_path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    ran = negolab("study", "links", str(tmp_path / "prices.toml"), *args)
    assert ran.returncode == 0, ran.stderr
    return ran


def test_links_are_printed_one_per_line_and_nothing_else(tmp_path: Path) -> None:
    written(tmp_path, BASE)
    ran = made(tmp_path, "-n", "3", "--url", "https://lab.example/study/")
    found = ran.stdout.splitlines()
    assert len(set(found)) == 3
    assert all(link.startswith("https://lab.example/study/join/") for link in found)
    again = made(tmp_path, "--url", "https://lab.example/study/").stdout.splitlines()
    assert again == found
    more = made(tmp_path, "-n", "2").stdout.splitlines()
    assert "5 participants: 5 invited" in negolab("study", "status", tmp_path / "prices.toml").stdout
    assert not {link.split("/")[-1] for link in more} & {link.split("/")[-1] for link in found}
    with opened(tmp_path) as database:
        secret = database.study("prices", BASE).secret
        ids = [links.read_token(secret, "prices", link.split("/")[-1], 60) for link in found]
        assert ids == [p.id for p in database.participants("prices")][:3]
        assert [p.number for p in database.participants("prices")] == [1, 2, 3, 4, 5]
        database.change(ids[0], opened=1.0)
    assert made(tmp_path, "--url", "https://lab.example/study/").stdout.splitlines()[:2] == found[1:]


def test_the_open_link_is_one_and_makes_nobody(tmp_path: Path) -> None:
    written(tmp_path, "external = 'PROLIFIC_PID'\n" + BASE)
    first = made(tmp_path, "--open")
    assert first.stdout.count("\n") == 1
    assert "?PROLIFIC_PID=ID" in first.stderr
    with opened(tmp_path) as database:
        kept = database.kept("prices")
        assert kept is not None and not database.participants("prices")
        assert links.read_token(kept.secret, "prices", first.stdout.strip().split("/")[-1], 60) == links.OPEN


def test_links_for_tests_are_marked_and_listed_apart(tmp_path: Path) -> None:
    written(tmp_path, "external = 'PROLIFIC_PID'\n" + BASE)
    tests, own = (made(tmp_path, "-n", "2", *more) for more in (["--test"], []))
    assert "panel" not in tests.stderr and "panel" in own.stderr
    assert made(tmp_path, "--test").stdout == tests.stdout and made(tmp_path).stdout == own.stdout
    with opened(tmp_path) as database:
        assert [p.link for p in database.participants("prices")] == ["test", "test", "one", "one"]
    ran = negolab("study", "export", "prices.toml", "--test", cwd=tmp_path)
    assert ran.stdout.endswith("prices-test-export\n") and "2 participants" in ran.stdout


def test_links_go_to_a_file_of_their_owner_alone(tmp_path: Path) -> None:
    written(tmp_path, BASE)
    out = tmp_path / "links.csv"
    ran = made(tmp_path, "-n", "2", "--out", str(out))
    assert ran.stdout == ""
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["number"] for row in rows] == ["1", "2"]
    assert all(row["link"].startswith("http://127.0.0.1:8866/join/") for row in rows)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    refused = negolab("study", "links", str(tmp_path / "prices.toml"), "-n", "2", "--out", str(out))
    assert refused.returncode == 2 and "was not changed" in refused.stderr
    with opened(tmp_path) as database:
        assert len(database.participants("prices")) == 2
    ran = negolab("study", "links", "prices.toml", "-n", "2", "--db", "prices.toml", "--out", "l.csv", cwd=tmp_path)
    assert ran.returncode == 2 and not (tmp_path / "l.csv").exists(), "what cannot be made leaves no file"


# How it stands.


@pytest.mark.database
def test_the_status_says_who_is_where(tmp_path: Path, database_url: str) -> None:
    found = read_study(written(tmp_path, BASE + TREATMENT.replace('"one"', '"two"'), "s.toml"))
    clock = iter(range(1_000_000, 2_000_000))
    database = Database(database_url, clock=lambda: float(next(clock)))
    play_study(database, found)
    database.note("error", "host", study="s", participant=database.participants("s")[4].id, detail="it\x1b[2J broke")
    now = status(database, found)
    by = {person.number: person for person in now.people}
    assert [by[n].status for n in range(1, 9)] == [
        "complete", "complete", "withdrawn", "timeout", "playing", "waiting", "invited", "invited",
    ]  # fmt: skip
    assert by[5].match == database.matches("s", running=True)[0].id
    assert by[5].idle is not None and 0 < by[5].idle < now.at - by[5].since + 1
    assert by[5].errors == 1 and now.errors == ("participant 5: it\x1b[2J broke",)
    assert by[7].opened and not by[8].opened
    assert (now.running, now.ended) == (1, {"AGREED": 2, "ABORTED": 2})
    assert sum(cell.active for cell in now.cells) == 2
    assert sum(cell.complete for cell in now.cells) == 2
    assert sum(cell.dropped for cell in now.cells) == 2
    text = "\n".join(standing.status_lines(now))
    assert "8 participants: 2 invited (1 reading), 1 waiting, 1 playing, 2 complete, 1 timeout, 1 withdrawn" in text
    assert "matches: 1 running, 4 ended (2 agreed, 2 stopped)" in text
    assert "\x1b" not in text and "error: participant 5: it\\x1b[2J broke" in text
    database.close()


def test_a_copy_is_read_as_the_file_that_it_is_a_copy_of(tmp_path: Path) -> None:
    copy = written(tmp_path, BASE, "copy.toml")
    assert read_study(copy, at=tmp_path / "elsewhere" / "prices.toml").name == "prices"
    copy.write_text("title = ", "utf-8")
    with pytest.raises(ValueError, match=r"prices\.toml: "):
        read_study(copy, at=tmp_path / "prices.toml")
