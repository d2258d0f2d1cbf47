"""Tournaments: shared draws, stops in balance, resumption, and rankings that are those of the exported seats."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from negolab_widgets import display
from negolab_widgets.report import Report
from negolab_widgets.results.results import open_results_page
from negolab_widgets.standings import TournamentPage

import negolab as nl
from negolab._internal import manifest
from negolab.analysis import tables
from negolab.analysis.ranking import rank
from negolab.analysis.standings import OVERALL, Standings
from negolab.ledger import paid
from negolab.llm.endpoint.errors import RunFailed
from negolab.record import Record
from negolab.runs.batch import read_arguments
from negolab.tournaments.plan import Design, TournamentPlan
from negolab.tournaments.tournament import Tournament, open_tournament
from tests.support.command import negolab, refusal
from tests.support.service_forms import INPUT, OUTPUT
from tests.support.services import RunningServices, running_services
from tests.widgets.test_replay_file import held

PLAYERS = ["linear", "boulware", "conceder", "random-legal"]
PRICE = {"game": "bargaining", "preset": "exact", "buyer_values": [5000, 6000], "seller_costs": [3000, 4000]}
GAMES = {"price": PRICE, "camp": {"game": "agenda", "scenario": "casino"}}


@pytest.fixture(scope="module")
def services() -> Iterator[RunningServices]:
    with running_services() as found:
        yield found


def opened(out: Path, draws: int = 12, **options: Any) -> Tournament:
    plan = TournamentPlan(players={name: name for name in PLAYERS}, games=GAMES, design=Design(draws=draws))
    return open_tournament(plan, Path(), out, *read_arguments(**options))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tournament that was not disturbed."""
    out = tmp_path_factory.mktemp("whole") / "out"
    asyncio.run(opened(out).run.play())
    return out


def words(records: list[Record]) -> dict[str, Any]:
    return {record.id: (record.header.players, record.events[1:]) for record in records}


def draws_of(out: Path) -> dict[str, Counter[int | None]]:
    """Count how often each pairing played each draw."""
    found: defaultdict[str, Counter[int | None]] = defaultdict(Counter)
    for file in out.rglob("records.jsonl"):
        found[str(file.parent.relative_to(out))].update(record.header.seed for record in nl.read(file))
    return found


def test_all_pairings_play_the_same_draws_each_from_both_seats(whole: Path) -> None:
    counts = list(draws_of(whole).values())
    assert len(counts) == 12 and all(each == counts[0] for each in counts)
    assert len(counts[0]) == 12 and set(counts[0].values()) == {2}


def test_the_ranking_is_that_of_the_exported_seats(whole: Path) -> None:
    table = Standings(whole).tables[0]
    rows = tables.seats(whole / "price")
    found = rank(rows.assign(payoff=rows["payoff"] / 100), "payoff", PLAYERS)
    assert table.ranking is not None and found.draws == table.ranking.draws == 12
    assert found.mean == pytest.approx(table.ranking.mean) and found.half == pytest.approx(table.ranking.half)
    assert found.ranks == table.ranking.ranks


