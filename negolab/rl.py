"""Games as Gymnasium and PettingZoo environments, with the extra `rl`: `pip install 'negolab[rl]'`.

The agents in a match are its seats, "A" and "B". An observation is what the seat may know, as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

from typing_extensions import override

try:
    import gymnasium
    import numpy as np
    import pettingzoo
    from gymnasium.spaces import Box, Dict, Discrete, Space, Text
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"negolab.rl needs {error.name}: pip install 'negolab[rl]'", name=error.name) from None

from negolab import catalog
from negolab.analysis.measures import gains, surplus
from negolab.catalog import AnyGame
from negolab.game import SEATS, Invalid, Seat, other
from negolab.llm.output_modes import phrase
from negolab.match import Match
from negolab.players.lookup import PlayerSpec, resolve
from negolab.protocols import Player
from negolab.runs.driver import play_until_asked, seat_players, submit_reply

Actions = Literal["text", "choice"]
Reward = Literal["share", "payoff"]

LEARNER = "learner"
"""Name in records for a seat that an environment plays."""
MAX_PROMPT, MAX_REPLY = 100_000, 2_000
"""Largest number of characters in an observation and in an action in words."""


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be {' or '.join(map(repr, allowed))}, not {value!r}")


class _Words(Text):
    """Texts of any characters, because prompts contain some that no small character set has."""

    def __init__(self, length: int) -> None:
        super().__init__(length, min_length=0, charset="abcdefghijklmnopqrstuvwxyz 0123456789.$[]")

    @override
    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length


class _Prompt(str):
    """A text with the `dtype` that PettingZoo expects of every observation."""

    dtype = np.dtype(str)


class _Table:
    """One match at a time, with its seats' observations, actions and rewards."""

    match: Match

    def __init__(self, game: AnyGame | str, actions: Actions, reward: Reward, max_options: int) -> None:
        _check("actions", actions, get_args(Actions))
        _check("reward", reward, get_args(Reward))
        self.game = catalog.load(game)
        self.is_choice, self.reward, self.max_options = actions == "choice", reward, max_options
        words, mask = _Words(MAX_PROMPT), Box(0, 1, (max_options,), np.int8)
        self.observations: Space = Dict({"observation": words, "action_mask": mask}) if self.is_choice else words
        self.actions: Space = Discrete(max_options) if self.is_choice else _Words(MAX_REPLY)

    def deal(self, seed: int | None, players: dict[Seat, str]) -> None:
        self.match = Match(self.game, seed=seed, players=players)
        self._prompts = dict.fromkeys(SEATS, "")
        self._options: dict[Seat, tuple[Any, ...]] = {}
        if self.reward == "share" and self.game.max_joint_payoff(self.match.state) is None:
            raise ValueError(f"{catalog.game_id(self.game)} has no max_joint_payoff: choose reward='payoff'")

    def options(self, seat: Seat) -> tuple[Any, ...]:
        """Return the actions that a choice refers to; () for a seat that is not being asked."""
        if seat not in self._options:
            asked = self.match.asks(seat)
            found = self._options[seat] = self.match.told(seat).options(self.match.seen(seat)) if asked else ()
            if len(found) > self.max_options:
                raise ValueError(f"this position has {len(found):,} options: pass max_options={len(found)} or more")
        return self._options[seat]

    def observe(self, seat: Seat) -> Any:
        """Return the last prompt to a seat, with the refusal of its last reply, and the mask for its options."""
        asks, told, seen = self.match.pending(), self.match.told(seat), self.match.seen(seat)
        if seat in asks or self.match.ended:
            rejected = asks[seat].rejected[-1:] if seat in asks else ()
            refused = [phrase(told, "refused", reason=invalid.reason) for invalid in rejected]
            self._prompts[seat] = "\n\n".join([told.prompt(seen, None), *refused])
        prompt = _Prompt(self._prompts[seat])
        if not self.is_choice:
            return prompt
        mask = np.zeros(self.max_options, np.int8)
        mask[: max(1, len(self.options(seat)))] = 1  # some action can always be drawn
        return {"observation": prompt, "action_mask": mask}

    def info(self, seat: Seat) -> dict[str, Any]:
        """Return what the seat sees as data, the words of its options, and how the match ended."""
        found: dict[str, Any] = {"seen": self.match.seen(seat)}
        if self.is_choice:
            found["options"] = list(map(self.match.told(seat).say, self.options(seat)))
        if self.match.ended:
            found["end"] = self.match.ended.end
        return found

    def submit(self, seat: Seat, action: Any) -> None:
        if self.is_choice:
            options = self.options(seat)
            reason = f"There is no option {action}: there are {len(options)}."
            action = options[action] if action < len(options) else Invalid(("no_option",), reason, "rule")
        submit_reply(self.match, seat, action)
        self._options = {}

    def rewards(self) -> dict[Seat, float]:
        """Return 0 until the end; then the payoffs, or the gains over no deal as shares of the possible surplus."""
        if self.ends != (True, False):
            return dict.fromkeys(SEATS, 0.0)
        record = self.match.record()
        if self.reward == "payoff":
            return {seat: float(record.payoffs[seat] or 0) for seat in SEATS}
        own, (_, possible) = gains(record), surplus(record)
        return {seat: (own[seat] or 0) / possible if possible else 0.0 for seat in SEATS}

    @property
    def ends(self) -> tuple[bool, bool]:
        """Pair of terminated (by the rules) and truncated (stopped, as after too many rejected replies)."""
        ended = self.match.ended
        is_aborted = ended is not None and ended.end == "ABORTED"
        return ended is not None and not is_aborted, is_aborted


