"""The texts of the table of trading, which a study can say otherwise (`[texts.trading]`)."""

from negolab.texts import Texts


class TradingTexts(Texts, group="trading"):
    """Texts of the table of trading."""

    GOODS = {"wheat": "Wheat", "wood": "Wood", "sheep": "Sheep", "brick": "Brick", "ore": "Ore"}
    SOME = "{count} {good}"
    NOTHING = "nothing"
    ROLE = "player {seat}"
    PLAYER = "Player {seat}: {what}"
    YOU = "you"

    # How far the match is, and the rules.

    PLAYED_1 = "1 turn played"
    PLAYED = "{count} turns played"
    AT = "Turn {turn} of {turns}, {left} left for you"
    RULES = {
        "goal": "Trade so that your goods gain more in worth to you than the other player's do to them: the larger "
        "gain wins.",
        "draw": "Goods are worth something else to the other player. Without any trade it is a draw.",
        "turns": "You write in turn, {turns} messages in all: accept or deny the offer that waits, or make one.",
        "lenient": "One error in a turn is forgiven; a second one loses the match.",
        "strict": "A reply against the rules loses the match; the buttons send none.",
        "mended": "You may correct one reply against the rules per turn; a second one loses the match.",
    }
    ERRORS = {
        "lenient": "One error in a turn is forgiven; a second one loses the match.",
        "strict": "A reply against the rules loses the match.",
        "mended": "You may correct one reply against the rules per turn; a second one loses the match.",
    }

    # The own goods and gain.

    GAIN = "Your gain"
    GAIN_SO_FAR = "Your gain so far"
    WORTH_NOW = "Your goods are worth {now} to you; at the start they were worth {start}."
    YOUR_GOODS = "Your goods"
    HEAD = {
        "good": "Good",
        "hold": "You hold",
        "net": "Net so far",
        "worth": "Worth each",
        "together": "Together",
    }
    NARROW = {"hold": "hold", "net": "net", "worth": "worth"}
    CHANGE = "{amount} for you"

    # The offer that waits.

    NONE_WAITS = "No offer waits."
    NONE_WAITS_LAST = "No offer waits, and nobody can answer a new one."
    NONE_WAITING = "No offer is waiting."
    NONE_WAITING_TITLE = "No offer is waiting"
    WAITING = "Waiting offer"
    SWAP = "you get {get} for {give}"
    YOURS_WAITS = "Your offer waits: {what}"
    YOURS_WAITS_TITLE = "Your offer waits for an answer"
    OFFERS = "Player {seat} offers: {what}"
    OFFERS_TITLE = "Player {seat} offers"
    CANNOT_ACCEPT = "You cannot accept it: you hold only {goods}."
    AND = "{before} and {last}"
    YOU_GET = "You get"
    YOU_GIVE = "You give"
    WORTH = "worth {worth}"
    GAIN_HIDDEN = "Player {seat}'s gain is not shown; the larger gain wins."
    DRAW = "Without any trade it is a draw."
    GOES_ON = "Accepting does not end the match."
    ACCEPT = "Accept"
    DENY = "Deny"

    # The offer to make.

    GIVE = "Give {good}"
    GET = "Get {good}"
    TO_GIVE = "{good} to give"
    TO_GET = "{good} to get"
    STEP_UP = "Step up what you would give and what you would get."
    IF_ACCEPTED = "{amount} for you if it is accepted"
    GIVES = "You give {goods}, worth {worth} to you."
    GETS = "You get {goods}, worth {worth} to you."
    GIVES_AND_GETS = "You give {given}, worth {given_worth} to you, and get {got}, worth {got_worth} to you."
    MESSAGE_HINT = "Goes along with what you send."
    LAST_TURN = "This is the last turn: nobody can answer an offer now."
    MAKE = "Make this offer"
    SPEAK = "Send message without an offer"
    SPEAK_LAST = "Send message and finish"
    FINISH = "Finish the match"
    DENY_AND_MAKE = "Deny theirs, then offer mine"
    ACCEPT_AND_MAKE = "Accept theirs, then offer mine"
    CLEAR = "Clear"
    COUNTEROFFER = "Counteroffer"
    TYPE_REPLY = "Your reply with its tokens"
    SEND_REPLY = "Send reply"
    NEEDS_BOTH = "An offer needs something to give and something to get."
    NOTHING_WAITS = "No offer is waiting for you."
    NOT_HELD = "You do not hold what this offer asks of you."
    NOT_HELD_TO_GIVE = "You do not hold all that you would give."
    NOT_HELD_AFTER = "You do not hold all that you would give after accepting."
    TOKEN = "Your message holds a token in square brackets, which would count as a move: write it without them."
    FAULTS = {
        "asked": "You do not hold what the waiting offer asks for.",
        "unreadable": "Your offer cannot be read.",
        "held": "You do not hold all that your offer gives.",
    }

    # What was said, and the end.

    ACCEPTED = "accepted: you gave {given} and got {got} ({gain} for you)"
    REFUSED = "refused the waiting offer"
    OFFERED = "offered: you give {given} and get {got} ({gain} for you)"
    TRADES = "Trades"
    TRADES_HEAD = {"turn": "Turn", "gave": "You gave", "got": "You got", "gain": "For you"}
    ENDED_BY_YOU = "One of your messages was against the rules, which ended the match."
    ENDED_BY_THEM = "A message of player {seat} was against the rules, which ended the match."
    NO_TRADE = "All turns were played, with no trade."
    TRADE_1 = "All turns were played, with 1 trade."
    TRADE_COUNT = "All turns were played, with {count} trades."
    PAYOFFS = {"1": "a win (+1)", "0": "a draw (0)", "-1": "a loss (\N{MINUS SIGN}1)"}

    REFUSALS = dict.fromkeys(("both_replies", "no_reply", "accept_holdings", "offer_format", "offer_holdings"), "")
    """Words for what is wrong with a reply, by the code of the fault; "": the words of the rules."""


WORDS = TradingTexts()
