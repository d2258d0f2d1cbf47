"""The texts of the table of balloon, which a study can say otherwise (`[texts.balloon]`)."""

from negolab.texts import Texts


class BalloonTexts(Texts, group="balloon"):
    """Texts of the table of balloon."""

    ROLE = "player {seat}"
    PLAYER = "Player {seat}"
    YOU = "you"
    COMPOSE = "Choose a set"
    COMPOSE_OTHER = "Choose another set"

    # Sums of a set.

    ITEM_1 = "1 item"
    ITEMS = "{count} items"
    NO_ITEMS = "no items"
    NONE_HERE = "No items"
    AND_MORE = "and {count} more"
    OVER_LIMIT = "over the LIMIT"
    OF_BEST = "{share} % of your best"
    NO_BEST = "no set is worth anything to you"
    EFFORT = "Effort"
    IMPORTANCE = "For you"
    EFFORT_BAR = "Effort against the LIMIT"
    IMPORTANCE_BAR = "Importance to you against your best set"
    EFFORT_LEFT = "{effort} of {limit}, {left} left"
    EFFORT_OVER = "{effort} of {limit}, {over} over"
    POINTS = "{points}, {share}"
    EFFORT_OF = "effort {effort}"
    EFFORT_TOO_MUCH = "effort {effort}, {over} too much"

    # How far the match is, and the rules.

    WRITTEN_1 = "1 message"
    WRITTEN = "{count} messages"
    AT = "Message {number}"
    AT_OF = "Message {number} of {limit}"
    EMPTY = "{at}, {count} of at most {most} in a row without a proposal"
    RULES = {
        "goal": "Agree with the other player on one set of items: each item in it pays you its points, in the column "
        "For you.",
        "limit": "The effort of the set must be at most {limit}, the LIMIT. Without an agreement, both of you get "
        "nothing.",
        "limit_unchecked": "The effort of the set must be at most {limit}, the LIMIT: a set beyond it pays both "
        "nothing, and so does no agreement.",
        "other": "The same items have other points for the other player, which you are not shown.",
        "turns": "You write in turn: propose a set, refuse one of theirs, or agree to one, which ends the match.",
        "counted": "You write in turn, {turns} messages in all: propose a set, refuse one of theirs, or agree to one, "
        "which ends the match.",
    }

    # The proposals that stand.

    NONE_OF_THEIRS = "No proposal of theirs stands."
    ONLY_IN = "Only in theirs: {theirs}; only in yours: {yours}"
    PAYS_NOTHING = "{over} over the LIMIT: it would pay nothing"
    PAYS = "{points} points"
    NO_AGREEMENT = "without an agreement nothing"
    PROPOSES = "Player {seat} proposes {items}"
    STANDING = "Proposals that stand"
    NONE_STANDS = "No proposal stands."
    NONE_STANDS_YET = "No proposal stands yet."
    YOUR_LATEST = "Your latest"
    YOUR_EARLIER = "Your earlier"
    THEIR_LATEST = "Player {seat}'s latest"
    THEIR_EARLIER = "Player {seat}'s earlier"
    SAME = "your ticked set"
    AGREE = "Agree"
    AGREE_TO = "Agree to {items}"
    AGREE_THIS = "Agree to this"
    START_THIS = "Start from this"
    TICK = "Tick {items}"
    REFUSE_NEXT = "Refuse with my next message"
    SHOW_EARLIER = "Show earlier proposals"

    # The set to choose.

    CHOICE = "Items to choose from"
    UNTICK = "Untick all"
    FIND = "Find an item"
    FIND_HINT = "part of its name"
    ONLY_TICKED = "Only what I ticked"
    SORT = "Sort by {column}"
    HEAD = {
        "item": "Item",
        "effort": "Effort",
        "importance": "For you",
        "ratio": "Per effort",
        "proposed": "Proposed",
        "agreed": "Agreed",
    }
    MARKS = {"yours": "yours", "theirs": "theirs", "both": "both", "kept": "kept"}
    ITEMS_TITLE = "Items, LIMIT {limit}"
    ITEMS_TABLE = "Items"

    # The message to send.

    ARGUMENT = "Your argument"
    ARGUMENT_OPTIONAL = "Your argument (optional)"
    ARGUMENT_HINT = "What you say to the other player."
    REASONING = "Your private reasoning"
    REASONING_HINT = "Only for the record: the other player never sees it."
    A_SET = "a set"
    PROPOSE = "Propose {items}"
    PROPOSE_AND_REFUSE = "Propose {items} and refuse {count}"
    ONLY_REFUSE = "Only refuse {count}"
    ONLY_ARGUE = "Only send the argument"
    BRACES = "Braces {braces} in your words are sent as ( )."
    TICK_FIRST = "Tick what you want to propose first."
    TAKE_OUT = "This set is {over} over the LIMIT: take something out first."
    NOTHING_TO_SEND = "There is nothing to send yet: write an argument, or propose or refuse a set."
    PROPOSAL_DUE = "The next message must hold a proposal, or the match ends without a deal."
    UNTICK_REFUSAL = "You ticked to refuse this set: untick that to agree to it."
    PATIENCE = {
        "0": "The next message against the rules ends the match.",
        "1": "One more message against the rules is forgiven.",
        "more": "{count} more messages against the rules are forgiven.",
    }

    # What was said, and the end.

    AGAINST_RULES = "against the rules: none of its moves counts"
    PROPOSED = "proposed {set}"
    REFUSED = "refused {set}"
    AGREED = "agreed to {set}"
    SET = "{items} ({points} for you, {share}; effort {effort})"
    NOT_AGREED = "No set was agreed"
    AGREED_SET = "The agreed set: {items}"
    PAYS_BOTH_NOTHING = "It is over the LIMIT, so it pays both sides nothing."
    OUT_OF_TIME = "The last message was sent before the two of you agreed."
    NO_DEAL = "Too many messages in a row held no proposal."
    ENDED_BY_YOU = "The match ended by one of your messages that the rules do not allow."
    ENDED_BY_THEM = "The match ended by a message of player {seat} that the rules do not allow."

    REFUSALS = dict.fromkeys(
        (
            *("no_reasoning", "no_argument", "untagged", "bad_set", "nothing_to_relay", "unknown_item", "over_limit"),
            *("refuse_inactive", "agree_inactive", "agree_ambiguous"),
        ),
        "",
    )
    """Words for what is wrong with a message, by the code of the fault; "": the words of the rules."""


WORDS = BalloonTexts()
