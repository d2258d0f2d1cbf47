"""All texts of a study that a participant reads, but a game's own: its pages, its tables, the small pages of its link.

Change or translate them in a study file (`[texts]`); `negolab study texts STUDY` lists them. `str.format` fills in the
names in braces. A game's own are its part `WORDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from negolab import catalog
from negolab.formatting import format_money, format_number
from negolab.game import Game, Invalid
from negolab.texts import Texts, are_overridden

if TYPE_CHECKING:
    from negolab.catalog import AnyGame
    from negolab.game import End
    from negolab.studies.endings import Ending
    from negolab.studies.study_config import Study


class PageTexts(Texts, group="page"):
    """Texts of a participant's page around a game: its pages, its buttons, the reasons for what was not done."""

    # The pages of a study.

    LOADING = "One moment, please."
    CONSENT = "Your consent"
    AGREE = "I agree and take part"
    DECLINE = "I do not take part"
    INSTRUCTIONS = "Instructions"
    START = "Start"
    BEGINS = "It begins as soon as you press Start."

    QUESTIONS = "Questions"
    SEND_ANSWERS = "Send answers"
    SOME_REQUIRED = "Please answer those that are required; the others may stay open."
    REQUIRED = "{question} (required)"
    OPTIONAL = "{question} (optional)"
    NO_CHOICE = "(please choose)"
    NUMBER = "a number"
    ONE_WRONG = "One answer must be corrected above."
    SEVERAL_WRONG = "{count} answers must be corrected above."
    WRONG_ANSWERS = {
        "form": "Answer the questions.",
        "length": "at most {most} characters.",
        "missing": "please answer.",
        "choice": "choose one of the answers.",
        "number": "please write a number.",
        "whole": "please write a whole number.",
        "least": "please write a number of at least {limit}.",
        "most": "please write a number of at most {limit}.",
    }
    STEP = "Step {step}"
    STEP_OF = "Step {step} of {steps}"
    TIME_FOR_PAGE = "{left} left for this page"

    QUIZ = "Do you know how it works?"
    CHECK = "Check my answers"
    NOT_RIGHT = "This is not right."
    SOME_WRONG = "Not everything is right yet: look above, and answer again."
    ATTEMPTS_LEFT = "You have {attempts} attempts left."
    LAST_ATTEMPT = "You can answer once more."

    RESULTS = "Your results"
    NO_RESULTS = "You have played no match to its end."
    RESULT_COLUMNS = {"match": "Match", "end": "How it ended", "payoff": "Your result"}
    RESULT_PRACTICE = "Practice {round}"

    PLEASE_WAIT = "Please wait"
    WAITING = "Waiting for another participant."
    WAITING_HINT = "Keep this page open: it goes on by itself as soon as somebody comes."
    WAITED = "You have waited {gone} of at most {total}."
    WAIT_OVER = "The waiting time is over."

    END = "The end"
    COMPLETION_CODE = "Your completion code"
    COPY_CODE = {
        "button": "Copy",
        "label": "Copy the code",
        "copied": "Copied.",
        "failed": "Please select the code and copy it yourself.",
    }
    GO_BACK = "Go on to {host}"
    EARNED = {
        "title": "Your earnings",
        "part": "Part",
        "result": "Your result",
        "amount": "Amount",
        "fee": "For taking part",
        "match": "Match {number}",
        "only match": "The match",
        "not drawn": "not drawn",
        "extra": "In addition",
        "rounding": "Rounding",
        "floor": "Raised to the least that is paid",
        "cap": "Cut to the most that is paid",
        "total": "Total",
        "exchange": "{points} are worth {money}.",
        "drawn": "One match was drawn by chance, and only its result is paid.",
    }
    ENDINGS: dict[Ending, str] = {
        "complete": "Thank you. You have finished.",
        "timeout": "The study is over for you, because no valid answer came in time.",
        "partner": "The study is over: the other person has left or did not answer in time.",
        "unpaired": "Nobody came to play with you within the time we wait. Thank you for waiting.",
        "model": "The study is over for you: the other side could not be reached any more. It was not your doing.",
        "quiz": "The study is over for you, because the questions about the game were not answered right.",
        "withdrawn": "You have left the study. What you wrote was deleted.",
        "declined": "You did not agree to take part. Nothing that you wrote was kept.",
        "ended": "The experimenter has ended the study for you.",
        "error": "The study had to be stopped because of a fault on our side. It was not your doing.",
    }

    LEAVE = "Leave the study"
    LEAVE_YES = "Yes, leave the study"
    LEAVE_NO = "No, go on"
    LEAVE_QUESTION = (
        "Do you want to leave? What you wrote is then deleted, the study ends for you, and you cannot come back."
    )

    # Around the table of a match.

    PRACTICE = "Practice {round} of {rounds}"
    PAUSED = "The other side cannot be reached just now. Your place is kept, and the match goes on by itself."
    ROUND = "Match {round} of {rounds}"
    CONTINUE = "Continue"
    NEXT_STEP = "This match is over. The next step is behind this button:"
    TIME_LEFT = "{left} left"
    TIME_UP = "Time is up."
    TIME_LEFT_FOR = {
        "reply": "{left} left for your answer",
        "match": "{left} left for this match",
        "continue": "{left} left to go on",
    }
    YOU_ARE = "You are {role}."
    YOUR_TURN = "It is your turn."
    MATCH_OVER = "The match is over."
    WAITING_FOR = "Waiting for {role}."
    THINKING = "{model} is thinking."
    RULES_IN_SHORT = "How it works"
    RULES = "The rules in full, word for word"
    RESULT = "Your result: {payoff}."
    MATCH_ENDS: dict[End, str] = {
        "AGREED": "It ended in agreement.",
        "NO_DEAL": "It ended without a deal.",
        "OUT_OF_TIME": "The turns ran out without a deal.",
        "FORFEIT": "It ended by a forfeit.",
        "ABORTED": "The match was stopped.",
    }
    ROUNDS_PLAYED = "All rounds were played."
    OWN = "you"
    NOT_ACCEPTED = "not accepted"
    MANAGER = "the manager"
    TABLE = "the table"
    RECORD_FAILED = "The record could not be written yet; it is tried again when you leave this match."

    # Why something was not done.

    FAULT = "Something went wrong on our side. Nothing that was kept is lost."
    AWAY = "One moment, please: your place is kept. Nothing is lost, and this page goes on by itself."
    NOT_NOW = "One moment, please: your place is kept. This was not sent: do it again when the page has gone on."
    UNSURE = (
        "The table cannot be reached just now, so this may not have arrived. When it is back, look what stands here."
    )
    ELSEWHERE = "This page was opened in another tab. It goes on there."
    LEASE_TAKEN = "This page was opened elsewhere."
    NOT_FOUND = "There is nothing here."
    NOT_UNDERSTOOD = "The request was not understood."
    UNKNOWN_ACTION = "There is nothing of that kind to do."
    MOVED_ON = "The page has moved on since."
    NOT_OVER = "The match is not over yet."
    ALREADY_OVER = "The study is over for you already."
    ALREADY_COMPLETE = "You have finished already: go on, and take your code."
    NO_TEXT = "A reply is a text."
    NOT_YOUR_TURN = "It is not your turn."
    TABLE_CHANGED = "The table has changed since. Look again, then answer."
    NOTHING_TO_SEND = "There is nothing to send yet: write a message or choose an option."
    TOO_LONG = "Your message has {length} characters; {most} are the most."

    LINK_NOT_VALID = "This link is not valid here: open it again exactly as you got it, or ask for a new one."
    LINK_EXPIRED = "This link has expired: ask those who sent it for a new one."
    LINK_UNKNOWN = "This link is not known here. Ask the person who sent it for a new one."
    LINK_WITHOUT_ID = "This link must carry your id ({name}). Come by the link of the panel that invited you."
    LINK_UNCLEAR_ID = (
        "This link must carry your id ({name}) once, in plain characters. Open the link of your panel again, or tell "
        "those who invited you."
    )
    LINK_NOT_PERSONAL = "This page needs your personal link."


