"""`negolab study doctor`: one line for each check, and status 1 if anything is wrong."""

from __future__ import annotations

import resource
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from negolab.studies import doctor
from negolab.studies.database import Database
from negolab.studies.doctor import FOREIGN_ADDRESS, Finding, check_clock, check_public_url, examine
from negolab.studies.study_file import parse_study
from tests.cli.test_cli import BASE
from tests.conftest import free_port
from tests.support.endpoints import running_endpoint
from tests.support.gate_server import running_gate
from tests.support.in_process import negolab


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(f"seed = {2**61}\n{BASE}")
    return path


def wrong(findings: list[Finding]) -> dict[str, str]:
    return {finding.about: finding.line() for finding in findings if finding.advice}


@pytest.mark.database
def test_a_good_set_up_is_ok_line_by_line(file: Path, database_url: str, tmp_path: Path) -> None:
    found = list(examine(file, database_url, tmp_path / "out" / "people", {}, max_kernels=1))
    assert wrong(found) == {}
    assert [one.about for one in found] == [
        "study",
        "seed",
        "models",
        "descriptors",
        "memory",
        "database",
        "clock",
        "disk",
    ]
    assert not (tmp_path / "out").exists()


MODEL_STUDY = f"seed = {2**61}\n" + BASE.replace('"fair-split"', '"llm:fake-1"')


def refuse(database: Database) -> None:
    raise sa.exc.OperationalError("UPDATE", {}, Exception("attempt to write a readonly database"))


@pytest.mark.parametrize(
    ("spoilt", "name", "instead", "about", "words"),
    [
        (doctor, "free_memory", lambda: 2**30, "memory", "room for 0 participants: --max-kernels, or more memory"),
        (resource, "getrlimit", lambda _: (64, 128), "descriptors", "128 for open files and connections; "),
        (doctor, "FREE_DISK", 2**80, "disk", "GB free at"),
        (doctor, "read_study", partial(parse_study, MODEL_STUDY), "models", "no language model is configured"),
        (doctor, "read_study", partial(parse_study, BASE), "seed", "0 is short: a participant could guess it"),
        (Database, "check_writable", refuse, "database", "readonly database: the database must accept writes"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_is_wrong_is_said_with_what_to_do(
    spoilt: Any, name: str, instead: Any, about: str, words: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spoilt, name, instead)
    found = wrong(list(examine(file, str(file.with_name("people.db")), file.parent, {})))
    assert list(found) == [about] and words in found[about]


def models_line(file: Path, url: str, *prices: str) -> str:
    found = examine(file, ":memory:", file.parent, {}, base_urls=(url,), prices=prices)
    return next(finding.line() for finding in found if finding.about == "models")


def test_a_model_that_does_not_answer_is_wrong(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = f"http://127.0.0.1:{free_port()}/v1"
    assert models_line(file, nobody).startswith("wrong  models: ") and "refused" in models_line(file, nobody)
    file.write_text(MODEL_STUDY)
    assert models_line(file, nobody).startswith(f"wrong  models: llm:fake-1: no answer at {nobody}: connection refused")
    monkeypatch.setattr(doctor, "ANSWERED_WITHIN", 1.0)
    with running_endpoint() as server:
        assert models_line(file, server.url) == f"ok     models: {server.url}"
        assert server.counts()["answered"] == 1
        server.set(faults={"hang": 1.0})
        assert "no answer at" in models_line(file, server.url) and "within 1 s" in models_line(file, server.url)
        server.set(faults={"missing": 1.0})
        assert "The model does not exist" in models_line(file, server.url)


@pytest.mark.parametrize("budget", ["budget", "budget_each"])
def test_a_budget_in_money_needs_a_price(file: Path, budget: str) -> None:
    file.write_text(f"{MODEL_STUDY}\n[models]\n{budget} = {{ usd = 5 }}")
    with running_endpoint() as server:
        assert "needs the price of fake-1" in models_line(file, server.url)
        assert "--price fake-1=" in models_line(file, server.url)
        assert models_line(file, server.url, "fake-1=0.15,0.60").startswith("ok")


def test_a_database_whose_clock_is_off_is_told() -> None:
    assert "7200.0 s behind: synchronize both clocks with NTP" in check_clock(time.time() - 7200).line()
    assert check_clock(time.time() + 0.5).advice == ""


def test_the_command_ends_with_status_one_if_anything_is_wrong(file: Path, tmp_path: Path) -> None:
    good = ["study", "doctor", str(file), f"--out={tmp_path}", "--max-kernels=1"]
    done = negolab(*good)
    assert done.returncode == 0 and {line.split()[0] for line in done.stdout.splitlines()} == {"ok"}
    file.write_text("title = ")
    done = negolab(*good, "--url=http://127.0.0.1:9/", f"--db={tmp_path / 'nowhere' / 'people.db'}")
    bad = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("wrong ")]
    assert done.returncode == 1 and bad == ["study:", "models:", "database:", "address:"]


def test_the_public_address_answers_for_what_the_proxy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_gate("pool_size=1", "behind_proxy=True", warm=False) as own:
        found = check_public_url(own.url, True)
        assert "add the visitor's address" in found.advice, "nothing stands between, so what is written is believed"
        monkeypatch.setattr(doctor, "FOREIGN_ADDRESS", f"{FOREIGN_ADDRESS}, 198.51.100.7")
        assert check_public_url(own.url, True).line().startswith(f"ok     address: {own.url} answers, and sees you at")
        assert "--behind-proxy" in check_public_url(own.url, False).advice


@pytest.mark.parametrize(("status", "words"), [(403, "forward the Host header"), (502, "start negolab serve")])
def test_a_proxy_with_nothing_or_another_host_behind_it_is_told(
    status: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(httpx2, "get", lambda url, **_: httpx2.Response(status, text="<html>"))
    assert words in check_public_url("https://lab.example/", True).advice


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"upgrade": False, "named": True, "behind_proxy": True}, "Upgrade and Connection"),
        ({"upgrade": True, "named": False, "behind_proxy": True}, "X-Forwarded-For"),
        ({"upgrade": True, "named": True, "behind_proxy": False}, "serve with --behind-proxy"),
    ],
)
def test_each_header_that_a_proxy_forgets_is_named(seen: dict[str, Any], words: str) -> None:
    found = doctor._judge_proxy("https://lab.example/", {"address": "198.51.100.7", **seen}, True)
    assert words in found.advice
