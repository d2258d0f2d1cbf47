"""All that a participant's page says around a game: its pages, its buttons, and the reasons for what was not done.

Change or translate them here. `str.format` fills in the names in braces. A game's own words are in its rules and its
table; those of the page that a link opens are in `negolab_widgets.server`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from negolab.game import End
    from negolab.studies.study_config import Ending

# The pages of a study.

LOADING = "One moment, please."
CONSENT, AGREE, DECLINE = "Your consent", "I agree and take part", "I do not take part"
INSTRUCTIONS, START, BEGINS = "Instructions", "Start", "It begins as soon as you press Start."

QUESTIONS, SEND_ANSWERS = "Questions", "Send answers"
SOME_REQUIRED = "Please answer those that are required; the others may stay open."
REQUIRED, OPTIONAL = "{question} (required)", "{question} (optional)"
NO_CHOICE, NUMBER = "(please choose)", "a number"
ONE_WRONG, SEVERAL_WRONG = "One answer must be mended above.", "{count} answers must be mended above."
WRONG_ANSWERS = {
    "form": "Answer the questions.",
    "length": "at most {most} characters.",
    "missing": "please answer.",
    "choice": "choose one of the answers.",
    "number": "please write a number.",
}

PLEASE_WAIT, WAITING = "Please wait", "Waiting for another participant."
WAITING_HINT = "Keep this page open: it goes on by itself as soon as somebody comes."
WAITED, WAIT_OVER = "You have waited {gone} of at most {total}.", "The waiting time is over."

END, COMPLETION_CODE = "The end", "Your completion code"
COPY_CODE = {
    "button": "Copy",
    "label": "Copy the code",
    "copied": "Copied.",
    "failed": "Please select the code and copy it yourself.",
}
ENDINGS: dict[Ending, str] = {
    "complete": "Thank you. You have finished.",
    "timeout": "The study is over for you, because no answer came in time.",
    "partner": "The study is over: the other person has left or did not answer in time.",
    "unpaired": "Nobody came to play with you within the time we wait. Thank you for waiting.",
    "withdrawn": "You have left the study. What you wrote was deleted.",
    "declined": "You did not agree to take part. Nothing that you wrote was kept.",
    "ended": "The experimenter has ended the study for you.",
    "error": "The study had to be stopped because of a fault on our side. It was not your doing.",
}

LEAVE, LEAVE_YES, LEAVE_NO = "Leave the study", "Yes, leave the study", "No, go on"
LEAVE_QUESTION = (
    "Do you want to leave? What you wrote is then deleted, the study ends for you, and you cannot come back."
)

# Around the table of a match.

PRACTICE, CONTINUE = "Practice {round} of {rounds}", "Continue"
NEXT_STEP = "This match is over. The next step is behind this button:"
TIME_LEFT, TIME_UP = "{left} left", "Time is up."
TIME_LEFT_FOR = {
    "reply": "{left} left for your answer",
    "match": "{left} left for this match",
    "continue": "{left} left to go on",
}
YOU_ARE, YOUR_TURN, MATCH_OVER = "You are {role}.", "It is your turn.", "The match is over."
WAITING_FOR, THINKING = "Waiting for {role}.", "{model} is thinking."
RULES, RESULT = "Rules, as you were given them", "Your result: {payoff}."
MATCH_ENDS: dict[End, str] = {
    "AGREED": "It ended in agreement.",
    "NO_DEAL": "It ended without a deal.",
    "OUT_OF_TIME": "The turns ran out without a deal.",
    "FORFEIT": "It ended by a forfeit.",
    "ABORTED": "The match was stopped.",
}
OWN, NOT_ACCEPTED, MANAGER, TABLE = "you", "not accepted", "the manager", "the table"
RECORD_FAILED = "The record could not be written yet; it is tried again when you leave this match."

# Why something was not done.

FAULT = "Something went wrong on our side. Nothing that was kept is lost."
AWAY = "One moment, please: your place is kept. Nothing is lost, and this page goes on by itself."
NOT_NOW = "One moment, please: your place is kept. This was not sent: do it again when the page has gone on."
UNSURE = "The table cannot be reached just now, so this may not have arrived. When it is back, look what stands here."
ELSEWHERE = "This page was opened in another tab. It goes on there."
LEASE_TAKEN, NOT_FOUND = "This page was opened elsewhere.", "There is nothing here."
NOT_UNDERSTOOD, UNKNOWN_ACTION = "The request was not understood.", "There is nothing of that kind to do."
MOVED_ON, NOT_OVER = "The page has moved on since.", "The match is not over yet."
ALREADY_OVER = "The study is over for you already."
ALREADY_COMPLETE = "You have finished already: go on, and take your code."
NO_TEXT, NOT_YOUR_TURN = "A reply is a text.", "It is not your turn."
TABLE_CHANGED = "The table has changed since. Look again, then answer."
NOTHING_TO_SEND = "There is nothing to send yet: write a message or choose an option."
TOO_LONG = "Your message has {length} characters; {most} are the most."

LINK_NOT_VALID = "This link is not valid here: open it again exactly as you got it, or ask for a new one."
LINK_EXPIRED = "This link has expired: ask those who sent it for a new one."
LINK_UNKNOWN = "This link is not known here. Ask the person who sent it for a new one."
LINK_WITHOUT_ID = "This link must carry your id ({name}). Come by the link of the panel that invited you."
LINK_NOT_PERSONAL = "This page needs your personal link."
