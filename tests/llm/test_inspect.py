"""Tasks of inspect_ai: the matches that negolab plays, scores, limits, and records from logs.

They need the extra `inspect`, which the extra `test` leaves out: it replaces packages by older versions.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import yaml

import negolab as nl
from negolab.catalog import game_names
from negolab.events import Replied
from negolab.llm.endpoint.call import Call
from negolab.llm.player import LLM
from negolab.llm.settings import model_settings
from negolab.record import Record, parse_record
from negolab.runs.plan import derive_seed
from negolab.verification import find_differences
from tests.conftest import ROOT
from tests.guide.test_guide import GUIDE
from tests.support.command import negolab
from tests.support.endpoint_server import instance
from tests.support.scripted_model import ScriptedModel

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")

from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from negolab.inspect_tasks import negotiation, read_samples

pytestmark = pytest.mark.filterwarnings("default")


def words(messages: list[str], schema: dict[str, Any] | None) -> str:
    """Answer as a function of what was asked: a form that is filled in, a price, or something unreadable."""
    rng = random.Random(hashlib.sha256("\n".join(messages).encode()).digest())
    if schema is not None:
        return json.dumps(instance(schema, schema, rng))
    return "Let me think about it." if rng.random() < 0.2 else f"{rng.randint(40, 90)}.00"


class Mock:
    """A model of inspect that answers by `words`, with counts of tokens, so that no tokenizer is fetched."""

    def __init__(self, say: Callable[[list[str], dict[str, Any] | None], str] = words) -> None:
        self.say, self.calls = say, 0

    def __call__(self, messages: list[Any], tools: Any, choice: Any, config: Any) -> ModelOutput:
        self.calls += 1
        form = config.response_schema
        schema = None if form is None else form.json_schema.model_dump(exclude_none=True)
        output = ModelOutput.from_content("mockllm", self.say([message.text for message in messages], schema))
        output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
        return output

    def evaluate(self, folder: Path, *args: Any, limits: dict[str, Any] | None = None, **params: Any) -> Any:
        (log,) = inspect_eval(
            negotiation(*args, **params),
            model=get_model("mockllm/model", custom_outputs=self, memoize=False),
            log_dir=str(folder),
            display="none",
            **limits or {},
        )
        return log


def read_records(log: Any) -> list[Record]:
    return [parse_record(text) for _, text in read_samples(Path(log))]


def said(record: Record) -> list[Any]:
    """Return the events without times, usage and the model's name."""
    return [
        (event.seat, event.reply.text, event.reply.asked) if isinstance(event, Replied) else event
        for event in record.events
    ]


