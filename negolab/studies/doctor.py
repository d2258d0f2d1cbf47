"""The check of a setup before a session: what `negolab study doctor` finds."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import sqlalchemy as sa

from negolab._internal.files import error_sentence
from negolab.game import Seat
from negolab.llm.endpoint.errors import RunFailed
from negolab.llm.player import LLM
from negolab.match import Match
from negolab.runs.driver import make_player
from negolab.runs.preflight import ask_once
from negolab.studies.database import Database
from negolab.studies.database.connection import describe_error
from negolab.studies.host_config import KnownEndpoints, build_host_config
from negolab.studies.links import PROXY_CHECK
from negolab.studies.steps import MatchStep
from negolab.studies.study_config import Study
from negolab.studies.study_file import read_study

MEMORY_OF_A_KERNEL = 200 * 2**20
MEMORY_KEPT_FREE = 2**30
MAX_KERNELS = 30
"""Default number of participants at once, if there is enough memory."""
DESCRIPTORS, DESCRIPTORS_OF_A_KERNEL = 500, 20
"""File descriptors that the participants' server needs, with some to spare, and how many more for each participant."""
FREE_DISK = 2**30
MAX_CLOCK_DIFFERENCE = 2.0
"""Seconds."""
ANSWERED_WITHIN = 30.0
"""Seconds for one call to each model."""
FOREIGN_ADDRESS = "192.0.2.1"
"""Nobody's address (RFC 5737), from which the proxy check pretends to come."""
SAFE_SEED = 2**40
"""Seeds below this can be tried one by one until the draws match those that a participant sees."""
_GB = 2**30


class Finding(NamedTuple):
    """The result of one check."""

    about: str
    text: str
    advice: str = ""
    """The remedy; "" if nothing is wrong."""

    def line(self) -> str:
        """Format it as one line for the terminal."""
        text = " ".join(f"{self.about}: {self.text}".split())
        return f"wrong  {text}: {self.advice}" if self.advice else f"ok     {text}"


def examine(
    study: Path,
    db: str,
    out: Path,
    environment: Mapping[str, str],
    *,
    public_url: str | None = None,
    behind_proxy: bool = False,
    max_kernels: int | None = None,
    base_urls: Sequence[str] = (),
    prices: Sequence[str] = (),
) -> Iterator[Finding]:
    """Check a setup, one finding after another; errors of what is checked are not raised.

    Args:
        study: The study file. All arguments except `environment` are those that `negolab serve` is given.
        db: Path or URL of the database.
        out: Folder for records.
        environment: Environment variables, which hold the models' keys.
        public_url: Public address; None: the study is not served yet.
        behind_proxy: True if a proxy forwards visitors' addresses.
        max_kernels: Participants at once; None: as many as memory allows.
        base_urls: Endpoints of language models.
        prices: Prices of language models.
    """
    yield from check_study(study)
    yield check_models(study, base_urls, prices, environment)
    yield check_descriptors(max_kernels or default_max_kernels())
    yield check_memory(max_kernels)
    yield from check_database(db)
    yield check_disk(out)
    if public_url is not None:
        yield check_public_url(public_url, behind_proxy)


def check_study(path: Path) -> Iterator[Finding]:
    """Check that a study file is valid, and that nobody can guess its seeds."""
    try:
        study = read_study(path)
    except (ValueError, OSError) as error:
        yield Finding("study", error_sentence(error), "correct the file")
        return
    yield Finding("study", f"{study.title} ({study.name}), {study.game}, treatments: {len(study.treatments)}")
    if (short := short_seed(study)) is None:
        yield Finding("seed", "cannot be guessed: keep it to yourself until the study is over")
    else:
        risk = "a participant could guess it and work out what the other side has"
        yield Finding("seed", f"{short} is short: {risk}", f"write a number such as {secrets.randbits(62)}")


def short_seed(study: Study) -> int | None:
    """Return a study's shortest seed if it can be guessed."""
    seeds = [study.seed, *(seed for step in study.steps if isinstance(step, MatchStep) for seed in step.seeds)]
    return short if abs(short := min(seeds, key=abs)) < SAFE_SEED else None


def check_models(
    file: Path, base_urls: Sequence[str], prices: Sequence[str], environment: Mapping[str, str]
) -> Finding:
    """Check that the models a study needs are known, have the prices its budget needs, and answer."""
    from negolab.studies.server import check_prices, reach

    advice = "set the key's variable, or specify the service with --base-url, as for negolab serve"
    try:
        study = read_study(file)
        config = build_host_config("", base_urls, None, environment, prices)
        models = config.models().for_study()
        reach(study, models)
        advice = "pass it to this command and to negolab serve"
        check_prices(study, config)
    except (ValueError, OSError) as error:
        return Finding("models", error_sentence(error), advice)
    if faults := asyncio.run(_ask_models(study, models)):
        return Finding("models", "; ".join(faults), "start the service, or fix what it reports, and check again")
    return Finding("models", ", ".join(known.url for known in config.endpoints) or "none needed")


async def _ask_models(study: Study, models: KnownEndpoints) -> list[str]:
    """Return why models do not answer, after one real call to each, or after listing endpoints if the study has
    none."""
    from negolab.studies.server import opponents

    calls = {}
    for game, name, seats in opponents(study):
        model = make_player(name, game, 0, seats[0], models=models, load=False)
        if isinstance(model, LLM):
            calls[name] = _ask_model(Match(game, seed=study.seed), seats[0], model)
    whys = await asyncio.gather(*calls.values()) if calls else [each["why"] for each in await models.listed()]
    return [why for why in whys if why]