class GateTexts(Texts, group="gate"):
    """The small pages before a participant has a kernel, and the banners of a page that has lost its own."""

    LANGUAGE = "en"
    INVITATION = "You are invited to a study in this browser. Nothing begins before you press Start inside."
    CONTINUE = "Continue"
    TAKEN_PART = "Somebody has already taken part in this browser."
    CONTINUE_WHERE = "Continue where I was"
    NEW_PERSON = "Take part as a new person"

    WAIT = "Please wait a moment"
    NEXT = "You are next."
    ONE_AHEAD = "One person is before you."
    AHEAD = "{count} people are before you."
    KEEP_OPEN = "This page goes on by itself. Please keep it open."
    NEEDS_SCRIPT = "This study needs JavaScript. Please switch it on and reload the page."
    CROWDED = "Many people have just come from where you are. Please try again in a moment."

    TITLES = {
        "400": "That request cannot be read",
        "403": "This page is not open to you",
        "404": "There is no such page",
        "405": "That cannot be done here",
        "429": "Too many requests",
        "500": "Something went wrong",
        "503": "Please wait a moment",
    }
    REFUSALS = {
        "400": "Please open the link that you were sent.",
        "403": "This page needs your personal link. Please open the link that you were sent.",
        "404": "Please open the link that you were sent.",
        "405": "Please open the link that you were sent.",
        "429": "Please wait a little. This page tries again by itself.",
        "500": "It was noted. Nothing that you did is lost. Please reload the page.",
        "503": "The study cannot be reached just now. Nothing that you did is lost. This page tries again by itself.",
    }

    BANNERS = {
        "failed": "This page could not be restored. It is tried again in a minute.",
        "broken": "This page could not be loaded, and three more attempts failed. Please tell the researchers.",
        "shut": "This page can't connect. Please tell the researchers: their web server doesn't pass on websockets. "
        "“negolab study doctor” shows what to change.",
        "again": "Try again",
        "restoring": "The page is being restored. Nothing is lost.",
        "elsewhere": "This page was opened in another tab. It goes on there.",
        "here": "Go on here instead",
        "lost": "Connection lost. What you did is kept, and this page goes on by itself when it is back. If your own "
        "connection is the fault, your time runs on.",
        "closed": "This page is no longer open to you here. Please open your link again.",
    }


