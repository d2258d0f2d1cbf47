"""Games as inspect_ai tasks, with the extra `inspect`: `inspect eval negolab/bargaining --model MODEL`.

A sample is one draw of a game. Inspect's model is asked through negolab's own model player, so prompts, retries and
forms are the same as in a run. Each match's record is kept in its sample's store, even if the match was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from math import nan
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log_sample_summaries, read_eval_log_samples
from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.util import JSONSchema

from negolab import catalog
from negolab._internal.files import MAX_BYTES, read_bytes
from negolab._internal.version import __version__
from negolab.analysis.measures import measure_match
from negolab.game import SEATS, Seat, other
from negolab.llm.endpoint.call import Answer, Call, Usage
from negolab.llm.endpoint.errors import GameFailed
from negolab.llm.player import LLM, with_default_bound
from negolab.llm.settings import model_settings
from negolab.match import Match
from negolab.players.lookup import resolve
from negolab.protocols import Player
from negolab.record import parse_record
from negolab.runs.driver import aplay, make_player
from negolab.runs.plan import derive_seed
from negolab.runs.scripted import stop_match

KEY = "negolab"
"""Key of the record in a sample's store."""
_ROLES: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_FINISH = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
_CONFIG = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort")


class InspectEndpoint:
    """An inspect model as the endpoint for one seat in one match."""

    url = "inspect"

    def __init__(self, model: Model, cache: bool, sample: str) -> None:
        self.model, self.cache, self.sample = model, cache, sample
        self.messages: list[ChatMessage] = []
        self.output: ModelOutput | None = None

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> InspectEndpoint:
        return self

    async def answer(self, call: Call) -> Answer:
        asked = [_ROLES[message.role](content=message.content) for message in call.messages]
        # Equal questions in two deals must not share an answer.
        scopes = {"repetition": json.dumps([self.sample, *call.repetition[1:]])}
        output = await self.model.generate(
            asked, config=self._config(call), cache=CachePolicy(scopes=scopes) if self.cache else False
        )
        self.output, self.messages = output, [*asked, output.message]
        content = output.message.content
        parts = [] if isinstance(content, str) else content
        return Answer(
            text=output.completion,
            finish=_FINISH.get(output.stop_reason, "stop"),
            usage=_usage(output),
            reasoning="\n\n".join(part.reasoning for part in parts if isinstance(part, ContentReasoning)) or None,
            model=output.model,
            cost=output.usage and output.usage.total_cost,
            latency=output.time or 0.0,
        )

    def _config(self, call: Call) -> GenerateConfig:
        bound = call.params if self.model.config.max_tokens else with_default_bound(self.model.name, call.params)
        params = dict(bound)
        fields = {name: params.pop(name) for name in _CONFIG if name in params}
        if form := params.pop("response_format", None):
            name, schema = form["json_schema"]["name"], JSONSchema.model_validate(form["json_schema"]["schema"])
            fields["response_schema"] = ResponseSchema(name=name, strict=True, json_schema=schema)
        return GenerateConfig(**fields, extra_body=params or None)


def _usage(output: ModelOutput) -> Usage:
    if (used := output.usage) is None:
        return Usage()
    read, written = used.input_tokens_cache_read, used.input_tokens_cache_write
    return Usage(
        input=used.input_tokens + (read or 0) + (written or 0),
        output=used.output_tokens,
        cached=read,
        reasoning=used.reasoning_tokens,
        written=written,
        cost=used.total_cost,
    )


@solver
def negotiate(opponent: str | None, settings: dict[str, Any], cache: bool) -> Any:
    """Play a sample's match; if `opponent` is not a script, the model role of this name plays in its place."""

    async def solve(state: Any, generate: Any) -> Any:
        about = state.metadata
        game = catalog.load(about["game"], preset=about["preset"], **about["params"])
        seat: Seat = about["seat"]
        there = other(seat)
        sample = {"sample": state.sample_id, "epoch": state.epoch}
        match = Match(game, seed=about["seed"], id=state.uuid, notes={"inspect": sample})

        def seated(model: Model) -> tuple[Player, InspectEndpoint]:
            models = InspectEndpoint(model, cache, str(state.sample_id))
            return LLM(model_settings({"model": str(model), **settings}), models=models, match=match.id), models

        mine, own = seated(get_model())
        if opponent is None:
            theirs, _ = seated(get_model(role="opponent"))
        else:
            theirs = make_player(opponent, game, about["seed"], there, match=match.id)
            match.players[there] = opponent
        try:
            await aplay(match, {seat: mine, there: theirs})
        except GameFailed as error:  # this fails only the match, as in a run
            stop_match(match, "failed", str(error))
        except BaseException as error:  # a limit, or an error of the model's service: inspect decides
            stop_match(match, "failed", f"{type(error).__name__}: {error}")
            raise
        finally:
            state.store.set(KEY, json.loads(match.record().to_line()))
            state.messages, state.output = own.messages, own.output or state.output
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr(cluster="seed")]})
def measures() -> Any:
    """Score the model's seat in a match; a stopped match has no numbers."""

    async def score(state: Any, target: Any) -> Score:
        record = parse_record(json.dumps(state.store.get(KEY)))
        seat: Seat = state.metadata["seat"]
        found, own = measure_match(record), seat.lower()
        gain, possible, paid = found[f"gain_{own}"], found["possible"], record.payoffs[seat]
        numbers = {
            "agreement": float(record.end == "AGREED"),
            "payoff": paid,
            "share": gain / possible if gain is not None and possible else None,
            "efficiency": found["efficiency"],
            "format_faults": found[f"format_faults_{own}"],
            "rule_faults": found[f"rule_faults_{own}"],
        }
        stopped = record.end == "ABORTED"
        return Score(
            value={name: nan if stopped or number is None else number for name, number in numbers.items()},
            answer=str(record.end),
            explanation=record.game.format_payoff(paid),
            metadata=found,
        )

    return score


