"""The texts of the table of bargaining, which a study can say otherwise (`[texts.bargaining]`)."""

from negolab.texts import Texts


class BargainingTexts(Texts, group="bargaining"):
    """Texts of the table of bargaining; {away} is the other side."""

    THE = {"a": "the seller", "b": "the buyer"}
    ROLE = {"a": "seller", "b": "buyer"}
    YOU = "you"
    ROLE_YOU = "{role} (you)"

    # How far the match is, and the rules.

    ENDED = "Ended in round {round} of {rounds}"
    NO_OFFER_LEFT = "Round {rounds} of {rounds}, no offer left"
    AT = "Round {round} of {rounds}, {left} offers left for you"
    AT_1 = "Round {round} of {rounds}, 1 offer left for you"
    RULES = {
        "buy": "Buy the {item} cheaply: a deal pays you your value of {own} minus the price.",
        "keep": "Sell the {item} for more than the {own} it is worth to you: a deal pays you the price.",
        "sell": "Sell the {item} dearly: a deal pays you the price minus your cost of {own}.",
        "no_deal": "Without a deal you have {payoff}.",
        "kept": "Without a deal you have {payoff}, as you keep the {item}.",
        "with_seller": "You and the seller offer prices in turn, {rounds} in all: accept the one that stands, or offer "
        "another. The last one can only be accepted or rejected.",
        "with_buyer": "You and the buyer offer prices in turn, {rounds} in all: accept the one that stands, or offer "
        "another. The last one can only be accepted or rejected.",
        "walk_away": "You may walk away at any time; then there is no deal.",
        "discount": "Each round after the first multiplies what a deal pays you by {factor}.",
        "talk": "Only the price counts: what is said along with it binds nobody.",
    }

    # What the seat knows.

    YOUR = {"value": "Your value", "valuation": "Your valuation", "cost": "Your cost"}
    THEIR = {
        "value": "The buyer's value",
        "valuation": "The seller's valuation",
        "cost": "The seller's cost",
    }
    UNKNOWN = "not known to you"
    EXACTLY = "exactly {amount}"
    BETWEEN = "between {low} and {high}, not the exact number"
    CERTIFIED = "between {low} and {high}, certified by the game, not the exact number"
    OR = "{before} or {last}"
    ONE_OF = "one of {amounts}, not which"
    WITHOUT_A_DEAL = "Without a deal"
    KEPT = "{amount} for you, as you keep the {item}"
    PRICES = "Prices"
    PRICE_RANGE = "{low} to {high}"
    DISCOUNTING = "Each round after the first"
    DISCOUNTS = {
        "a": "multiplies your pay by {own}, the buyer's by {theirs}",
        "b": "multiplies your pay by {own}, the seller's by {theirs}",
    }

    # Offers.

    FOR_THE = {"a": "{amount} for the seller.", "b": "{amount} for the buyer."}
    SAME = "The same as without a deal."
    NO_DEAL_PAYS = "(without a deal {amount})"
    LESS = "{amount} less than without a deal."
    MORE = "{amount} more than without a deal."
    LAST_OFFER = {"a": "The seller's last offer was {amount}.", "b": "The buyer's last offer was {amount}."}
    YOU_OFFER = "You offer {amount}"
    BEFORE = "Their offer before was {amount}."
    OFFERS = {"a": "The seller offers {amount}", "b": "The buyer offers {amount}"}
    FINAL_OFFER = {
        "a": "The seller offers {amount} as the final offer",
        "b": "The buyer offers {amount} as the final offer",
    }
    YOU_OPEN = "You make the first offer"
    OPENS = {"a": "The seller makes the first offer", "b": "The buyer makes the first offer"}
    YOURS_WAITS = "Your offer of round {round} waits for an answer"
    OFFERS_IN = {"a": "The seller offers in round {round}", "b": "The buyer offers in round {round}"}
    FINAL_IN = {
        "a": "The seller offers in round {round}, the final offer",
        "b": "The buyer offers in round {round}, the final offer",
    }
    NONE_STANDS = "No offer stands yet."
    NONE_LEFT = "No counteroffer is left: accept it, or end without a deal."
    ALL_OFFERS = "All offers"
    NONE_MADE = "No offer was made yet."
    HEAD = {"round": "Round", "by": "Offer by", "price": "Price", "pays": "For you", "state": "State"}
    STATES = {"open": "stands", "accepted": "deal", "rejected": "rejected"}
    BY_FOR_YOU = "for you"
    FILLED = "Your answer could not be read, so {amount} was offered for you."
    FILLED_IN = "Round {round}: {what}"

    # The price to offer, and the answers.

    PRICE = "Price in dollars"
    STEPS = {
        "dollar_less": "one dollar less",
        "cent_less": "one cent less",
        "cent_more": "one cent more",
        "dollar_more": "one dollar more",
    }
    PRICE_HINT = "{low} to {high}"
    ENTER_ONE = "Enter one price from {low} to {high}."
    WRITE_POINT = "Write {price}, with a decimal point."
    ENTER = "Enter a price to see what a deal at it pays you."
    MESSAGE = "Your message (optional)"
    MESSAGE_HINT = "Goes along with your offer, at most {most} characters."
    MESSAGE_TOO_LONG = "Your message has {count} characters; {most} are the most."
    TYPE_ANSWER = "Or type your answer"
    SEND_ANSWER = "Send answer"
    COUNTEROFFER = "Counteroffer"
    YOUR_OFFER = "Your offer"
    YOUR_COUNTEROFFER = "Your counteroffer"
    LAST_CHANCE = "This is your last chance to make an offer."
    OFFER_A_PRICE = "Offer a price"
    OFFER = "Offer {amount}"
    ACCEPT = "Accept"
    ACCEPT_AT = "Accept {amount}"
    WALK_AWAY = "Walk away, no deal"
    REJECT = "Reject, no deal"
    END_WITHOUT = "End without a deal? You then have {amount}."
    NO_ROUND_LEFT = "No round is left for another offer."
    ONE_UNREADABLE = "One unreadable answer, and {then}."
    ONE_MORE_UNREADABLE = "One more unreadable answer, and {then}."

    # What was said, and the end.

    MESSAGES = "Messages"
    CLAIM = '"Just so you know, this {item} costs me roughly {low} to {high}."'
    BEFORE_ROUND_1 = "before round 1; the game does not check it"
    WITH_OFFER = "with the offer of round {round}"
    NO_DEAL = "No deal"
    YOU_HAVE = "{why} You have {amount}."
    DEAL_ON_YOURS = "Deal on your offer of round {round}"
    DEAL_ON = {"a": "Deal on the seller's offer of round {round}", "b": "Deal on the buyer's offer of round {round}"}
    REJECTED_FOR_YOU = "Your answer could not be read, so the last offer was rejected for you."
    FORFEITED = {
        "you": "You gave too many replies that could not be read.",
        "a": "The seller gave too many replies that could not be read.",
        "b": "The buyer gave too many replies that could not be read.",
    }
    REJECTED = {
        "you": "You rejected the last offer.",
        "a": "The seller rejected the last offer.",
        "b": "The buyer rejected the last offer.",
    }
    WALKED_AWAY = {"you": "You walked away.", "a": "The seller walked away.", "b": "The buyer walked away."}

    REFUSALS = dict.fromkeys(
        (
            *("too_long", "ambiguous_accept_and_number", "nothing_to_accept", "several_prices", "malformed_number"),
            *("out_of_range", "vetoed_acceptance", "echoed_price", "refused_price", "no_valid_input"),
        ),
        "",
    )
    """Words for what is wrong with a reply, by the code of the fault; "": the words of the rules."""


WORDS = BargainingTexts()
