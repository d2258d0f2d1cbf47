"""Output modes: how a model's answer becomes the game's words, and what it reads about that.

The model writes the game's words (`FreeText`), fills in a JSON schema of the legal moves (`SchemaMode`), or rewords the
move of a scripted player (`ParaphraseMode`).
"""

from __future__ import annotations

import json
import re
from string import Template
from typing import Any, NamedTuple

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Ask, Invalid, Reply, Seen
from negolab.match import replace_surrogates
from negolab.moves import Misfit, unique_fields
from negolab.protocols import Scripted

_TAG = re.compile(r"<(/?)(?:think(?:ing)?|thought)>", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>(\w+)[^<]*<\|message\|>(.*?)(?=<\|(?:end|return|start|channel)\|>|$)", re.DOTALL)
"""A message in the harmony format, in which a server may leave an answer."""


class ExtractedText(NamedTuple):
    """A model's message for the other side, and its reasoning."""

    text: str
    reasoning: str | None = None


def extract_reasoning(answer: str) -> ExtractedText:
    """Split off reasoning in `<think>` or `<thought>` blocks, or in harmony's channels.

    A block may lack its closing tag, or its opening one, which some chat templates write themselves. A text without
    such marks stays as it is.
    """
    if channels := _CHANNEL.findall(answer):
        final = "".join(text for name, text in channels if name == "final").strip()
        return ExtractedText(final, join_reasoning(*(text for name, text in channels if name != "final")))
    tags = list(_TAG.finditer(answer))
    if not tags:
        return ExtractedText(answer)
    text: list[str] = []
    reasoning: list[str] = []
    end, is_inside = 0, False
    for tag in tags:
        piece = answer[end : tag.start()]
        is_closing = bool(tag[1])
        if is_inside:
            reasoning.append(piece)
        elif is_closing:
            # No opening tag: everything before it was reasoning.
            reasoning += [*text, piece]
            text = []
        else:
            text.append(piece)
        end, is_inside = tag.end(), not is_closing
    (reasoning if is_inside else text).append(answer[end:])
    return ExtractedText("".join(text).strip(), join_reasoning(*reasoning))


def join_reasoning(*parts: str | None) -> str | None:
    """Join reasoning from several places; None if there is none."""
    return "\n\n".join(part.strip() for part in parts if part and part.strip()) or None


class FreeText:
    """The model writes the game's words; base of the other modes."""

    def prompt(self, told: AnyGame, seen: Seen, since: Seen | None) -> str:
        """Return the game's prompt as the model reads it."""
        return told.prompt(seen, since)

    def turn_suffix(self, told: AnyGame, seen: Seen) -> str:
        """Return the end of the turn's first message; called once per turn."""
        return ""

    def request_fields(self, told: AnyGame, seen: Seen) -> dict[str, Any]:
        """Return the fields of the request body that depend on the turn."""
        return {}

    def game_text(self, told: AnyGame, ask: Ask, text: str, error: Invalid | None) -> str | Invalid:
        """Translate an answer, without its reasoning, into the game's words; `error` says that it ended wrongly."""
        return error or text

    def model_text(self, reply: Reply) -> str:
        """Return the text of a reply that the model sees as its own answer."""
        return extract_reasoning(reply.text).text


_PHRASES: dict[str, dict[str, str]] = {
    "en": {
        "refused": "Your answer was not accepted. $reason",
        "said": "Your answer was:\n$answer\nIt was not accepted. $reason",
        "due": "It is your turn.",
        "decided": "Your move is decided already. In the words of the game it is:\n$words\nWrite this message in words "
        "of your own: it must make exactly this move, in the form that the game asks for.",
        "strayed": "Your message does not make the move that was decided. Make exactly this move:\n$words",
        "empty": "Your answer was empty: answer in the form that is asked for.",
        "cut": "Your answer reached its limit of tokens before it was complete: give the whole answer.",
        "filtered": "Your answer was withheld by a content filter: answer in other words.",
        "declined": "You declined to answer: answer in the form that is asked for.",
        "called": "You called a tool, and there is none: answer in the form that is asked for.",
        "bad_json": "Your answer is not a JSON object: answer with one JSON object and nothing else.",
    },
    "de": {
        "refused": "Deine Antwort wurde nicht angenommen. $reason",
        "said": "Deine Antwort war:\n$answer\nSie wurde nicht angenommen. $reason",
        "due": "Du bist an der Reihe.",
        "decided": "Dein Zug steht schon fest. In den Worten des Spiels lautet er:\n$words\nSchreibe diese Nachricht "
        "mit eigenen Worten: sie muss genau diesen Zug machen, in der Form, die das Spiel verlangt.",
        "strayed": "Deine Nachricht macht nicht den Zug, der feststeht. Mache genau diesen Zug:\n$words",
        "empty": "Deine Antwort war leer: antworte in der verlangten Form.",
        "cut": "Deine Antwort hat ihre Höchstzahl an Tokens erreicht, bevor sie vollständig war: gib die ganze "
        "Antwort.",
        "filtered": "Deine Antwort wurde von einem Inhaltsfilter zurückgehalten: antworte mit anderen Worten.",
        "declined": "Du hast nicht antworten wollen: antworte in der verlangten Form.",
        "called": "Du hast ein Werkzeug aufgerufen, und es gibt keines: antworte in der verlangten Form.",
        "bad_json": "Deine Antwort ist kein JSON-Objekt: antworte mit genau einem JSON-Objekt und nichts sonst.",
    },
    "it": {
        "refused": "La tua risposta non è stata accettata. $reason",
        "said": "La tua risposta era:\n$answer\nNon è stata accettata. $reason",
        "due": "Tocca a te.",
        "decided": "La tua mossa è già decisa. Nelle parole del gioco è:\n$words\nScrivi questo messaggio con parole "
        "tue: deve fare esattamente questa mossa, nella forma richiesta dal gioco.",
        "strayed": "Il tuo messaggio non fa la mossa decisa. Fai esattamente questa mossa:\n$words",
        "empty": "La tua risposta era vuota: rispondi nella forma richiesta.",
        "cut": "La tua risposta ha raggiunto il limite di token prima di essere completa: dai la risposta intera.",
        "filtered": "La tua risposta è stata trattenuta da un filtro dei contenuti: rispondi con altre parole.",
        "declined": "Hai rifiutato di rispondere: rispondi nella forma richiesta.",
        "called": "Hai chiamato uno strumento, e non ce ne sono: rispondi nella forma richiesta.",
        "bad_json": "La tua risposta non è un oggetto JSON: rispondi con un solo oggetto JSON e nient'altro.",
    },
}
"""Sentences that the player itself writes to a model, by language and name: `refused` has the slot `$reason`, `said`
has `$answer` and `$reason`, `decided` and `strayed` have `$words`; `empty` to `bad_json` are reasons of rejections."""


def phrase(told: AnyGame, name: str, **words: str) -> str:
    """Return a sentence for a model in the game's language, or else in English, with words in its slots."""
    known = _PHRASES.get(getattr(told, "language", "en"), _PHRASES["en"])
    return Template(known[name]).safe_substitute(words)


def filled_action(told: AnyGame, seen: Seen, value: Any) -> Any:
    """Return the action of a filled-in form, or an `Invalid`; never raise, whatever the JSON."""
    try:
        # A model may write a message though none was asked for.
        action = told.moves(seen).action(value)
    except Misfit as misfit:
        return _refused_form(misfit)
    return action if isinstance(action, Invalid) else told.parse(told.say(action), seen)


def _refused_form(misfit: Misfit) -> Invalid:
    reason = f"Your JSON does not fit what was asked for: {misfit} Fill it in again."
    return Invalid(("bad_field",), reason, "format")


_DECODER = json.JSONDecoder(object_pairs_hook=unique_fields)
_MAX_OBJECTS = 100
"""Most braces at which to look for an object, so that the work stays linear."""
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
"""A JSON escape of a surrogate; a lone one cannot be stored in a record."""
_FRAME_TOKENS = 50
"""Tokens for everything in a form except its free text."""
_CHARACTERS_PER_TOKEN = 3
"""Lower estimate for free text, so that the form can be closed within `max_tokens`."""


class SchemaMode(FreeText):
    """The model fills in a JSON schema of the legal moves, and the game's `say` writes the words.

    The form is described in the prompt too, for servers that ignore schemas.
    """

    def __init__(self, *, talk: bool, max_tokens: int) -> None:
        self._talk = max(40, _CHARACTERS_PER_TOKEN * (max_tokens - _FRAME_TOKENS)) if talk else 0

    @override
    def prompt(self, told: AnyGame, seen: Seen, since: Seen | None) -> str:
        prompt = super().prompt(told, seen, since)
        for part in told.reply_format(seen):
            prompt = prompt.replace(part, "")
        return prompt

    @override
    def turn_suffix(self, told: AnyGame, seen: Seen) -> str:
        return told.moves(seen, self._talk).instruction

    @override
    def request_fields(self, told: AnyGame, seen: Seen) -> dict[str, Any]:
        schema = told.moves(seen, self._talk).schema()
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "move", "strict": True, "schema": schema},
            }
        }

    @override
    def game_text(self, told: AnyGame, ask: Ask, text: str, error: Invalid | None) -> str | Invalid:
        try:
            value = json_object(text) or told.moves(ask.seen, self._talk).named_option(text)
        except Misfit as misfit:
            return error or _refused_form(misfit)
        # A complete object that ended exactly at the token limit was not cut.
        if error is not None and (value is None or error.codes != ("cut",)):
            return error
        if value is None:
            return Invalid(("bad_json",), phrase(told, "bad_json"), "format")
        action = filled_action(told, ask.seen, value)
        return action if isinstance(action, Invalid) else told.say(action)

    @override
    def model_text(self, reply: Reply) -> str:
        form = "" if reply.raw is None else extract_reasoning(reply.raw).text
        try:
            return super().model_text(reply) if json_object(form) is None else form
        except Misfit:
            return form


