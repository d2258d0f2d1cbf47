"""Agents of NegMAS as players: with an imitation of its process and, where NEGOLAB_NEGMAS names one, with NegMAS."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from negolab_widgets.replay.branching import Branching

import negolab as nl
from negolab import catalog
from negolab.game import SEATS, Seat, other
from negolab.games.bargaining.rules import deal_payoffs
from negolab.match import Match
from negolab.players import negmas
from negolab.players.lookup import compatible_players, resolve
from negolab.players.negmas import NEGMAS, NegmasFailed
from negolab.runs.driver import make_player
from negolab.runs.plan import derive_seed
from negolab.runs.scripted import FAILURES
from negolab.studies.session import MatchSession
from negolab.verification import replay_differences
from tests.conftest import ROOT
from tests.support.command import NEGOLAB, negolab, succeeding
from tests.support.processes import is_alive, until

ITSELF = os.environ.get(NEGMAS)
SUPPORT = ROOT / "tests" / "support"
CAMPING = nl.load("agenda", preset="casino", turns=9)
PRICE = nl.load("bargaining")
STEADY = "negmas:negotiator=Steady"


def imitation(folder: Path, version: str = "0.16.0") -> tuple[str, Path]:
    """Write a command that imitates a Python with NegMAS; return it, and the file that lists its processes."""
    command, log = folder / f"python-{version}", folder / "processes.txt"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} {SUPPORT / 'imitated_negmas.py'} {log} {version}\n")
    command.chmod(0o755)
    return str(command), log


@pytest.fixture
def imitated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set NEGOLAB_NEGMAS to an imitation; return the file that lists its processes."""
    command, log = imitation(tmp_path)
    monkeypatch.setenv(NEGMAS, command)
    yield log
    end()


def end() -> None:
    """End the process, as the end of this one does."""
    if negmas._child is not None:
        negmas._child.end()