async def _ask_model(match: Match, seat: Seat, model: LLM) -> str:
    """Return why a model does not answer; "" if it does."""
    try:
        async with asyncio.timeout(ANSWERED_WITHIN):
            await ask_once(match, seat, model)
    except TimeoutError:
        return f"{model.name}: no answer at {model.endpoint.url} within {ANSWERED_WITHIN:g} s"
    except RunFailed as error:
        return f"{model.name}: no answer at {error}"
    return ""


# This machine.


def check_descriptors(kernels: int) -> Finding:
    """Check how many files and connections the participants' server may open."""
    if sys.platform == "win32":
        return Finding("descriptors", "not limited on this machine")
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # `negolab serve` raises the soft limit to this one
    needed = DESCRIPTORS + DESCRIPTORS_OF_A_KERNEL * kernels
    allowed = "any number" if most == resource.RLIM_INFINITY else str(most)
    text = f"{allowed} for open files and connections; {kernels} participants use up to {needed}"
    enough = most == resource.RLIM_INFINITY or most >= needed
    return Finding("descriptors", text, "" if enough else f"ulimit -Hn {needed}, or fewer with --max-kernels")


def check_memory(kernels: int | None) -> Finding:
    """Check that free memory suffices for the participants' kernels (None: as many as `negolab serve` allows by
    default)."""
    free, room = f"{free_memory() / _GB:.1f} GB free", _room_for_kernels(pool=2)
    if room < (kernels or 1):
        return Finding("memory", f"{free}, room for {max(0, room)} participants", "--max-kernels, or more memory")
    return Finding("memory", f"{free}, enough for {kernels or min(room, MAX_KERNELS)} participants at once")


def _room_for_kernels(pool: int) -> int:
    return (free_memory() - MEMORY_KEPT_FREE) // MEMORY_OF_A_KERNEL - pool


def default_max_kernels(pool: int = 2) -> int:
    """Return the number of participants that `negolab serve` admits at once, besides `pool` kernels kept warm."""
    return max(1, min(MAX_KERNELS, _room_for_kernels(pool)))


def free_memory() -> int:
    """Return the bytes available; if the system does not say, a number that suffices."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    available = (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    return next(available, 2**40)


def check_disk(folder: Path) -> Finding:
    """Check that there is space for records, and that they can be written."""
    place = next(path for path in (folder.resolve(), *folder.resolve().parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / _GB:.1f} GB free at {place}"
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return Finding("disk", f"{place}: {error.strerror}", "choose a folder that you may write to with --out")
    return Finding("disk", text, "" if free >= FREE_DISK else "make room, or choose another folder with --out")


# The database.


def check_database(url: str) -> Iterator[Finding]:
    """Check that the database answers, accepts writes, and agrees with our clock."""
    try:
        with closing(Database(url)) as database:
            version, at = database.server()
            database.check_writable()
            yield Finding("database", f"{database}: {version}, accepts writes")
    except ValueError as error:
        yield Finding("database", str(error), "start the database, or correct its address")
    except sa.exc.DBAPIError as error:
        yield Finding("database", describe_error(error), "the database must accept writes")
    else:
        yield check_clock(at)


def check_clock(at: float | None) -> Finding:
    """Compare the database's clock, in seconds since 1970, with ours (None: it has none)."""
    if at is None:
        return Finding("clock", "the database has this machine's")
    ahead = at - time.time()
    text = f"the database's is {abs(ahead):.1f} s {'ahead' if ahead > 0 else 'behind'}"
    return Finding("clock", text, "" if abs(ahead) <= MAX_CLOCK_DIFFERENCE else "synchronize both clocks with NTP")


# The public address.

NOT_THERE = "start negolab serve with this --public-url, and the proxy; then check again"


def check_public_url(url: str, behind_proxy: bool) -> Finding:
    """Ask the participants' server, through the proxy, how the request reached it."""
    address = url.rstrip("/") + "/" + PROXY_CHECK
    try:
        answer = httpx2.get(
            address,
            headers={"X-Forwarded-For": FOREIGN_ADDRESS, "Connection": "Upgrade", "Upgrade": "websocket"},
            timeout=10,
        )
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return Finding("address", f"{url} does not answer ({error})", NOT_THERE)
    seen: dict[str, Any] = {}
    with suppress(ValueError):
        seen = dict(answer.json())
    if answer.status_code == 200 and "address" in seen:
        return _judge_proxy(url, seen, behind_proxy)
    if answer.status_code == 403:
        return Finding("address", f"{url} is refused", "the proxy must forward the Host header and the unchanged path")
    return Finding("address", f"{url} answers with status {answer.status_code}, unlike negolab", NOT_THERE)


def _judge_proxy(url: str, seen: Mapping[str, Any], behind_proxy: bool) -> Finding:
    """Say what the proxy does wrong, judging by what the participants' server saw of a request."""
    faults = {
        "the proxy must forward Upgrade and Connection, for WebSocket connections": not seen.get("upgrade"),
        "start negolab serve with --behind-proxy": behind_proxy and not seen.get("behind_proxy"),
        "check with --behind-proxy, as for negolab serve": seen.get("behind_proxy") and not behind_proxy,
        "the proxy must name visitors in X-Forwarded-For": behind_proxy and not seen.get("named"),
        "the proxy must add the visitor's address to X-Forwarded-For, not forward what a visitor sends in it": (
            behind_proxy and seen.get("address") == FOREIGN_ADDRESS
        ),
    }
    advice = next((advice for advice, is_wrong in faults.items() if is_wrong), "")
    return Finding("address", f"{url} answers, and sees you at {seen['address']}", advice)