def test_an_export_has_a_column_for_each_condition(whole: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "tables"
    shutil.copytree(whole, run)
    levels = {name: ("plain", "polite", None)[at % 3] for at, name in enumerate(PLAYERS)}
    manifest.write(run, {**manifest.read(run), "conditions": {"prompt": levels}})
    negolab("export", str(run), "--to", "csv", "--out", str(out)).check_returncode()
    texts = {name: pd.read_csv(out / f"{name}.csv", keep_default_na=False, dtype=str) for name in ("matches", "seats")}
    told = {name: level or "" for name, level in levels.items()}
    assert list(texts["seats"]["prompt"]) == list(texts["seats"]["player"].map(told))
    for seat in "ab":
        assert list(texts["matches"][f"prompt_{seat}"]) == list(texts["matches"][f"player_{seat}"].map(told))
    described = pd.read_csv(out / "dictionary.csv", dtype=str)
    assert set(described[described["column"].str.startswith("prompt")]["column"]) == {"prompt", "prompt_a", "prompt_b"}


def test_draws_without_a_zone_of_agreement_are_left_out_and_counted(whole: Path) -> None:
    found = Standings(whole)
    first = found.seats["draw"].iloc[0]
    none = (found.seats["draw"] == first) & (found.seats["game"] == "price")
    found.__dict__["seats"] = found.seats.assign(possible=found.seats["possible"].mask(none, 0))
    price, camp, over = found.tables
    assert price.ranking is not None and camp.ranking is not None and over.ranking is not None
    assert (price.ranking.draws, camp.ranking.draws, over.ranking.draws) == (11, 12, 11)
    assert (price.no_zone, camp.no_zone, over.no_zone) == (1, 0, 1) and "1 draws without a zone" in price.counts()


def test_over_games_counts_the_share_of_what_was_attainable(whole: Path) -> None:
    found = Standings(whole)
    assert [table.game for table in found.tables] == ["price", "camp", OVERALL]
    rows = found.seats[found.seats["possible"] > 0]
    assert (rows["share"] * rows["possible"]).tolist() == pytest.approx(rows["gain"].tolist())
    assert found.tables[2].ranking is not None and found.tables[2].ranking.draws == 12


def test_a_game_that_draws_nothing_is_ranked_exactly(tmp_path: Path) -> None:
    found = nl.tournament("bargaining", ["linear", "boulware"], out=tmp_path / "out", design={"draws": 10})
    (table,) = found.standings().tables
    assert table.exact and table.order == ["boulware", "linear"]
    assert table.ranking is not None and table.ranking.ranks == {"linear": (2, 2), "boulware": (1, 1)}


def test_players_in_a_list_go_by_their_labels(tmp_path: Path) -> None:
    found = nl.tournament("bargaining", ["time:beta=3,label=Soft", "boulware"], out=tmp_path, design={"draws": 2})
    assert found.standings().tables[0].order == ["boulware", "Soft"]
    with pytest.raises(ValueError, match="two players are called 'Soft': give each its own label"):
        nl.tournament("bargaining", ["linear:label=Soft", "boulware:label=Soft"], out=tmp_path / "twice")
    named = negolab("tournament", "bargaining", "--players", "linear:label=Soft,boulware:label=Soft", "--out", "out")
    assert named.returncode == 2 and "two players are called 'Soft'" in named.stderr


def test_a_stopped_tournament_is_balanced_and_resumed_it_equals_an_undisturbed_one(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "out"
    for stop in (70, 150):
        going = opened(out)
        going.run.watch(lambda now, run=going.run, stop=stop: run.finish() if now.over == stop else None)  # type: ignore[misc]
        asyncio.run(going.run.play())
        played = [sum(each.values()) for each in draws_of(out).values()]
        assert sum(played) == stop and max(played) - min(played) <= 2
    asyncio.run(opened(out).run.play())
    assert words(nl.read(out)) == words(nl.read(whole))


MODELS = {
    "one": {"player": "llm:openai/plain"},
    "two": {"player": "llm:openai/plain", "temperature": 0.7},
    "firm": "boulware",
}


@pytest.mark.long
def test_a_budget_that_ends_half_way_leaves_balance_and_more_money_ends_it_without_paying_twice(
    services: RunningServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEGOLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    conditions = {"prompt": {"plain": {}, "warm": {"top_p": 0.9}}}
    arguments = {
        "games": {"camp": GAMES["camp"], "trade": {"game": "trading", "players": ["one", "two"]}},
        "players": MODELS,
        "conditions": conditions,
        "design": {"draws": 2},
        "base_url": services.url,
        "prices": {"openai/plain": f"{INPUT},{OUTPUT}"},
    }
    whole = nl.tournament(**arguments, out=tmp_path / "whole")  # type: ignore[arg-type]
    assert whole.progress.phase == "done" and whole.progress.finished == whole.progress.games
    cost, dearest = paid(tmp_path / "whole").usd, 0.0
    monkeypatch.setenv("NEGOLAB_CACHE", str(tmp_path / "another"))
    out, limit = tmp_path / "out", cost / 2
    with pytest.raises(RunFailed, match="budget"):
        nl.tournament(**arguments, out=out, budget=limit)  # type: ignore[arg-type]
    dearest = max(reply.cost for record in nl.read(out) for event in record.events
                  if (reply := getattr(event, "reply", None)) and reply.cost)  # fmt: skip
    assert limit - 2 * dearest <= paid(out).usd <= limit
    played = [len(each) for each in draws_of(out).values()]
    assert max(played) - min(played) <= 1 and sum(played) < 2 * len(played)
    missing = Standings(out).pairings()
    assert (missing["planned"] - missing["played"]).sum() == whole.progress.games - len(nl.read(out))
    nl.tournament(**arguments, out=out, budget=2 * cost)  # type: ignore[arg-type]
    assert {record.id for record in nl.read(out)} == {record.id for record in nl.read(tmp_path / "whole")}
    assert paid(out).usd == pytest.approx(cost, rel=0.1)
    asked = negolab("calls", str(out), env={**os.environ, "NEGOLAB_CACHE": str(tmp_path / "another")})
    assert len(asked.stdout.splitlines()) == paid(out).answers, asked.stderr
    reported = negolab("report", str(out))
    assert reported.returncode == 0 and "Condition: prompt" in (out / "report.html").read_text(), reported.stderr
    rows = tables.seats(out / "camp")
    costs = Standings(out).profiles("camp").query("measure == 'model cost (US dollars)'").set_index("player")
    assert set(costs.index) == {"one+plain", "one+warm", "two+plain", "two+warm"}, "boulware is no model"
    assert costs["value"].to_dict() == pytest.approx(rows.groupby("player")["cost"].mean().dropna().to_dict())
    effects = dict(Standings(out).condition_effects())
    assert list(effects["prompt"]["one"]) == ["plain"] and list(effects["prompt"]["two"]) == ["warm"]


def test_an_estimate_plays_one_game_of_each_pairing_and_stops(services: RunningServices, tmp_path: Path) -> None:
    command = ["tournament", "bargaining", "--preset", "range", "--players", "llm:openai/plain,boulware,linear"]
    more = ["--n", "20", "--base-url", services.url, "--price", f"openai/plain={INPUT},{OUTPUT}", "--no-cache"]
    ran = negolab(*command, *more, "--estimate", "--out", str(tmp_path / "out"))
    assert ran.returncode == 0 and "in all 117 matches to play, about" in ran.stdout, ran.stderr
    assert "a strength will be known to about ± $" in ran.stdout and "$" in ran.stdout.splitlines()[-2]
    assert len(nl.read(tmp_path / "out")) == 3
    again = negolab(*command, *more, "--estimate", "--out", str(tmp_path / "out"))
    assert again.stdout == ran.stdout, "its games are counted, not played again"
    whole = negolab(*command, *more, "--n", "1", "--out", str(tmp_path / "out"))
    assert re.search(r"^cost +\$[\d.]+ for \d+ calls$", whole.stdout, re.M), whole.stderr


def test_a_batch_is_estimated_by_the_same_pilot(tmp_path: Path) -> None:
    command = ["batch", "trading", "--a", "random-legal", "--b", "chat", "--n", "100", "--estimate"]
    ran = negolab(*command, "--out", str(tmp_path / "out"))
    assert "in all 80 matches to play" in ran.stdout and "a mean payoff will be known to about" in ran.stdout, (
        ran.stderr
    )


def test_what_holds_another_run_is_refused(tmp_path: Path) -> None:
    nl.run("bargaining", "linear", "boulware", n=2, out=tmp_path / "out")
    with pytest.raises(ValueError, match="contains a run that is not a tournament"):
        opened(tmp_path / "out")
    one, other = (
        TournamentPlan(players={"Firm": firm, "Soft": soft}, games=GAMES, design=Design(draws=1))
        for firm, soft in (("boulware", "linear"), ("linear", "boulware"))
    )
    asyncio.run(open_tournament(one, Path(), tmp_path / "two", *read_arguments()).run.play())
    with pytest.raises(ValueError, match=r"player of Firm \(boulware then, linear now\)"):
        open_tournament(other, Path(), tmp_path / "two", *read_arguments())


@pytest.fixture(scope="module")
def report(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "a report.html"
    negolab("report", str(whole), "--out", str(out)).check_returncode()
    return out


def test_a_report_and_a_card_show_ranks_cross_table_and_pairings(whole: Path, report: Path) -> None:
    page = report.read_text()
    assert "<h2>Ranking</h2>" in page and "share of what was attainable" in page
    assert "Payoff was" not in page, "cents and points have no common mean"
    first = re.search(r"<p>(\S+) is ahead in all games, at rank 1: .* above the average \(.*</p>", page)
    assert first and first[1] == Standings(whole).tables[-1].order[0] and "(n = 288; 12 draws" in first[0]
    assert "Players: linear = linear, boulware = boulware," in page
    assert page.index("<h3>all games</h3>") < page.index("<h3>price</h3>")
    card = display.tournament(opened(whole))
    for shown in (page, card):
        assert "mean payoff (dollars) of each player against each opponent" in shown
        assert "Matches of each pairing" in shown and "boulware--linear" in shown and "are missing" not in shown
        assert "Head to head" in shown and "12 draws" in shown
        assert "length (turns)" in shown and "model cost" not in shown, "strategies cost nothing"


def test_a_report_draws_a_plane_for_each_player_and_links_pairings_to_their_matches(whole: Path, report: Path) -> None:
    page, beside = report.read_text(), report.with_name("a report-matches.html").read_text()
    assert len(page) < 1_500_000 and page.count("<figcaption") == 2 * len(PLAYERS)
    ids = re.findall(r'<a href="a%20report-matches\.html#([^"]+)">', page)
    assert len(ids) == 2 * 4 * 3, "who meets whom, in two games"
    matches = {match["id"]: match["name"] for match in held(beside)["matches"]}
    assert set(ids) == set(matches) and len(matches) == 2 * 12, "each pairing from both seats"
    first = {record.header.seed for record in nl.read(whole) if record.id in matches}
    assert len(first) == 1, "on one draw"
    record = next(record for record in nl.read(whole / "camp") if record.id in matches)
    assert all(name in matches[record.id] for name in record.header.players.values())


def test_agreements_joint_gain_and_length_are_those_of_the_matches_of_a_player(whole: Path) -> None:
    found = Standings(whole)
    known = found.profiles("camp").set_index(["player", "measure"])
    rows = tables.matches(whole / "camp").join(tables.measures(whole / "camp")["efficiency"])
    for player in PLAYERS:
        own = rows[(rows["player_a"] == player) | (rows["player_b"] == player)]
        own = own.drop_duplicates(["player_a", "player_b", "draw"]) if player != "random-legal" else own
        expected = {
            "agreed (%)": 100 * (own["end"] == "AGREED").mean(),
            "joint gain (%)": 100 * own["efficiency"].mean(),
            "length (turns)": (own["moves_a"] + own["moves_b"]).mean(),
        }
        assert known.loc[player]["value"].to_dict() == pytest.approx(expected)
        assert set(known.loc[player]["n"]) == {len(own)} == {72}


def test_a_page_is_drawn_again_as_more_is_played(tmp_path: Path) -> None:
    out, stop = tmp_path / "out", 30
    for total in ("30 of 96", "96 of 96"):
        going = opened(out, draws=4)
        going.run.watch(lambda now, run=going.run, stop=stop: run.finish() if now.over == stop else None)  # type: ignore[misc]
        asyncio.run(going.run.play())
        if stop:
            page, stop = open_results_page(out), 0
            assert isinstance(page, TournamentPage)
        page.refresh()
        assert f"{total} matches" in page._shown.value and "Who met whom" in page._shown.value
    drawn = page._shown.value
    page.refresh()
    assert page._shown.value is drawn, "nothing is read again"


def test_show_refuses_what_is_neither_a_tournament_nor_a_sweep(tmp_path: Path) -> None:
    assert str(tmp_path) in refusal("tournament", "show", str(tmp_path), "--no-browser")
    helped = negolab("tournament", "--help").stdout
    assert "run " in helped and "show " in helped and "--players" in negolab("tournament", "run", "--help").stdout


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"games": {"price": "../whole/price"}},
            "the game 'price' is in '../whole/price', which is not the name of a folder",
        ),
        ({"games": {"price": "/tmp"}}, "which is not the name of a folder in it"),
        ({"games": ["price"]}, "games"),
        ({"entrants": None}, "entrants"),
        ({"entrants": ["linear", "linear"]}, "an entrant appears twice"),
        ({"conditions": {"tone": {"linear": [1]}}}, "conditions"),
        ({"conditions": {"payoff": {"linear": "x"}}}, "conditions: payoff is a column of a table"),
    ],
)
def test_a_manifest_of_somebody_else_leads_nowhere_and_is_refused_in_one_line(
    whole: Path, tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    manifest.write(tmp_path, manifest.read(whole) | changed)
    for link in ("price", "camp"):
        (tmp_path / link).symlink_to(whole / link)
    with pytest.raises(ValueError, match=said) as raised:
        Standings(tmp_path)
    assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match=r"not the name of a folder|manifest of a tournament|no records"):
        Report(tmp_path)


