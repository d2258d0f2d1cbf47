"""What the player itself says to a model, in the languages that games are told in."""

from __future__ import annotations

from string import Template

import msgspec

from negolab.catalog import AnyGame


class Sentences(msgspec.Struct, frozen=True):
    """`refused` has the slot `$reason`; `said` has `$answer` and `$reason`; `decided` and `strayed` have `$words`.

    `empty` to `bad_json` are reasons, by the codes of the faults."""

    refused: str
    said: str
    due: str
    decided: str
    strayed: str
    empty: str
    cut: str
    filtered: str
    declined: str
    bad_json: str

    def refusal(self, reason: str) -> str:
        """A rejection as its author reads it."""
        return Template(self.refused).safe_substitute(reason=reason)

    def earlier(self, answer: str, reason: str) -> str:
        """A rejected answer and why, where the model does not see its answers as a chat."""
        return Template(self.said).safe_substitute(answer=answer, reason=reason)


_SENTENCES = {
    "en": Sentences(
        refused="Your answer was not accepted. $reason",
        said="Your answer was:\n$answer\nIt was not accepted. $reason",
        due="It is your turn.",
        decided="Your move is decided already. In the words of the game it is:\n$words\nWrite this message in words of "
        "your own: it must make exactly this move, in the form that the game asks for.",
        strayed="Your message does not make the move that was decided. Make exactly this move:\n$words",
        empty="Your answer was empty: answer in the form that is asked for.",
        cut="Your answer was too long and was cut off: answer more briefly.",
        filtered="Your answer was withheld by a content filter: answer in other words.",
        declined="You declined to answer: answer in the form that is asked for.",
        bad_json="Your answer is not a JSON object: answer with one JSON object and nothing else.",
    ),
    "de": Sentences(
        refused="Deine Antwort wurde nicht angenommen. $reason",
        said="Deine Antwort war:\n$answer\nSie wurde nicht angenommen. $reason",
        due="Du bist an der Reihe.",
        decided="Dein Zug steht schon fest. In den Worten des Spiels lautet er:\n$words\nSchreibe diese Nachricht mit "
        "eigenen Worten: sie muss genau diesen Zug machen, in der Form, die das Spiel verlangt.",
        strayed="Deine Nachricht macht nicht den Zug, der feststeht. Mache genau diesen Zug:\n$words",
        empty="Deine Antwort war leer: antworte in der verlangten Form.",
        cut="Deine Antwort war zu lang und wurde abgeschnitten: antworte kürzer.",
        filtered="Deine Antwort wurde von einem Inhaltsfilter zurückgehalten: antworte mit anderen Worten.",
        declined="Du hast nicht antworten wollen: antworte in der verlangten Form.",
        bad_json="Deine Antwort ist kein JSON-Objekt: antworte mit genau einem JSON-Objekt und nichts sonst.",
    ),
    "it": Sentences(
        refused="La tua risposta non è stata accettata. $reason",
        said="La tua risposta era:\n$answer\nNon è stata accettata. $reason",
        due="Tocca a te.",
        decided="La tua mossa è già decisa. Nelle parole del gioco è:\n$words\nScrivi questo messaggio con parole tue: "
        "deve fare esattamente questa mossa, nella forma richiesta dal gioco.",
        strayed="Il tuo messaggio non fa la mossa decisa. Fai esattamente questa mossa:\n$words",
        empty="La tua risposta era vuota: rispondi nella forma richiesta.",
        cut="La tua risposta era troppo lunga ed è stata tagliata: rispondi più brevemente.",
        filtered="La tua risposta è stata trattenuta da un filtro dei contenuti: rispondi con altre parole.",
        declined="Hai rifiutato di rispondere: rispondi nella forma richiesta.",
        bad_json="La tua risposta non è un oggetto JSON: rispondi con un solo oggetto JSON e nient'altro.",
    ),
}


def sentences(told: AnyGame) -> Sentences:
    """Those of the game's language; English where it has none."""
    return _SENTENCES.get(getattr(told, "language", "en"), _SENTENCES["en"])