def negotiation(
    game: str,
    preset: str | None = None,
    opponent: str | None = None,
    n: int = 10,
    seed: int = 0,
    seat: Seat = "A",
    swap: bool = False,
    params: dict[str, Any] | None = None,
    cache: bool = False,
    form: str = "free",
    chat: bool = True,
    talk: bool = True,
) -> Task:
    """Return a task: `n` draws of a game, the same as those of `negolab.run` with this seed.

    Args:
        game: The name, module or file of a game.
        preset: A preset, or a scenario file.
        opponent: A scripted player (None: the model role `opponent`, or the model itself if there is no such role).
        n: Number of draws.
        seed: Seed for draws.
        seat: The model's seat.
        swap: Play each draw from both seats, so that `n` must be even.
        params: Game parameters that differ from the preset's.
        cache: Use inspect's cache of answers.
        form, chat, talk: Settings of the model player, as in `llm:MODEL,form=schema`.

    Raises:
        ValueError: The game, the player or a setting does not exist, or they do not go together.
    """
    if seat not in SEATS:
        raise ValueError(f"seat must be A or B, not {seat!r}")
    if swap and n % 2:
        raise ValueError(f"swap plays each draw twice: n must be even, not {n}")
    loaded, settings = catalog.load(game, preset=preset, **params or {}), {"form": form, "chat": chat, "talk": talk}
    model_settings({"model": "inspect", **settings})
    for each in SEATS if swap else (other(seat),):
        if opponent is not None:
            resolve(opponent, loaded).check_seat(each)
    samples = []
    for number in range(n):
        at = other(seat) if swap and number % 2 else seat
        match = Match(loaded, seed=derive_seed(seed, "deal", number // 2 if swap else number))
        about = {"game": game, "preset": preset, "params": params or {}, "seed": match.seed, "seat": at}
        prompt = match.told(at).prompt(match.seen(at), None) if match.asks(at) else f"{game}, seat {at}"
        samples.append(Sample(id=f"{number:04d}-{at}", input=prompt, metadata=about))
    return Task(
        dataset=MemoryDataset(samples, name=game),
        solver=negotiate(opponent, settings, cache),
        scorer=measures(),
        metadata={"negolab": __version__, "opponent": opponent},
    )


play = task(name="play")(negotiation)
for _name in catalog.game_names():
    _game = update_wrapper(partial(negotiation, _name), negotiation)
    del _game.__wrapped__  # inspect reads the parameters, which now lack the game
    task(name=_name)(_game)


def read_samples(log: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each sample's place and its record as stored, even from an unfinished log.

    Raises:
        ValueError: The file is not a log, or is too long to be read.
    """
    if not log.is_file():
        raise ValueError(f"{log} is not a file: give an inspect_ai log")
    try:
        _check_bounds(log)
        listed = {(one.id, one.epoch) for one in read_eval_log_sample_summaries(str(log))}
        for sample in read_eval_log_samples(str(log), all_samples_required=False):
            listed.discard((sample.id, sample.epoch))
            if KEY in sample.store:
                yield f"{log}, sample {sample.id}, epoch {sample.epoch}", json.dumps(sample.store[KEY]).encode()
        if listed:
            raise ValueError(f"sample {min(map(str, listed))} is not among those that the log lists")
    except Exception as error:  # inspect's own errors, of any kind
        why = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{log} cannot be read as an inspect_ai log: {why:.200}") from error


def _check_bounds(log: Path) -> None:
    """Raise an error for a log, or a part of one, that is too long or too deep for inspect's own parsers to survive."""
    if not is_zipfile(log):
        json.loads(read_bytes(log))
        return
    with ZipFile(log) as packed:
        for part in packed.infolist():
            if part.file_size > MAX_BYTES:
                raise ValueError(f"{part.filename} exceeds the maximum of {MAX_BYTES >> 20} MiB when unpacked")
            json.loads(packed.read(part))
