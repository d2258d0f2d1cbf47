"""The texts of the table of split, which a study can say otherwise (`[texts.split]`)."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from negolab.games.split.reading import singular
from negolab.texts import Texts


class SplitTexts(Texts, group="split"):
    """Texts of the table of split. What is divided has a name for several and one for a single one, by its name in the
    parameters: `items.hats` and `one.hats`."""

    ROLE = "player {seat}"
    YOU = "you"
    POINTS = "{count} points"
    POINT_1 = "{count} point"
    NOTHING = "nothing"
    SOME = "{count} {item}"

    # How far the match is, and the rules.

    PLAYED = "{count} rounds played"
    PLAYED_1 = "{count} round played"
    LEFT = "Round {round} of {rounds}, {count} messages left for you"
    LEFT_1 = "Round {round} of {rounds}, {count} message left for you"
    TALK_LEFT = "Round {round} of {rounds}, at most {count} messages until the talk ends"
    TALK_LEFT_1 = "Round {round} of {rounds}, at most {count} message until the talk ends"
    DUE = "Round {round} of {rounds}, both choose in secret now"
    RULES = {
        "goal": "Get as many points as you can over {rounds} rounds: each unit that you keep is worth points to you.",
        "goal_1": "Get as many points as you can over 1 round: each unit that you keep is worth points to you.",
        "free": "First you talk in turn, as long as neither ends it.",
        "one": "In each round each of you first sends one message; nothing that is said is binding.",
        "quota": "In each round each of you first sends {count} messages; nothing that is said is binding.",
        "split": "Then both say at once what they keep; neither sees the other's choice before.",
        "exact": "Only if the two choices fit together exactly is there a deal; else both get 0 points.",
        "share": "If the two want more than there is, it is shared in proportion to what each asked for.",
        "hand": "The winning hand makes a unit worth more: you see your own hand only.",
        "own": "Units may be worth something else to the other player, who is shown their own worth only.",
    }

    # What is divided.

    TO_DIVIDE = "To divide: {stock}"
    ALL_WORTH = "All of it is worth {points} to you."
    DIVIDE_IN = "To divide in round {round}"
    ITEM = "Item"
    STOCK = "To divide"
    WORTH = "Worth each to you"
    WORTH_TO = "to player {seat}"
    DIVIDED = "What is to be divided"
    HANDS = {"rock": "rock", "paper": "paper", "scissors": "scissors"}
    YOUR_HAND = "Your hand is {hand}."
    HAND_PAYS = (
        "Against {beaten} it wins and a unit is worth {high} to you; against {by} it loses and a unit is worth {low}."
    )

    # The share to ask for.

    KEEP_TITLE = "What you keep in round {round}"
    KEEP_LATER = "What you keep in round {round}, after the talk"
    KEEP = "Keep {item}"
    TO_KEEP = "of {item} to keep"
    KEEP_OF = "keep {count} of {stock} {item}"
    KEEP_NOTHING = "Choose to keep nothing"
    LINE = "{item}: {count} to divide"
    LINE_WORTH = "{item}: {count} to divide, worth {worth} each to you"
    LINE_BOTH = "{item}: {count}, worth {worth} each to you, {theirs} to {seat}"
    LEAVES = "Leaves {units} to player {seat}."
    LEAVES_WORTH = "Leaves {units} to player {seat}, {points}."
    BEST = "{points} of {whole}, if you get all you keep"
    BEST_NOTHING = "{points} of {whole}"
    BEST_HAND = "{won} if your hand wins, {lost} if it loses, if you get all you keep"
    WORST_EXACT = "0 points unless the other keeps exactly the rest."
    WORST = "{points} if the other asks for everything."
    WORST_HAND = "{won} or {lost} if the other asks for everything."
    CHOOSE = "Choose what you keep"
    NOTHING_CHOSEN = "Nothing chosen yet."
    NOT_DUE = "You choose after the talk."
    SEND_CHOICE = "Send your choice"
    CHOOSE_FIRST = "Choose what you keep first."
    KEEP_UNITS = "Keep {units}"
    PROPOSE_NO_DEAL = "Propose no deal"
    PROPOSED_NO_DEAL = "You proposed: no deal"
    PROPOSED = "You proposed: you keep {units}"
    HIDDEN = "It stays hidden until both proposals are in."
    AFTER_TALK = "Proposals are due after the talk of this round."
    CANNOT_PROPOSE = "This cannot be proposed."

    # The talk.

    WRITE = "Write a message"
    AT_MOST = "At most {most} characters."
    SAY_NOTHING = "Say nothing"
    END_TALK = "End the talk"
    TALK_OVER = "The talk of this round is over: say what you keep."
    NOTHING_TO_SEND = "There is nothing to send yet: write a message, or say nothing."
    NOT_SENT = "Your message is not sent yet: send it, or empty the box to end the talk without it."
    ENDS_TALK = "Your message holds {token}, which ends the talk: leave it away, or press End the talk."
    TAG = "Your message holds a tag such as <message> or <think>, which would be cut out: leave it away."
    TYPE_REPLY = "Your reply with its tags"
    SEND_REPLY = "Send reply"
    TALK_OF = "Talk of round {round}"
    SAYS = "Player {seat}: {what}"
    IN_ROUND = "round {round}"
    LAPSED = "its replies could not be read, so it passed"
    PASSED = "passed"
    ENDED_TALK = "ended the talk"

    # How the rounds went.

    SO_FAR = "Your points so far"
    NONE_FINISHED = "No round is finished yet."
    ALL_ROUNDS = "All rounds"
    LAST_ROUND = "The last round"
    ROUNDS = "Rounds"
    ROUND = "Round {round}"
    ROUND_AGREED = "Round {round}: the proposals agreed"
    ROUND_NO_DEAL = "Round {round}: no deal"
    ROUND_SAYS = "Round {round}: {what}"
    THEIRS = "Player {seat}: {points}."
    ENDED_BY_YOU = "The match ended by one of your replies that could not be read; the unfinished round pays nothing."
    ENDED_BY_THEM = (
        "The match ended by a reply of player {seat} that could not be read; the unfinished round pays nothing."
    )
    YOU_ASKED = {
        "no_deal": "You proposed no deal and got {got}",
        "asked": "You asked for {asked} and got {got}",
        "hand_no_deal": "You held {hand}, proposed no deal and got {got}",
        "hand_asked": "You held {hand}, asked for {asked} and got {got}",
    }
    THEY_ASKED = {
        "no_deal": "Player {seat} proposed no deal and got {got}",
        "asked": "Player {seat} asked for {asked} and got {got}",
        "hand_no_deal": "Player {seat} held {hand}, proposed no deal and got {got}",
        "hand_asked": "Player {seat} held {hand}, asked for {asked} and got {got}",
    }
    WITHOUT_POINTS = "{what}."
    WITH_POINTS = "{what}: {points}."
    FILLED_IN = "{what} The replies could not be read, so this was filled in."
    HEAD = {"round": "Round", "asked": "Asked", "got": "Got", "earned": "Earned", "deal": "Deal"}
    UNITS_OF = "Units of {items}."
    ROW = "{round}, {who}"
    NO_DEAL = "no deal"
    NOT_TOLD = "not told"
    YES = "yes"
    NO = "no"

    REFUSALS = dict.fromkeys(
        (
            *("too_long", "over_stock", "no_deal_not_allowed", "unknown_item", "unreadable", "contradictory"),
            *("several_messages", "reasoning_open"),
        ),
        "",
    )
    """Words for what is wrong with a reply, by the code of the fault; "": the words of the rules."""

    def item(self, item: str) -> str:
        """Return what several of a type are called."""
        return self.name("items", item)

    def one(self, item: str) -> str:
        """Return what one of a type is called."""
        return self.name("one", item, singular(item))

    @override
    def names(self, game: Any) -> dict[str, str]:
        several = {f"{self.group}.items.{item}".lower(): item for item in game.items}
        return several | {f"{self.group}.one.{item}".lower(): singular(item) for item in game.items}


WORDS = SplitTexts()
