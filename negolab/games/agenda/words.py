"""The texts of the table of an agenda, which a study can say otherwise (`[texts.agenda]`); a scenario has its own."""

from negolab.texts import Texts


class AgendaTexts(Texts, group="agenda"):
    """Texts of the table of an agenda."""

    YOU = "you"
    POINTS = "{count} points"
    POINT_1 = "{count} point"

    # How far the match is, and the rules.

    WRITTEN_1 = "1 message"
    WRITTEN = "{count} messages"
    AT = "Message {number} of {turns}, {left} left for you"
    RULES = {
        "goal": "Agree on each of the {issues} issues: what you agree on pays you its points.",
        "goal_1": "Agree on the issue: what you agree on pays you its points.",
        "no_deal": "Without a deal you have {alone}; your best agreement has {best}.",
        "other": "The other side has points of its own: what matters little to you may matter much to them.",
        "turns": "You write in turn, {turns} messages in all: accept or reject the offer that stands, or make one.",
        "walk_away": "Either side may walk away; then there is no deal.",
        "discount": "Every message before the last one multiplies what you are paid by {factor}.",
    }

    # What the seat knows.

    BRIEF = "{title}. Your role: {role}"
    ALONE = "Without a deal you have {alone}; your best agreement has {best}."
    DISCOUNT = "Every message before the last one multiplies what you are paid by {factor}."
    RANK = "no. {rank} of {count} for {who}"
    RANK_SHARED = "no. {rank} of {count} for {who} (shared)"
    UNITS = "{count} units, worth {worth} each to you"
    UNITS_BOTH = "{count} units, worth {worth} each to you, {theirs} to the other"
    UNIT_1 = "{count} unit, worth {worth} each to you"
    UNIT_1_BOTH = "{count} unit, worth {worth} each to you, {theirs} to the other"
    YOUR_POINTS = "Your points"
    ISSUES = "The issues and your points"
    LEGEND = "Points: yours / the other's"
    BETWEEN = "{count} options between"
    MARKS = {"yours": "yours", "theirs": "theirs", "both": "both"}
    YOURS_UNITS = "yours: you {count}"
    THEIRS_UNITS = "theirs: you {count}"
    MARKED = "{mark}: {option}"

    # The offer that stands.

    NONE_STANDS = "No offer stands"
    YOURS_WAITS = "Your offer waits for an answer"
    OFFERS = "{who} offers"
    SAYS = "{who}: {what}"
    NOBODY_YET = "Nobody has made an offer yet."
    YOU_REJECTED = "You rejected the last one."
    THEY_REJECTED = "Your last one was rejected."
    HELD_NONE = "The last message held none."
    SPLIT = "you {count}, they {rest}"
    WORTH = "{points} of at most {best} for you"
    IF_NEXT = "It pays {amount} if it is accepted next."
    FOR_OTHER = "{points} for the other."
    COMPARED = "{first}, {second}."
    COMPARED_1 = "{first}."
    AS_NO_DEAL = "as many as without a deal"
    MORE_THAN_NO_DEAL = "{count} more than without a deal"
    FEWER_THAN_NO_DEAL = "{count} fewer than without a deal"
    AS_THEIRS = "as many as in their last offer"
    MORE_THAN_THEIRS = "{count} more than in their last offer"
    FEWER_THAN_THEIRS = "{count} fewer than in their last offer"
    COURSE = "What the offers are worth to you"
    YOUR_OFFERS = "your offers"
    THEIR_OFFERS = "theirs"
    NO_DEAL_LINE = "no deal"

    # The offer to make, and the answers.

    CHOOSE = "choose"
    OPTION = "{option} ({points})"
    FOR_YOU = "{issue} for you"
    OF_FOR_YOU = "of {issue} for you"
    CHOOSE_ALL = "Choose an option for every issue; the number below it is what it is worth to you."
    STEP_UP = "Step up what you would get; the rest goes to the other side."
    SO_FAR = "{points} points for you so far"
    STILL = "Still to choose: {issues}."
    INSTEAD = "Make another offer instead"
    COUNTEROFFER = "Counteroffer"
    COPY = "Start from theirs"
    CLEAR = "Clear"
    MESSAGE_HINT = "Goes along with what you send, at most {most} characters."
    LAST_MESSAGE = "This is the last message: it can hold no offer."
    MAKE = "Make this offer"
    REJECT_AND_MAKE = "Reject and make this offer"
    SPEAK = "Send message without an offer"
    ACCEPT = "Accept"
    REJECT = "Reject"
    WALK_AWAY = "Walk away, no deal"
    END_WITHOUT = "End without a deal? You then have {points}."
    TYPE_REPLY = "Your reply with its brackets"
    SEND_REPLY = "Send reply"
    NAME_ALL = "An offer names every issue. Choose an option for {issues}."
    STEP_FIRST = "Step up what you would get first; to get nothing, move one up and back to 0."
    NOTHING_TO_SEND = "There is nothing to send yet: write a message."
    TOKEN = "Your message holds an offer or a reply in brackets, which would count as one: write it without them."
    NOT_AS_MEANT = "This cannot be sent as it is meant."

    # What was said, and the end.

    DID = {"accept": "accepted the offer", "reject": "rejected the offer", "walk away": "walked away"}
    OFFERED = "offered {agreement} ({points} for you)"
    TERM = "{issue} = {option}"
    TERM_UNITS = "{issue} = {count} for you, {rest} for the other"
    AGREED = "You agreed"
    NO_AGREEMENT = "No agreement"
    YOU_WALKED = "You walked away."
    THEY_WALKED = "{who} walked away."
    YOU_FORFEIT = "You sent no message that could be used."
    THEY_FORFEIT = "{who} sent no message that could be used."
    NO_TIME = "There was no time for another message."

    REFUSALS = dict.fromkeys(
        (
            *("two_replies", "two_offers", "reply_and_offer", "offer_unreadable", "unknown_issue", "unknown_option"),
            *("issue_twice", "issue_missing", "nothing_said", "walk_away_off", "no_standing_offer", "reply_missing"),
            *("talk_too_long", "no_talk", "offer_at_last_message"),
        ),
        "",
    )
    """Words for what is wrong with a reply, by the code of the fault; "": the words of the rules."""


WORDS = AgendaTexts()