def test_a_link_of_a_tournament_to_another_folder_is_not_followed(whole: Path, tmp_path: Path) -> None:
    manifest.write(tmp_path, manifest.read(whole))
    shutil.copytree(whole / "camp", tmp_path / "camp")
    (tmp_path / "price").symlink_to(whole / "price")
    assert set(Standings(tmp_path).games) == set(Report(tmp_path).frame["game"].replace({"agenda": "camp"})) == {"camp"}


def test_planned_matches_that_are_not_there_are_counted(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, copy := tmp_path / "copy")
    gone = next(iter((copy / "price").iterdir()))
    missing = len(nl.read(gone))
    shutil.rmtree(gone)
    total = len(nl.read(whole))
    ran = negolab("check", str(copy))
    assert f"negolab: {missing} of {total} planned matches are missing\n" in ran.stderr
    assert f"{missing} planned matches are missing" in Report(copy).body()[0]
    assert "missing" not in negolab("check", str(whole)).stderr
    file = next(copy.rglob("records.jsonl"))
    file.write_bytes(file.read_bytes() * 2)
    assert f"{len(nl.read(file)) // 2} have the ID of another match" in Report(copy).body()[0]


def test_the_manifest_of_a_pairing_that_is_damaged_or_gone_is_named(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    file = next((tmp_path / "copy" / "price").glob("*/manifest.json"))
    kept = manifest.read(file.parent)
    manifest.write(file.parent, kept | {"plan": {**kept["plan"], "n": "x"}})
    with pytest.raises(ValueError, match=f"{file} is not the manifest of a pairing"):
        Standings(tmp_path / "copy").pairings()
    file.unlink()
    with pytest.raises(ValueError, match="have matches of price, but no manifest"):
        Standings(tmp_path / "copy").examples()


def test_a_report_says_the_differences_that_its_table_shows(tmp_path: Path) -> None:
    plan = TournamentPlan(
        players={name: name for name in ("linear", "boulware", "conceder")},
        games={"price": {"game": "bargaining", "preset": "asymmetric"}},
        design=Design(draws=12),
    )
    asyncio.run(open_tournament(plan, Path(), tmp_path / "out", *read_arguments()).run.play())
    report = Report(tmp_path / "out")
    means = tables.seats(tmp_path / "out").groupby("player")["payoff"].mean()
    found = {(one.first, one.second): one for one in report.effects if one.outcome.startswith("payoff")}
    assert len(found) == 3
    for (first, second), effect in found.items():
        assert effect.difference.value == pytest.approx(means[second] - means[first])
        assert effect.difference.n == 72, "matches, not seats"