class TableTexts(Texts, group="table"):
    """Texts that the tables of all games share, and of the table of a game that has none of its own."""

    # The bar of decisions.

    FOR_YOU = "{amount} for you"
    AT_A_LOSS = "{answer}, at a loss"
    MAKE_AN_OFFER = "Make an offer"
    KEYS = {
        "title": "Keys",
        "accept": "accept",
        "refuse": "refuse",
        "offer": "go to your own offer, Enter sends it",
        "show": "show these keys",
    }

    # Controls.

    LESS = "one less {what}"
    MORE = "one more {what}"
    SHOW = "Show: {part}"
    HIDE = "Hide: {part}"
    END_YES = "Yes, end it"
    END_NO = "No, go on"
    YOUR_MESSAGE = "Your message"
    SEND_MESSAGE = "Send message"
    WRITE_REPLY = "Write your reply here."
    TYPED = "a box to type the reply yourself"
    WORD_FOR_WORD = "all messages word for word"
    WHAT_ENDED = "What ended the match"
    MESSAGE_WAS = "Your message was:"
    ENTER_NUMBER = "Enter a whole number."
    FIELD_TOO_LONG = "This text has {length} characters; {most} are the most."
    NOT_NOW = "This cannot be answered now."

    # What was said, and numbers.

    SAID = "What was said"
    NOTHING_SAID = "Nothing was said yet."
    NO_WORDS = "(no words)"
    EARLIER = "{count} earlier messages"
    AMOUNT = "{amount} {unit}"
    NOTHING = "nothing"
    UNITS = {"points": "points", "dollars": "dollars", "points of own importance": "points of own importance"}

    # A figure of offers.

    ROUND_AXIS = "round"
    PRICE_AXIS = "price (dollars)"
    MESSAGE_AXIS = "message"
    POINTS_AXIS = "points for you"
    UNITS_AXIS = "{item} (units)"
    DEAL = "deal {amount}"
    STANDING_OFFER = "standing offer {amount}"
    AT_ROUND = "round {round}, {who}: {amount}"
    AT_MESSAGE = "message {message}, {who}: {amount} points"
    ASKED = "{seat} asked"
    RECEIVED = "{seat} received"
    ASKED_AND_RECEIVED = "round {round}, {seat}: asked for {asked}, received {received} of {stock} {item}"
    NO_DEAL = "no deal"

    # The table of any game.

    ROLE = "seat {seat}"
    WHAT_YOU_KNOW = "What you know"
    FACTS = "Your facts"
    YES = "yes"
    NO = "no"
    TOLD = "What you were told"
    CHOOSE = "Choose an answer"
    FIND = "Or find one of your options"
    FIND_HINT = "type words, then Enter"
    OPTIONS = "Your options"
    PLAY = "Play the chosen option"
    LAST_TRY = "If your next reply cannot be used, {then}."