class NegotiationEnv(gymnasium.Env):
    """One seat against a player, for Gymnasium.

    The reward comes at the end. Observations are texts, together with the mask for the options if `actions="choice"`;
    `info["seen"]` is the same as data, and `info["options"]` holds the options in words. A match that was stopped is
    truncated. `match` is the current match, and `match.record()` its record.

    Args:
        game: A game, or the name of one.
        opponent: The player in the other seat, as for `nl.play`.
        seat: The agent's seat, "A" or "B".
        actions: "text": replies in the game's words; "choice": positions in the game's `options`.
        reward: "share": gain over no deal as a share of the possible surplus, 0 without a deal, negative for a loss;
            "payoff": the payoff in the game's unit.
        max_options: Size of the space of choices; more options raise `ValueError`.

    Raises:
        ValueError: The game, the player or an argument does not exist, or they do not go together.

    Example:
        >>> env = NegotiationEnv("bargaining", opponent="linear", actions="choice")
        >>> _, info = env.reset(seed=1)
        >>> info["options"][11]
        '55.00'
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        game: AnyGame | str = "bargaining",
        *,
        opponent: PlayerSpec,
        seat: Seat = "A",
        actions: Actions = "text",
        reward: Reward = "share",
        max_options: int = 512,
    ) -> None:
        _check("seat", seat, SEATS)
        self._table = _Table(game, actions, reward, max_options)
        self._opponent = resolve(opponent, self._table.game)
        self._opponent.check_seat(other(seat))
        self._players: dict[Seat, Player] = {}
        self.seat = seat
        self.observation_space, self.action_space = self._table.observations, self._table.actions

    @property
    def match(self) -> Match:
        """The current match."""
        return self._table.match

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Deal a match, with the seed as for `nl.Match`; without one, the seed follows from the last."""
        super().reset(seed=seed)
        name = self._opponent.name
        deal = int(self.np_random.integers(2**48)) if seed is None else seed
        self._table.deal(deal, {self.seat: LEARNER, other(self.seat): name})
        self._players = seat_players(self.match, people=(self.seat,), factories={name: self._opponent})
        return self._view()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Submit a reply and let the opponent play until the agent is asked again."""
        self._table.submit(self.seat, action)
        seen, info = self._view()
        return seen, self._table.rewards()[self.seat], *self._table.ends, info

    def _view(self) -> tuple[Any, dict[str, Any]]:
        play_until_asked(self.match, self._players)
        return self._table.observe(self.seat), self._table.info(self.seat)


class _Seats:
    """Both seats as PettingZoo agents; arguments and rewards are as in `NegotiationEnv`."""

    def __init__(
        self,
        game: AnyGame | str = "bargaining",
        *,
        actions: Actions = "text",
        reward: Reward = "share",
        max_options: int = 512,
    ) -> None:
        super().__init__()
        self._table = _Table(game, actions, reward, max_options)
        self.possible_agents = list(SEATS)
        self.agents: list[Seat] = []

    @property
    def match(self) -> Match:
        """The current match."""
        return self._table.match

    def observation_space(self, agent: Seat) -> Space:
        """Return the space of what an agent observes."""
        return self._table.observations

    def action_space(self, agent: Seat) -> Space:
        """Return the space of an agent's actions."""
        return self._table.actions

    def _deal(self, seed: int | None) -> None:
        self.agents = list(SEATS)
        self._table.deal(seed, dict.fromkeys(SEATS, LEARNER))

    def _ends(self) -> Iterator[dict[Seat, bool]]:
        return (dict.fromkeys(SEATS, ended) for ended in self._table.ends)


class NegotiationAEC(_Seats, pettingzoo.AECEnv):
    """Both seats of a match, one after the other, for PettingZoo; arguments and rewards are as in `NegotiationEnv`."""

    metadata = {"name": "negolab_v0", "render_modes": [], "is_parallelizable": False}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a match."""
        self._deal(seed)
        self._cumulative_rewards = dict.fromkeys(SEATS, 0.0)
        self._tell()

    def observe(self, agent: Seat) -> Any:
        """Return what an agent was last asked."""
        return self._table.observe(agent)

    def step(self, action: Any) -> None:
        """Submit the selected agent's reply."""
        agent: Seat = self.agent_selection
        if self.match.ended:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._table.submit(agent, action)
        self._tell()
        self._accumulate_rewards()

    def _tell(self) -> None:
        self.agent_selection = next(iter(self.match.pending()), self.agents[0])
        self.rewards = self._table.rewards()
        self.terminations, self.truncations = self._ends()
        self.infos = {seat: self._table.info(seat) for seat in SEATS}


class NegotiationParallel(_Seats, pettingzoo.ParallelEnv):
    """Both seats of a match at the same time, for PettingZoo; arguments and rewards are as in `NegotiationEnv`.

    Both act in each step. The action of a seat that is not asked (`infos[seat]["asked"]`) has no effect.
    """

    metadata = {"name": "negolab_parallel_v0", "render_modes": []}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Deal a match and return what both observe."""
        self._deal(seed)
        return self._view()

    def step(self, actions: dict[Seat, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Submit the replies of the seats that are asked."""
        for seat in self.match.pending():
            if seat in actions and self.match.asks(seat):
                self._table.submit(seat, actions[seat])
        seen, infos = self._view()
        if self.match.ended:
            self.agents = []
        return seen, self._table.rewards(), *self._ends(), infos

    def _view(self) -> tuple[Any, Any]:
        infos = {seat: {**self._table.info(seat), "asked": self.match.asks(seat)} for seat in SEATS}
        return {seat: self._table.observe(seat) for seat in SEATS}, infos
