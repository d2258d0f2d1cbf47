"""Words and phrases of bargaining as people write them, which `reading = "fair"` goes by.

Whoever finds a sentence that is read wrong adds a word here and a test. The lists have the names of the specification.
"""

from __future__ import annotations

import re

from negolab.reading import LATER


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


COURTESY = _set(
    "ok okay well great good fine sure alright excellent perfect wonderful fantastic cool oh ah and so then now yeah "
    "yep absolutely definitely certainly gladly happily agreed done sold thanks please sir madam friend"
)
UNITS = _set("usd dollar dollars buck bucks")
THING = (
    "(?:it|(?:(?:the|this|that|your|ur|his|her|their|seller's|buyer's) )?"
    "(?:(?:last|latest|final|current|standing|new|recent|most|generous|fair|kind|revised|counter) )*"
    "(?:offer|price|proposal|counteroffer|counter-offer|bid|amount|terms|number|figure|one|deal)|this|that|your|the)"
)
_END = (
    "(?: (?:for (?:it|(?:the|this|your) (?:item|mug))|as (?:the|a|our) (?:final )?(?:price|deal)"
    "|of|at|for|on|as is|as it is|as it stands|as offered|as proposed|with pleasure|with|in full|today"
    "|right away))*+(?: (?:look forward|appreciate|(?:am|are) (?:glad|happy|pleased|delighted)).*)?$"
)
"""END; of "with thanks" only "with" is left beside the courtesies."""
DEAL = re.compile(
    "(?:(?:a )?deal|(?:let's )?call it a deal|(?:we|you) have (?:got )?a deal"
    "|(?:we've|you've) (?:got )?(?:yourself )?a deal|(?:it is|it's|that is|that's) a deal)"
    f"(?: (?:at|for|on)(?: {THING})?)?|deal (?:it is|accepted)"
    "|(?:i|we|i'll|we'll|i will|we will) (?:take|accept|agree to) (?:the|this|that|your) deal"
)
_SAID_OF = (
    "suppose supposing imagine pretend assume assuming say says said think thinks claim claims believe believes moment "
    "day time second minute that like will can do shall"
)
"""Words before `I accept` that only speak of it."""
_MODAL = "(?:will|can|do|shall|hereby|therefore)"
_SELF = "(?:i|we|i'll|we'll|i'm|we're|i'd|we'd|i've|we've)"
ANSWER = re.compile(
    rf"(?:^(?:{_MODAL} )++|(?<!\S)(?:i|we|i'll|we'll) (?:{_MODAL} )*+"
    rf"|(?:^|(?<!\S){_SELF} (?:(?!you|he |she |they)[\w'-]+ ){{0,6}}?)"
    r"(?:happy|glad|pleased|ready|willing|prepared|delighted|decided|going|like|love|agree|choose|chosen|opt) to )"
    rf"accept(?: {THING})?{_END}"
)
"""`I accept` and its like; not "nobody will accept", so that a modal stands behind one's own self or nothing."""
SPOKEN_OF = re.compile(rf"(?<!i )\b(?:{'|'.join(_SAID_OF.split())}) (?:i|we)\b.* accept\b")
COMMAND = re.compile(rf"accept(?: {THING})?{_END}")
_LABEL = r"(?:(?:my|our|the|final) )*(?:offer|counteroffer|counter-offer|price|response|action|answer|decision"
EASY = re.compile(
    rf"{_LABEL}|reply)(?: is)?|(?:i|we|my|our|it|this|that) (?:.* )?(?:profit|gains?|surplus|payoff|earns?)(?: .*)?"
    f"|to(?: {THING})?|(?:i'm|i am|we're|we are) (?:happy|fine|good|ok|okay) with (?:it|that|this)"
    "|(?:i|we) agree|i do|i will|i'll take (?:it|that)|(?:(?:that|it) )?works(?: (?:for )?(?:me|us))?"
    "|sounds (?:good|fair|great|fine)|let's do (?:it|this|that)|fair enough"
    "|(?:(?:(?:that|this|it) )?is |that's |this's |it's )?(?:a )?"
    "(?:(?:fair|good|great|fine|ok|okay|acceptable|reasonable)(?: (?:price|offer|deal))?|price|offer|deal)"
    "(?: (?:for|by|with) (?:me|us))?"
    "|(?:(?:it has been|it was|it is|it's|it's been) )?(?:a )?"
    "(?:thank you|thanks|nice|pleasure|great|good|looking forward)"
    r"(?! (?:\w+ )?(?:try|luck|joke|grief|question|point)\b)(?: .*)?"
)
LABEL = re.compile(rf"\W*{_LABEL})\b(?: is\b)?[\s:,=]*")
DECIDING = re.compile(r"\b(?:answer|decision)\b")
BARE = _set("i we my our your the this that offer price at of for is to pay dollars final")
REASON = re.compile(r"\W*(?:reason|reasoning|because|explanation|rationale|justification|analysis)\b")
TOLD = _set("profit gain earn earns surplus payoff value valuation cost worth budget midpoint")
ABOUT_STANDING = _set("too high low you your")
"""Beside NEGATION: in a clause with one of these, the standing price is only spoken of."""
ROUND = re.compile(
    r"((?:\b(?:round|turn|step)|#) ?)\d{1,4}(?: ?(?:of|/) ?\d{1,4})?(?![.,]?\d|\w)"
    r"|(?<![\w.,$-])\d{1,2}(?= (?:more |remaining )?(?:rounds|turns|steps)\b)"
)
THREE_DECIMALS = re.compile(r"\d\.\d{3}")
_GIVES = "gives|leaves|earns|giving|leaving|earning"
GIVES_ME = re.compile(
    rf"(?:,(?: which)?| (?:because|since|as) (?:it|this|that))(?: still)? (?=(?:{_GIVES}) (?:me|us)\b)"
)
_PROFIT = "(?:profit|gain|surplus|payoff|earns?)"
_NUMBER = r"[$€£]? ?(?<![\d.,])\d++(?:[.,]\d++)*+(?: ?(?:usd|dollars?|bucks?))?"
AS_PROFIT = re.compile(
    rf"(?:\b{_PROFIT}(?: (?:of|is|a|me))* |\b(?:{_GIVES}) (?:me|us) ){_NUMBER}"
    rf"|{_NUMBER}(?: (?:of|is|a|me))* {_PROFIT}\b"
)
HARMLESS = re.compile(
    r"\bafter (?:(?:careful|much|some|due|further|long) )*+(?:consideration|thought|deliberation|review)\b"
    r"|\bbest (?:regards|wishes)\b|\bwould (?=(?:like|love|be happy|be glad) to accept\b)"
)
"""What holds a word that takes back, and takes nothing back."""
VETO = _set(
    "false or nobody sadly unfortunately regrettably alas afraid condition conditions conditional subject included "
    "plus free shipping delivery off tomorrow dreams kidding joking psych"
)
"""Words that take an acceptance back beside those of the literal reading."""
PUT_OFF = re.compile(
    rf"{LATER.pattern}|^\W*(?:please )?(?:add|throw|sweeten|include|raise|send|put|promise|pay|bring|toss|increase"
    r"|double|change|swap|come|meet|knock|cut)\b"
)
"""In a sentence with an acceptance: it is for later, or for something that the other does first."""
ASKED = re.compile(r"\b(?:you|u|they|please) (?:(?!i\b)[\w'-]+ )?accept\b")
DENIED_BEHIND = re.compile(r"\b(?:accept|deal|yes)[\s:=]*(?:no|false)\b")
REJECTING = _set("reject no deal walk away")
PRICE_LIKE = re.compile("price|offer|counter|amount|bid")
"""Keys of an object that agrees, under which no price but the standing one may stand."""
PRICES = _set("price offer counteroffer counter_offer counter amount")
DECISIONS = _set("decision action answer response reply move")