def processes(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def play(game: Any, a: str, b: str, seed: int = 1) -> Match:
    return nl.play(Match(game, seed=seed), {"A": a, "B": b})


@pytest.mark.parametrize("game", [CAMPING, PRICE], ids=["agenda", "bargaining"])
def test_an_agent_offers_and_hears_what_was_offered_and_its_record_replays(game: Any, imitated: Path) -> None:
    for a, b in ((STEADY, "linear"), ("linear", STEADY), (STEADY, STEADY)):
        match = play(game, a, b)
        assert match.ended is not None and replay_differences(match.record()) == []
    agreed = play(game, STEADY, "negmas:negotiator=Taker")
    assert agreed.ended is not None and agreed.ended.end == "AGREED"
    assert len(processes(imitated)) == 1, "all matches share a process"


def test_an_agent_that_accepts_nothing_makes_no_offer(imitated: Path) -> None:
    rejecting = play(CAMPING, "negmas:negotiator=Agreeing", "linear")
    assert rejecting.state.public.messages[0].offer is None
    with pytest.raises(NegmasFailed, match="Agreeing made no offer"):
        play(PRICE, "negmas:negotiator=Agreeing", "linear")


def test_where_nobody_can_walk_away_an_agent_rejects_on_or_fails(imitated: Path) -> None:
    leaving = play(CAMPING, "negmas:negotiator=Ending", "linear")
    assert leaving.ended is not None and leaving.ended.end == "NO_DEAL"
    staying = play(nl.load("agenda", preset="casino", walk_away=False), "negmas:negotiator=Ending", "linear")
    assert {entry.offer for entry in staying.state.public.messages if entry.seat == "A"} == {None}
    with pytest.raises(NegmasFailed, match="Ending made no offer where the rules require one"):
        play(PRICE, "linear", "negmas:negotiator=Ending")
    walked = play(nl.load("bargaining", walk_away=True), "linear", "negmas:negotiator=Ending")
    assert walked.ended is not None and walked.ended.end == "NO_DEAL"


@pytest.mark.parametrize(
    ("agent", "fault"),
    [
        ("Dying", "Dying ended its process with status 3"),
        ("Silent,seconds=0.2", "Silent did not answer within 0.2 s"),
        ("Babbling", r"Babbling answered b'I think\\n'"),
        ("Breaking", r"Breaking answered b'\{\"move\": \[0'"),
        ("Astray", r"Astray offered \(99,\), which is not an agreement in this game"),
        ("Failing", "Failing: KeyError: 'its own'"),
        ("Mute", "Mute made no offer"),
    ],
)
def test_a_fault_is_named_and_the_next_match_plays(agent: str, fault: str, imitated: Path) -> None:
    before = play(CAMPING, STEADY, STEADY).state
    with pytest.raises(NegmasFailed, match=fault):
        play(CAMPING, f"negmas:negotiator={agent}", STEADY)
    assert play(CAMPING, STEADY, STEADY).state == before
    assert [is_alive(pid) for pid in processes(imitated)].count(True) == 1


def test_what_cannot_be_started_is_told_before_any_match(
    tmp_path: Path, imitated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NegmasFailed, match="Unknown: no such agent"):
        resolve("negmas:negotiator=Unknown", CAMPING)
    with pytest.raises(ValueError, match="seconds must be above 0"):
        resolve(f"{STEADY},seconds=0", CAMPING)
    for python, fault in (
        (imitation(tmp_path, "0.15.3")[0], "needs NegMAS 0.16 or later: it has NegMAS 0.15.3"),
        (sys.executable, "needs NegMAS 0.16 or later: No module named 'negmas'"),
        ("/bin/ls", "/bin/ls ended its process with status 2"),
        ("/bin/cat/no", "cannot be started: Not a directory"),
        ("", "set NEGOLAB_NEGMAS to a Python that has NegMAS"),
    ):
        monkeypatch.setenv(NEGMAS, python)
        with pytest.raises(NegmasFailed, match=fault):
            resolve(STEADY, CAMPING)
    assert not any(map(is_alive, processes(imitated)))


def test_only_the_games_that_have_a_bridge_offer_agents_and_the_lobby_none() -> None:
    assert "negmas" in nl.list_players("agenda") and "negmas" in nl.list_players("bargaining")
    assert "negmas" not in nl.list_players("trading")
    assert "negmas" not in compatible_players(CAMPING, "A")


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize(
    "game",
    [
        PRICE,
        nl.load("bargaining", frame="keeps_item", outside_seller=300, outside_buyer=200),
        nl.load("bargaining", discount_seller=0.9, discount_buyer=0.8, outside_seller=300),
    ],
    ids=["plain", "item", "discounted"],
)
def test_a_price_s_utility_is_its_payoff_on_another_scale(game: Any, seat: Seat) -> None:
    match = Match(game, seed=1)
    told = catalog.part(game, "NEGMAS").domain(match.told(seat), match.seen(seat))
    (issue,) = told["issues"]
    without = game.disagreement(match.state)[seat]
    points = [(told["reservation"], without)]
    for waited in (0, 4):
        for price in (0, 2500, 10_000):
            utility = (issue["slope"] * price + issue["bias"]) * told["discount"] ** (waited + 1)
            points.append((utility, deal_payoffs(game, match.state, price, waited)[seat]))
    rates = [(payoff - without) / (utility - told["reservation"]) for utility, payoff in points[1:]]
    assert rates == pytest.approx([rates[0]] * len(rates), rel=1e-3)


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("preset", ["hiring", "casino", "supplier"])
def test_an_agreement_s_utility_is_its_points_on_another_scale(preset: str, seat: Seat) -> None:
    game: Any = nl.load("agenda", preset=preset)
    match = Match(game, seed=1)
    seen = match.seen(seat)
    told = catalog.part(game, "NEGMAS").domain(match.told(seat), seen)
    utilities, points = [told["reservation"]], [game.worth(seen, None)]
    for agreement in itertools.islice(game.agreements(seen), 0, None, 41):
        utilities.append(sum(issue["utilities"][at] for issue, at in zip(told["issues"], agreement, strict=True)))
        points.append(game.worth(seen, agreement))
    span, best = max(points) - min(points), max(utilities)
    assert min(utilities[1:]) >= 0 and best <= 1 + 1e-9
    rate = span / (best - min(utilities))
    assert [(u - utilities[0]) * rate for u in utilities] == pytest.approx([p - points[0] for p in points], abs=1e-6)


def resumed_is_as_played(game: Any, a: str, b: str) -> None:
    """Play a match, and again from each of its events with new players."""
    whole = play(game, a, b)
    for at in range(1, len(whole.events)):
        again = nl.play(whole.fork(at), {"A": a, "B": b})
        assert again.state == whole.state and again.ended == whole.ended


def interleaved_is_as_alone(game: Any, a: str, b: str, count: int) -> None:
    """Play matches one by one, and again in turns of a message each."""
    alone = [play(game, a, b, seed).state for seed in range(count)]
    matches = [Match(game, seed=seed) for seed in range(count)]
    seats: list[dict[Seat, Any]] = [
        {seat: make_player(name, game, seed, seat) for seat, name in zip(SEATS, (a, b), strict=True)}
        for seed in range(count)
    ]
    while any(match.ended is None for match in matches):
        for match, players in zip(matches, seats, strict=True):
            for seat, ask in match.pending().items():
                match.act(seat, players[seat].reply(match.told(seat), ask))
    assert [match.state for match in matches] == alone


def test_a_resumed_match_is_as_it_was_played_and_interleaved_ones_as_alone(imitated: Path) -> None:
    for game in (CAMPING, PRICE):
        resumed_is_as_played(game, STEADY, STEADY)
        interleaved_is_as_alone(game, STEADY, STEADY, 5)


def test_a_branch_hears_what_its_seat_said_instead(imitated: Path) -> None:
    branch = play(CAMPING, STEADY, STEADY).fork(3)
    (seat,) = branch.pending()
    branch.submit(seat, "[Offer: food = 3; water = 3; firewood = 0]")
    again = nl.play(branch.fork(), {"A": STEADY, "B": STEADY})
    nl.play(branch, {"A": STEADY, "B": STEADY})
    assert branch.state == again.state and branch.ended is not None


def test_a_person_s_match_resumes(imitated: Path) -> None:
    seat: Seat = "A"
    match = Match(CAMPING, seed=2, players={seat: "person", other(seat): STEADY})
    live = MatchSession(match, {other(seat): make_player(STEADY, CAMPING, 2, other(seat))})
    live.advance()
    for _ in range(2):
        live.submit(seat, "[Offer: food = 3; water = 3; firewood = 0]", live.view(seat).turn)
        kept = live.match.record()
        end()
        again = MatchSession.resumed(kept, {other(seat): make_player(STEADY, CAMPING, 2, other(seat))})
        again.advance()
        assert again.match.events == live.match.events


def test_a_look_at_a_record_starts_nothing(imitated: Path) -> None:
    record = play(CAMPING, STEADY, "linear").record()
    end()
    started = processes(imitated)
    branching = Branching(lambda parent, branch: "")
    branching.set_start(record, 1)
    assert STEADY not in branching._seats["A"].options and processes(imitated) == started
    play(CAMPING, STEADY, "linear")
    branching.set_start(play(CAMPING, STEADY, "linear").record(), 1)
    assert STEADY in branching._seats["A"].options, "this process plays with NegMAS already"


def test_a_batch_notes_versions_resumes_and_its_processes_end(tmp_path: Path, imitated: Path) -> None:
    arguments = ["batch", "agenda", "--preset", "casino", "--a", STEADY, "--b", "linear", "--n", "6"]
    env = {**os.environ, "NEGOLAB_WORKERS": "2"}
    succeeding(*arguments, "--out", str(tmp_path / "two"), env=env)
    succeeding(*arguments, "--out", str(tmp_path / "one"))
    one, two = (sorted(nl.read(tmp_path / name), key=lambda record: record.header.id) for name in ("one", "two"))
    assert [record.events for record in one] == [record.events for record in two] and len(one) == 6
    assert one[0].header.notes["code"] == {"A": {"negmas": "0.16.0", "python": "3.13"}}
    more = [*arguments[:-1], "8", "--out", str(tmp_path / "one")]
    newer = negolab(*more, env={**os.environ, NEGMAS: imitation(tmp_path, "0.17.1")[0]})
    assert newer.returncode == 2 and "negmas of negmas:negotiator=Steady (0.16.0 then, 0.17.1 now)" in newer.stderr
    assert negolab(*more).returncode == 0 and len(nl.read(tmp_path / "one")) == 8
    until(lambda: not any(map(is_alive, processes(imitated))))


def test_a_failed_match_does_not_stop_its_run(tmp_path: Path, imitated: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--preset", "casino", "--a", "negmas:negotiator=Dying", "--b", "linear", "--n", "2"]
    ran = negolab("batch", "agenda", *arguments, "--out", str(out))
    assert "all 2 matches failed" in ran.stderr
    assert "Dying ended its process with status 3" in (out / FAILURES).read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_its_process_ends_with_an_interrupted_or_killed_one(imitated: Path, how: signal.Signals) -> None:
    words = ["watch", "agenda", "--a", "negmas:negotiator=Silent,seconds=50", "--b", STEADY, "--seed", "1"]
    with subprocess.Popen([*NEGOLAB, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as command:
        assert command.stdout is not None
        command.stdout.readline()
        (pid,) = processes(imitated)
        time.sleep(0.3)
        command.send_signal(how)
    if how == signal.SIGINT:  # the imitation sleeps on, where the real one ends itself at the end of its input
        until(lambda: not is_alive(pid))
    else:
        os.kill(pid, signal.SIGKILL)


def test_a_command_lists_the_agents(imitated: Path) -> None:
    listed = negolab("agents")
    assert listed.stdout == "negmas 0.16.0, negmas-other 1.2, python 3.13\n\nnegmas:negotiator=Steady\n"


# NegMAS itself.

AGENTS = ("AspirationNegotiator", "MiCRONegotiator", "RandomNegotiator", "NiceTitForTatNegotiator", "HybridNegotiator")
NEGOLOG = tuple(f"negmas_negolog.{name}" for name in ("BoulwareAgent", "HybridAgent", "Kawaii"))


@pytest.fixture
def itself(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if ITSELF is None:
        pytest.skip("NEGOLAB_NEGMAS names no Python with NegMAS")
    yield ITSELF
    end()


def played_by_negmas(python: str, matches: list[tuple[Match, dict[Seat, str]]]) -> list[dict[str, Any]]:
    """Let NegMAS play the same matches by itself."""
    told = []
    for match, agents in matches:
        (first,) = match.pending()
        order: tuple[Seat, Seat] = (first, other(first))
        part = catalog.part(match.game, "NEGMAS")
        told.append(
            {
                "agents": [agents[seat] for seat in order],
                "seeds": [derive_seed(match.seed or 0, "player", seat) for seat in order],
                "domains": [part.domain(match.told(seat), match.seen(seat)) for seat in order],
            }
        )
    command = [python, "-s", "-P", SUPPORT / "negmas_itself.py", ROOT / "negolab" / "players" / "negmas_child.py"]
    ran = subprocess.run(
        command, input=msgspec.json.encode(told), capture_output=True, env={**os.environ, "PYTHONHASHSEED": "0"}
    )
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("game", "agents"),
    [
        (nl.load("agenda", preset="random"), AGENTS),
        (nl.load("agenda", preset="casino", turns=21, opens="drawn"), AGENTS),
        (nl.load("agenda", preset="supplier"), (*AGENTS[:3], NEGOLOG[0])),
        (nl.load("agenda", preset="random", turns=15), NEGOLOG),
        (nl.load("bargaining", rounds=10, walk_away=True), AGENTS),
    ],
    ids=["random", "casino", "discounted", "negolog", "bargaining"],
)
def test_matches_are_those_that_negmas_plays_itself(game: Any, agents: tuple[str, ...], itself: str) -> None:
    pairs: list[dict[Seat, str]] = [{"A": a, "B": b} for a, b in itertools.product(agents, repeat=2)]
    matches = [Match(game, seed=seed) for seed, _ in enumerate(pairs)]
    theirs = played_by_negmas(itself, list(zip(matches, pairs, strict=True)))
    for match, pair, expected in zip(matches, pairs, theirs, strict=True):
        nl.play(match, {seat: f"negmas:negotiator={agent}" for seat, agent in pair.items()})
        heard = catalog.part(game, "NEGMAS").heard(game, match.seen("A"))
        ended = match.ended
        assert ended is not None
        # Nobody could answer the offer of the last message, and who accepts or leaves offers nothing.
        wanted = expected["offers"][: game.bound() - 1]
        offers = [offer and list(offer) for offer in heard][: len(wanted)]
        assert (offers, ended.end == "AGREED") == (wanted, expected["agreed"]), (pair, ended)


def test_agents_resume_branch_and_share_a_process(itself: str) -> None:
    for game, one, two in (
        (CAMPING, "MiCRONegotiator", NEGOLOG[2]),
        (nl.load("bargaining", rounds=4, walk_away=True), "RandomNegotiator", "MiCRONegotiator"),
    ):
        a, b = f"negmas:negotiator={one}", f"negmas:negotiator={two}"
        resumed_is_as_played(game, a, b)
        interleaved_is_as_alone(game, a, b, 3)


def test_an_agent_takes_parameters_and_says_what_is_wrong(itself: str) -> None:
    conceder = 'negmas:negotiator=AspirationNegotiator,params={"aspiration_type": "conceder"}'
    early, late = (play(CAMPING, name, "stubborn").state for name in (conceder, conceder.partition(",")[0]))
    assert early != late
    with pytest.raises(NegmasFailed, match="MeanMetaNegotiator: ValueError: Must specify"):
        play(CAMPING, "negmas:negotiator=MeanMetaNegotiator", "linear")
    with pytest.raises(NegmasFailed, match="UtilBasedNegotiator: RuntimeError: the agent raised a TypeError"):
        play(CAMPING, "negmas:negotiator=UtilBasedNegotiator", "linear")
    for name, fault in (
        ("MiCRNegotiator", "has no such agent: did you mean MiCRONegotiator or"),
        ("os.path", "name must begin with negmas"),
        ("negmas_nothing.Agent", "No module named 'negmas_nothing'"),
    ):
        with pytest.raises(NegmasFailed, match=fault):
            resolve(f"negmas:negotiator={name}", CAMPING)


def test_its_process_ends_at_the_end_of_its_input(itself: str) -> None:
    resolve("negmas:negotiator=MiCRONegotiator", CAMPING)
    child = negmas._child
    assert child is not None
    child._questions.close()
    assert child._process.wait(20) == 0


def test_the_list_has_every_agent_of_its_packages(itself: str) -> None:
    listed = negolab("agents").stdout.splitlines()
    assert {f"negmas:negotiator={name}" for name in (*AGENTS, *NEGOLOG)} <= set(listed)
    assert f"negmas {negmas.list_agents()[1]['negmas']}" in listed[0]