texts, gate_texts, table_texts = PageTexts(), GateTexts(), TableTexts()


def catalogue(study: Study) -> dict[str, str]:
    """Return the default texts of a study by key: of any study, of its game, and of what its parameters name."""
    games = [study.loaded(settings) for settings, _ in study.matches()]
    found = gate_texts.defaults() | texts.defaults() | table_texts.defaults()
    own = catalog.part(games[0], "WORDS")
    if isinstance(own, Texts):
        found |= own.defaults()
        for game in games:
            found |= own.names(game)
    return found


def needed_texts(study: Study) -> dict[str, str]:
    """Return those default texts of the catalogue that somebody in this study may read, by key."""
    unused: list[str] = []
    if not study.consent:
        unused += ["page.consent", "page.agree", "page.decline", "page.endings.declined"]
    kinds = study.kinds()
    if not kinds & {"questions", "quiz"}:
        unused += [f"page.{name}" for name in _QUESTION_TEXTS]
    if not study.paired:
        unused += [f"page.{name}" for name in _WAITING_TEXTS]
    if "practice" not in kinds:
        unused += ["page.practice", "page.result_practice"]
    if "quiz" not in kinds:
        unused += [f"page.{name}" for name in _QUIZ_TEXTS]
    if "results" not in kinds:
        unused += ["page.results", "page.no_results", "page.result_columns"]
    if catalog.part(study.loaded(study.treatments[0]), "TABLE") is not None:
        unused += [f"table.{name}" for name in _PLAIN_TEXTS]
    return {
        key: text
        for key, text in catalogue(study).items()
        if not any(key == name or key.startswith(f"{name}.") for name in unused)
    }


_QUESTION_TEXTS = (
    *("questions", "send_answers", "some_required", "required", "optional", "no_choice", "number"),
    *("one_wrong", "several_wrong", "wrong_answers"),
)
_QUIZ_TEXTS = (
    "quiz",
    "check",
    "not_right",
    "some_wrong",
    "attempts_left",
    "last_attempt",
    "endings.quiz",
)
_WAITING_TEXTS = (
    "please_wait",
    "waiting",
    "waiting_hint",
    "waited",
    "wait_over",
    "endings.partner",
    "endings.unpaired",
)
_PLAIN_TEXTS = ("role", "facts", "yes", "no", "told", "choose", "find", "find_hint", "options", "play", "last_try")


def refusal_text(game: AnyGame, invalid: Invalid) -> str:
    """Return why a reply was refused: the game's own words, or the study's for the fault's first code."""
    group = catalog.part(game, "WORDS")
    if not are_overridden() or not isinstance(group, Texts):
        return invalid.reason
    own: Mapping[str, str] = getattr(group, "REFUSALS", {})
    return next(filter(None, (own.get(code, "") for code in invalid.codes)), invalid.reason)


def match_end(game: AnyGame, end: End) -> str:
    """Return the sentence for how a match ended; where rounds pay by themselves the last one is no agreement."""
    return texts.ROUNDS_PLAYED if end == "AGREED" and game.has_paid_rounds else texts.MATCH_ENDS[end]


def format_payoff(game: AnyGame, payoff: float | None) -> str:
    """Write a payoff as a participant reads it."""
    if payoff is None:
        return table_texts.NOTHING
    words: Mapping[str, str] = getattr(catalog.part(game, "WORDS"), "PAYOFFS", {})
    if f"{payoff:g}" in words:
        return words[f"{payoff:g}"]
    if type(game).format_payoff is not Game.format_payoff:
        return game.format_payoff(payoff)
    return format_units(payoff, game.unit)


def format_units(amount: float, unit: str) -> str:
    """Write an amount with its unit as a participant reads it."""
    if unit == "cents":
        return format_money(amount)
    return table_texts.AMOUNT.format(amount=format_number(amount), unit=table_texts.UNITS.get(unit, unit))
