"""Language models at the host: only configured ones, no key is ever shown, and failures are reported."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from negolab_widgets import Lobby, Replay
from negolab_widgets.play.models import MODEL_CHOICE, ModelChoice
from negolab_widgets.replay.branching import PERSON_CHOICE

import negolab as nl
from negolab.events import Ended, Rejected, Replied
from negolab.ledger import FILE, Ledger
from negolab.llm.models import Models
from negolab.store import read as records
from negolab.studies.client import HostClient
from negolab.studies.host_config import EndpointAddress, HostConfig, KnownEndpoints, build_host_config, read_host_config
from negolab.studies.page_state import NotDelivered
from negolab.verification import replay_differences
from tests.support.endpoints import Server, running_endpoint
from tests.support.gate_server import wait_until
from tests.support.host_process import (
    HostProcess,
    page_text,
    press_button,
    running_host,
    shown_widgets,
    solo_treatment,
    study_toml,
)

CANARY = "sk-canary-7Yq2hV0nKx"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Server]:
    with running_endpoint(key=CANARY) as server:
        yield server


@pytest.fixture
def server(endpoint: Server) -> Server:
    endpoint.reset(key=CANARY)
    return endpoint


@pytest.fixture
def desk(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostProcess]:
    with running_host(tmp_path, config=host_config(server)) as hosted:
        monkeypatch.setenv("NEGOLAB_ADMIN", hosted.desk)
        yield hosted


def host_config(server: Server, key: str = CANARY) -> HostConfig:
    return build_host_config("", (server.url,), None, {"OPENAI_API_KEY": key})


def beside_a_model() -> Lobby:
    """A lobby in which a person plays a model."""
    lobby = Lobby("bargaining")
    lobby._on_drawn()
    lobby._seat.value = "B"
    lobby._opponent.value = MODEL_CHOICE
    lobby._seed.value = "7"
    return lobby


def page_state(desk: HostProcess, lease: str) -> Any:
    return HostClient(desk.desk).ask("/now", lease=lease)["state"]


def begun(desk: HostProcess, opponent: str = "llm:fake") -> str:
    wanted = {"game": "bargaining", "preset": None, "seat": "B", "opponent": opponent, "seed": 7}
    return str(HostClient(desk.desk).ask("/play", **wanted)["lease"])


def say(desk: HostProcess, lease: str, words: str) -> Any:
    assert wait_until(lambda: page_state(desk, lease)["table"]["asked"])
    turn = page_state(desk, lease)["table"]["turn"]
    return HostClient(desk.desk).ask("/act", lease=lease, act={"kind": "reply", "text": words, "turn": turn})


def test_the_lobby_lists_the_models_of_the_endpoint_and_names_the_player(desk: HostProcess) -> None:
    lobby = beside_a_model()
    assert lobby._models._model.options == ("fake", "fake-2")
    assert lobby._models.name() == "llm:fake"
    lobby._models._output_mode.value = "schema"
    lobby._models._settings.value = "temperature=0.5,"
    assert lobby._models.name() == "llm:fake,form=schema,temperature=0.5"


def choice(*each: list[dict[str, Any]]) -> ModelChoice:
    """The fields of a model choice, for endpoints that list these models one after the other."""
    lists = iter(each)
    return ModelChoice(lambda: next(lists))


def listing(url: str, *names: str) -> dict[str, Any]:
    return {"url": url, "names": list(names), "why": "" if names else "connection refused"}


def appear_again(found: ModelChoice) -> None:
    found.show(False)
    found.show(True)


def test_an_endpoint_that_did_not_answer_is_asked_again_when_the_fields_appear_again() -> None:
    without = [listing("a", "m"), listing("b")]
    found = choice(without, without, [listing("a", "m"), listing("b", "n")])
    found.show(True)
    found._url.value = "b"
    assert "connection refused" in found._notice.value
    found.show(True)  # they are there already: nobody is asked
    appear_again(found)
    assert "connection refused" in found._notice.value
    appear_again(found)
    assert "connection refused" not in found._notice.value
    assert found.name() == "llm:n,base_url=b"
    appear_again(found)  # all have names: nobody is asked
    assert found.name() == "llm:n,base_url=b"


def test_a_name_that_was_typed_stays_when_the_endpoint_is_asked_again() -> None:
    found = choice([listing("a")], [listing("a", "m")])
    found.show(True)
    found._model.value = "my-own"
    appear_again(found)
    assert found._model.options == ("m",)
    assert found.name() == "llm:my-own"


def test_a_models_name_does_not_stay_at_an_endpoint_that_does_not_list_it() -> None:
    found = choice([listing("a", "m"), listing("b"), listing("c", "n", "o"), listing("d", "p", "o")])
    found.show(True)
    assert found.name() == "llm:m"
    found._url.value = "b"
    with pytest.raises(ValueError, match="Choose a model"):
        found.name()
    found._url.value = "c"
    assert found.name() == "llm:n,base_url=c"
    found._model.value = "o"
    found._url.value = "d"
    assert found.name() == "llm:o,base_url=d"


def test_a_key_that_is_not_known_here_is_named() -> None:
    models = Models(keys={"A_KEY": "a", "B_KEY": "b"})
    known = KnownEndpoints([EndpointAddress("http://a/v1", "A_KEY"), EndpointAddress("http://a/v1", "B_KEY")], models)
    assert known.endpoint("http://a/v1", "B_KEY") is models.endpoint("http://a/v1", "B_KEY")
    assert known.endpoint() is models.endpoint("http://a/v1", "A_KEY")
    with pytest.raises(ValueError, match=r"^the key C_KEY is not configured for the models at http://a/v1: add --base"):
        known.endpoint(key="C_KEY")
    with pytest.raises(ValueError, match=r"^no models are configured at http://b/v1, only at "):
        known.endpoint("http://b/v1", "A_KEY")


def test_a_person_plays_a_model_and_the_record_holds_the_exchange(desk: HostProcess) -> None:
    lease = begun(desk)
    assert "left" not in say(desk, lease, "10.00")["not_done"]
    say(desk, lease, "accept")
    assert wait_until(lambda: desk.out.exists() and records(desk.out))
    (record,) = records(desk.out)
    assert record.header.players == {"A": "llm:fake", "B": "person"}
    assert record.header.notes["models"]["A"]["url"].startswith("http://127.0.0.1")
    replies = [e.reply for e in record.events if isinstance(e, Replied) and e.seat == "A"]
    assert replies and all(reply.via == "model" and reply.asked and reply.usage for reply in replies)
    assert replay_differences(record) == []


def test_the_page_says_that_the_model_thinks_and_can_be_left_meanwhile(desk: HostProcess, server: Server) -> None:
    server.set(latency=30)
    lobby = beside_a_model()
    press_button(lobby, "Start the match")
    assert "fake is thinking." in page_text(lobby)
    press_button(lobby, "Leave this match")
    press_button(lobby, "Leave")
    assert wait_until(lambda: desk.matches()[0].ended is not None)
    (match,) = desk.matches()
    with desk.database() as database:
        last = database.record(match.id).events[-1]
    assert isinstance(last, Ended) and last.reason == "left by the person"
    assert wait_until(lambda: server.counts()["running"] == 0)


def test_a_match_with_a_model_goes_on_after_the_host_was_killed(desk: HostProcess, server: Server) -> None:
    server.set(latency=0.05)
    lease = begun(desk)
    say(desk, lease, "10.00")
    desk.kill()
    desk.start()
    say(desk, lease, "11.00")
    say(desk, lease, "accept")
    (match,) = desk.matches()
    with desk.database() as database:
        record = database.record(match.id)
    prompts = [e.reply.asked for e in record.events if isinstance(e, Replied) and e.seat == "A"]
    assert len(prompts) == 3 and all("$1" in str(prompt) for prompt in prompts[1:])


def test_a_model_that_is_not_known_here_is_refused_in_one_line(desk: HostProcess) -> None:
    for name in ("llm:fake,base_url=http://127.0.0.1:9/v1", "llm:fake,key=OTHER_KEY"):
        with pytest.raises(NotDelivered, match=r"no models are configured at|key OTHER_KEY is not configured"):
            begun(desk, name)
    assert desk.matches() == []


def test_without_an_endpoint_the_lobby_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_host(tmp_path) as hosted:
        monkeypatch.setenv("NEGOLAB_ADMIN", hosted.desk)
        lobby = beside_a_model()
        press_button(lobby, "Start the match")
        assert "negolab serve with --base-url URL" in page_text(lobby)
        with pytest.raises(NotDelivered, match="no language model is configured"):
            begun(hosted)


def test_an_address_that_is_none_keeps_nobody_from_playing_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8080")
    Replay(nl.batch("bargaining", "time", "time", n=1))
    lobby = beside_a_model()
    press_button(lobby, "Start the match")
    assert "a base URL must look like" in page_text(lobby) and "localhost:8080" in page_text(lobby)
    lobby._opponent.value = "linear"
    press_button(lobby, "Start the match")
    assert "a base URL" not in page_text(lobby)


def test_a_refused_key_ends_the_match_and_tells_the_researcher_why(tmp_path: Path, server: Server) -> None:
    with running_host(tmp_path, config=host_config(server, "sk-wrong-1234567890")) as desk:
        lease = begun(desk)
        assert wait_until(lambda: page_state(desk, lease)["table"]["closing"])
        fault = page_state(desk, lease)["fault"]
        assert "the other seat's player failed" in fault and "401" in fault
        assert "sk-wrong" not in fault + "".join(desk.stderr)


def reached(desk: HostProcess) -> bool:
    """Begin a match that a model opens; return True if the budget keeps it from being asked."""
    lease = begun(desk)
    assert wait_until(lambda: (table := page_state(desk, lease)["table"])["asked"] or table["closing"])
    fault = page_state(desk, lease)["fault"] or ""
    assert not fault or "the budget is" in fault, fault
    return bool(fault)


@pytest.mark.parametrize("has_ledger", [True, False])
def test_a_restart_gives_no_budget_a_second_time(tmp_path: Path, server: Server, has_ledger: bool) -> None:
    config = build_host_config("", (server.url,), 2.0, {"OPENAI_API_KEY": CANARY}, ("fake=1000,1000",))
    with running_host(tmp_path, config=config) as desk:
        while not reached(desk):
            pass
        counts = server.counts()
        paid = (counts["input"] + counts["output"]) / 1000
        assert 1 < paid < 2 and counts["requests"] > 2
        (ledger,) = desk.out.glob(f"*.{FILE}")
        desk.kill()
        if not has_ledger:
            ledger.unlink()  # as if an earlier version had served it: what the database holds of replies counts
        for _ in range(2):
            desk.start()
            assert reached(desk) and server.counts()["requests"] == counts["requests"]
            desk.kill()
        assert Ledger(ledger).total.usd == pytest.approx(paid)
        assert Ledger(ledger).total.calls == counts["requests"]
        desk.config = msgspec.structs.replace(config, budget=4.0)
        desk.start()
        assert not reached(desk) and server.counts()["requests"] == counts["requests"] + 1


def test_a_participant_is_never_told_why_a_model_failed(tmp_path: Path, server: Server) -> None:
    text_of = study_toml("bargaining", solo_treatment("llm:fake", seat="B") + "[models]\npatience = 0.1\n")
    with running_host(tmp_path, text_of, host_config(server, "sk-wrong-1234567890")) as desk:
        _, token = desk.invite()
        page = desk.page(token)
        page.act("start")
        assert wait_until(lambda: page._host.ask("/now", lease=page._lease)["state"]["kind"] == "closed")
        shown = str(page._host.ask("/now", lease=page._lease))
        assert not re.search(r"\b401\b|model|llm", shown)
        assert wait_until(lambda: desk.matches()[0].ended)
        with desk.database() as database:
            last = database.record(desk.matches()[0].id).events[-1]
        assert isinstance(last, Ended) and "401" in str(last.reason)


def test_a_study_with_a_model_that_is_not_known_here_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no language model is configured"):
        HostProcess(tmp_path, study_toml("bargaining", solo_treatment("llm:fake", seat="B")))


def test_the_key_is_in_nothing_but_the_request(desk: HostProcess, server: Server) -> None:
    lobby = beside_a_model()
    lease = begun(desk)
    say(desk, lease, "10.00")
    shown = str(page_state(desk, lease)) + str(HostClient(desk.desk).ask("/models"))
    process = Path(f"/proc/{desk.process.pid}")
    shown += (process / "cmdline").read_text() + (process / "environ").read_text()
    for widget in shown_widgets(lobby):
        shown += str({name: getattr(widget, name) for name in widget.keys if name != "layout"})
    say(desk, lease, "accept")
    desk.kill()
    kept = b"".join(file.read_bytes() for file in desk.folder.rglob("*") if file.is_file())
    assert server.counts()["answered"] >= 2, "the key was used"
    assert CANARY not in shown + "".join(desk.stderr)
    assert CANARY.encode() not in kept
    assert CANARY not in repr(host_config(server))


def test_a_briefing_is_what_was_sent_and_a_bad_one_is_not_quoted() -> None:
    sent = HostConfig("people.db", keys={"K": "secret"}, budget=1.5)
    assert read_host_config(sent.line()) == sent
    with pytest.raises(ValueError, match="first line") as error:
        read_host_config(b'{"db": 5, "keys": "secret"}\n')
    assert "secret" not in str(error.value)


# Branches.


@pytest.fixture(scope="module")
def record() -> nl.Record:
    return nl.batch("bargaining", "linear", "linear", n=1, seed=3)[0]


async def branch_until(replay: Replay, words: str, *, stop: bool = False) -> None:
    """Press the button that branches, and soon the one that stops it if asked to; wait for these words."""
    branching = replay._branching
    branching._branch_button.click()
    if stop:
        await asyncio.sleep(0.3)
        branching._stop_button.click()
    async with asyncio.timeout(60):
        while words not in branching._where.value:
            await asyncio.sleep(0.05)


def branching(record: nl.Record, folder: Path, at: int, **chosen: str) -> Replay:
    replay = Replay(record, out=folder)
    replay.show(record, step=at)
    for seat, name in chosen.items():
        replay._branching._seats[seat].value = name  # type: ignore[index]
    return replay


@pytest.mark.parametrize(
    ("address", "budget", "said"),
    [
        ("http://127.0.0.1:9/v1,key=NO_SUCH_KEY", None, "NO_SUCH_KEY is not set"),
        ("http://127.0.0.1:9/v1,k=A", None, "key=NAME"),
        ("", None, "a base URL must look like"),
        (",key=A_KEY", None, "a base URL must look like"),
        ("http://127.0.0.1:9/v1", -1.0, "--budget"),
        ("http://127.0.0.1:9/v1", float("inf"), "--budget"),
    ],
)
def test_what_no_model_could_be_asked_with_is_said_before_a_host_starts(
    address: str, budget: float | None, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        build_host_config("", (address,), budget, {})


def test_a_branch_goes_on_with_a_model_at_the_host(desk: HostProcess, tmp_path: Path, record: nl.Record) -> None:
    replay = branching(record, tmp_path / "branches", 4, A="linear", B=MODEL_CHOICE)
    asyncio.run(branch_until(replay, "Saved as record"))
    kept = {found.id: found for found in records(tmp_path / "branches")}
    (branch,) = (found for id, found in kept.items() if id != record.id)
    assert branch.events[1:3] == record.events[1:3], "what was said before goes before"
    assert branch.header.notes["forked_from"] == record.id
    assert any(isinstance(e, Replied | Rejected) and e.seat == "B" for e in branch.events[4:])
    assert "fake" in str(branch.header.notes["models"]["B"])


def test_a_branch_with_a_model_can_be_stopped(
    desk: HostProcess, tmp_path: Path, server: Server, record: nl.Record
) -> None:
    server.set(latency=30)
    replay = branching(record, tmp_path / "branches", 4, A=MODEL_CHOICE, B=MODEL_CHOICE)
    asyncio.run(branch_until(replay, "stopped by the person", stop=True))
    assert len(records(tmp_path / "branches")) == 2
    assert wait_until(lambda: server.counts()["running"] == 0)


def test_a_person_goes_on_against_a_model_in_a_branch(desk: HostProcess, tmp_path: Path, record: nl.Record) -> None:
    at = next(i for i, e in enumerate(record.events) if isinstance(e, Replied) and e.seat == "A") + 2
    replay = branching(record, tmp_path / "branches", at, A=MODEL_CHOICE, B=PERSON_CHOICE)
    replay._branching._branch_button.click()
    (match,) = desk.matches()
    assert match.people == {"B": None}
    replay._branching.leave()
    assert wait_until(lambda: desk.matches()[0].ended is not None)