def json_object(text: str) -> dict[str, Any] | None:
    """Return the one JSON object in a text, whatever surrounds it; None if there is none, or more than one.

    Raises:
        Misfit: It names a key twice.
    """
    found: list[dict[str, Any]] = []
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, at)
            found += [value] if value not in found else []
        except Misfit:
            raise
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)
    if len(found) != 1:
        return None
    if _SURROGATE_ESCAPE.search(text):
        found = json.loads(replace_surrogates(json.dumps(found, ensure_ascii=False)))
    return found[0]


MAX_PARAPHRASES = 2
"""Number of rejections after which the game's own words are used, if the game would ask forever."""


class ParaphraseMode(FreeText):
    """A scripted player decides and the model words its move.

    A message that makes another move is rejected. When no retry is left, the move is sent in the game's own words
    (`Reply.raw` keeps the model's), so that wording never costs a seat its match.
    """

    def __init__(self, strategy: Scripted) -> None:
        self._strategy = strategy
        self._action: Any = None
        self._words = ""

    @override
    def turn_suffix(self, told: AnyGame, seen: Seen) -> str:
        self._action = self._strategy.reply(told, Ask(seen))
        self._words = told.say(self._action)
        return phrase(told, "decided", words=self._words)

    @override
    def game_text(self, told: AnyGame, ask: Ask, text: str, error: Invalid | None) -> str | Invalid:
        invalid = error or self._other_move(told, ask.seen, text)
        if invalid is None:
            return text
        retries_left = MAX_PARAPHRASES - len(ask.rejected) if ask.retries_left is None else ask.retries_left
        return invalid if retries_left > 0 else self._words

    def _other_move(self, told: AnyGame, seen: Seen, text: str) -> Invalid | None:
        """Reject a text that does not make the decided move."""
        action = told.parse(text, seen)
        if isinstance(action, Invalid):
            return Invalid(action.codes, action.reason, action.kind)
        if told.same(seen, self._action, action):
            return None
        return Invalid(("other_move",), phrase(told, "strayed", words=self._words), "format")
