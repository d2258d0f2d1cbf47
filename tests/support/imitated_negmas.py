"""An imitation of NegMAS' process: an agent that draws its offers as it hears its match, and agents that fail."""

import json
import os
import random
import sys
import time
from pathlib import Path

log, version = sys.argv[1:3]
matches = {}


def say(**answer):
    print(json.dumps(answer), flush=True)


def offer(id, moves, seed, domain, **_):
    rng, heard = matches.pop(id, (None, None))
    if heard is None or heard != moves[: len(heard)]:
        rng, heard = random.Random(seed), []
    for _ in range(len(heard), len(moves) + 1):  # each seat's moves are thought about
        found = [rng.randrange(issue["size"]) for issue in domain["issues"]]
    matches[id] = rng, [*moves, found]
    return found


with Path(log).open("a") as file:
    print(os.getpid(), file=file)
say(versions={"negmas": version, "negmas-other": "1.2", "python": "3.13"})
for line in sys.stdin:
    question = json.loads(line)
    do, agent = question.pop("do"), question.pop("agent", "")
    for player in question.pop("gone"):
        matches.pop(player, None)
    if do != "move":
        say(agents=["Steady"]) if do == "list" else say(error="no such agent") if agent == "Unknown" else say()
    elif agent == "Steady":
        say(move=offer(**question))
    elif agent == "Taker":
        say(move="accept" if question["moves"] else offer(**question))
    elif agent == "Failing":
        say(error="KeyError: 'its own'")
    elif agent == "Dying":
        os._exit(3)
    elif agent == "Silent":
        time.sleep(60)
    elif agent == "Babbling":
        print("I think", flush=True)
    elif agent == "Breaking":
        print('{"move": [0', end="", flush=True)
        os._exit(0)
    else:
        say(move={"Astray": [99], "Agreeing": "accept", "Ending": "end", "Mute": None}[agent])