@pytest.mark.parametrize("form", ["free", "schema"])
def test_messages_and_events_equal_those_of_play(form: str, tmp_path: Path) -> None:
    log = Mock().evaluate(tmp_path, "bargaining", opponent="linear", n=4, swap=True, form=form)
    assert log.status == "success"
    records = read_records(log.location)
    assert len(records) == 4
    for number, record in enumerate(sorted(records, key=lambda one: one.header.notes["inspect"]["sample"])):
        seat: Any = "AB"[number % 2]
        seed = derive_seed(0, "deal", number // 2)

        def answer(call: Call) -> str:
            form = call.params.get("response_format")
            schema = None if form is None else form["json_schema"]["schema"]
            return words([message.content for message in call.messages], schema)

        settings = model_settings({"model": "mockllm/model", "form": form})
        players: dict[Any, Any] = {seat: LLM(settings, models=ScriptedModel(answer)), nl.other(seat): "linear"}
        played = nl.play(nl.Match(nl.load("bargaining"), seed=seed), players).record()
        assert said(record) == said(parse_record(played.to_line()))
        assert record.header.seed == seed and record.header.players[nl.other(seat)] == "linear"


def test_the_draws_are_those_of_a_run(tmp_path: Path) -> None:
    log = Mock().evaluate(tmp_path, "trading", opponent="random-legal", n=3, form="schema")
    starts = {record.header.seed: record.events[0] for record in read_records(log.location)}
    ran = [parse_record(one.to_line()) for one in nl.batch("trading", "random-legal", "random-legal", n=3)]
    assert starts == {record.header.seed: record.events[0] for record in ran}


@pytest.mark.parametrize("game", game_names())
def test_a_log_becomes_records_that_check_and_export(game: str, tmp_path: Path) -> None:
    log = Mock().evaluate(tmp_path, game, opponent="random-legal", n=2, form="schema")
    assert log.status == "success"
    done = negolab("import", "inspect", log.location, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0 and "run: 2 records" in done.stdout, done.stderr
    for command in (["check", "run"], ["export", "run", "--to", "csv"], ["replay", "run", "--html", "run.html"]):
        ran = negolab(*command, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
    again = negolab("import", "inspect", log.location, "--out", "run", cwd=tmp_path)
    assert again.returncode == 0 and len(nl.read(tmp_path / "run")) == 2, again.stderr


def test_scores_are_those_of_the_record(tmp_path: Path) -> None:
    log = Mock(lambda *_: "52.50").evaluate(tmp_path, "bargaining", opponent="linear", n=2)
    (sample, _) = log.samples
    value = sample.scores["measures"].value
    (record, _) = read_records(log.location)
    assert value["agreement"] == 1.0 and value["payoff"] == record.payoffs["A"]
    assert value["share"] == pytest.approx((record.payoffs["A"] or 0) / 2500)
    assert sample.messages[-1].text == "52.50"


def test_the_other_seat_can_be_a_model(tmp_path: Path) -> None:
    log = Mock(lambda *_: "52.50").evaluate(tmp_path, "bargaining", n=1)
    (record,) = read_records(log.location)
    assert record.header.players == {"A": "llm:mockllm/model", "B": "llm:mockllm/model"}
    assert set(record.header.notes["models"]) == {"A", "B"}


@pytest.mark.parametrize(
    "limits", [{"message_limit": 3}, {"token_limit": 150}, {"time_limit": 1}, {"turn_limit": 1}], ids=str
)
def test_a_match_that_a_limit_stops_is_kept_and_has_no_score(limits: dict[str, Any], tmp_path: Path) -> None:
    def slow(messages: list[str], schema: Any) -> str:
        if "time_limit" in limits:
            time.sleep(0.7)
        return "90.00"

    log = Mock(slow).evaluate(tmp_path, "bargaining", opponent="boulware", n=1, limits=limits)
    (record,) = read_records(log.location)
    assert record.end == "ABORTED" and not find_differences(record)
    assert all(math.isnan(number) for number in log.samples[0].scores["measures"].value.values())


def test_a_model_that_makes_no_move_fails_its_match_alone(tmp_path: Path) -> None:
    log = Mock(lambda *_: "what?").evaluate(tmp_path, "bargaining", opponent="linear", n=1, seat="B")
    assert log.status == "success"
    (record,) = read_records(log.location)
    assert record.end == "ABORTED" and not find_differences(record)
    assert "20 answers in a row were not valid moves" in str(record.events[-1])


def test_cached_answers_of_two_deals_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    plain, first, again = Mock(), Mock(), Mock()
    for mock, cache in ((plain, False), (first, True), (again, True)):
        mock.evaluate(tmp_path, "bargaining", opponent="boulware", n=3, cache=cache)
    assert first.calls == plain.calls > 3
    assert again.calls == 0


def test_the_commands_of_the_page_name_tasks_and_parameters_that_exist(tmp_path: Path) -> None:
    lines = re.findall(r"^inspect eval negolab/(\w+)(.*)$", (GUIDE / "inspect.md").read_text(), re.MULTILINE)
    assert len(lines) == 4
    (tmp_path / "mine.py").write_text((ROOT / "negolab" / "scaffolds" / "ultimatum.py").read_text())
    for name, options in lines:
        given = {key: yaml.safe_load(value) for key, value in re.findall(r"-T (\w+)=(\S+)", options)}
        game = given.pop("game", name).replace("mine.py", str(tmp_path / "mine.py"))
        assert len(negotiation(game, **given).dataset) == given.get("n", 10)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"opponent": "liner"}, "unknown player 'liner'"),
        ({"n": 3, "swap": True}, "n must be even, not 3"),
        ({"seat": "C"}, "seat must be A or B"),
        ({"form": "xml"}, "form"),
    ],
)
def test_mistakes_are_named(params: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        negotiation("bargaining", **params)


JUNK = [
    ("junk.eval", "hello"),
    ("empty.eval", ""),
    ("other.json", "{}"),
    ("deep.json", "[" * 500_000),
    ("digits.json", '{"version": 2, "status": "success", "eval": ' + "9" * 1_000_000 + "}"),
]


@pytest.mark.parametrize(("name", "text"), JUNK, ids=lambda value: value[:12])
def test_a_file_that_is_no_log_is_named_in_one_line(tmp_path: Path, name: str, text: str) -> None:
    log = tmp_path / name
    log.write_text(text)
    with pytest.raises(ValueError, match=f"{name} cannot be read as an inspect_ai log") as raised:
        read_records(log)
    assert "\n" not in str(raised.value)
    os.mkfifo(log.with_suffix(".pipe"))
    with pytest.raises(ValueError, match="is not a file"):
        read_records(log.with_suffix(".pipe"))


def test_a_part_of_a_log_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    log = tmp_path / "bomb.eval"
    with ZipFile(log, "w", ZIP_DEFLATED) as packed, packed.open("samples/1_epoch_1.json", "w") as part:
        for _ in range(65):
            part.write(b" " * 2**20)
    assert log.stat().st_size < 100_000
    with pytest.raises(
        ValueError, match=r"bomb.eval cannot .*1_epoch_1.json exceeds the maximum of 64 MiB when unpacked"
    ):
        read_records(log)


def test_a_damaged_match_and_one_whose_id_is_taken_are_left_out_and_named(tmp_path: Path) -> None:
    log = Mock(lambda *_: "52.50").evaluate(
        tmp_path, "bargaining", opponent="linear", n=4, limits={"log_format": "json"}
    )
    stored = json.loads(Path(log.location).read_text())
    first, second, third, fourth = [sample["store"]["negolab"] for sample in stored["samples"]]
    second["header"]["id"], third["header"]["seed"] = first["header"]["id"], "one"
    fourth["header"]["params"]["rounds"] = 10**9
    Path(log.location).write_text(json.dumps(stored))
    done = negolab("import", "inspect", log.location, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0 and "run: 1 record" in done.stdout, done.stderr
    assert re.search(r"left out: .*sample [^,]+, epoch 1: another match has the same ID", done.stderr + done.stdout)
    assert re.search(r"left out: .*sample [^,]+, epoch 1: not a record: .*seed", done.stderr + done.stdout)
    assert re.search(r"left out: .*sample [^,]+, epoch 1: record .*rounds must be", done.stderr + done.stdout)
    stored["samples"][0]["id"] = "renamed"
    Path(log.location).write_text(json.dumps(stored))
    refused = negolab("import", "inspect", log.location, "--out", "again", cwd=tmp_path)
    assert refused.returncode == 2 and "is not among those that the log lists" in refused.stderr


def test_matches_of_a_game_of_ones_own_are_imported_with_its_module(tmp_path: Path) -> None:
    negolab("new", "game", "ultimatum", cwd=tmp_path)
    log = Mock().evaluate(tmp_path, str(tmp_path / "ultimatum.py"), opponent="random-legal", n=2, form="schema")
    command = ["import", "inspect", log.location, "--out", "run"]
    assert "such as --module ultimatum.py" in negolab(*command, cwd=tmp_path).stderr
    done = negolab(*command, "--module", "ultimatum.py", cwd=tmp_path)
    assert done.returncode == 0 and "run: 2 records" in done.stdout, done.stderr


def test_inspect_finds_the_tasks_by_their_entry_point(tmp_path: Path) -> None:
    """An installation as `pip install -e` leaves it, and a model that is imitated on this machine."""
    entry = re.search(r"\[project\.entry-points\.inspect_ai\]\n(\w+) = \"(.*)\"", (ROOT / "pyproject.toml").read_text())
    assert entry is not None
    dist = tmp_path / "site" / f"negolab-{nl.__version__}.dist-info"
    dist.mkdir(parents=True)
    (dist / "METADATA").write_text(f"Metadata-Version: 2.1\nName: negolab\nVersion: {nl.__version__}\n")
    (dist / "entry_points.txt").write_text(f"[inspect_ai]\n{entry[1]} = {entry[2]}\n")
    (dist / "direct_url.json").write_text(json.dumps({"url": ROOT.as_uri(), "dir_info": {"editable": True}}))
    code = "from inspect_ai._util.registry import registry_lookup as f; assert all(f('task', n) for n in {!r}), 'none'"
    names = [f"negolab/{name}" for name in (*game_names(), "play")]
    path = os.pathsep.join([str(tmp_path / "site"), *filter(None, sys.path)])
    ran = subprocess.run(
        [sys.executable, "-c", code.format(names)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
