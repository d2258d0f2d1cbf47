"""A hostile visitor at a running study: nothing hidden comes out, nothing illegal goes in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import websockets
from markupsafe import escape

from negolab.events import Replied
from negolab.record import final_state, states
from negolab.studies import links
from tests.support import attacks, unguarded_gate
from tests.support.hostile_visitor import CANARY, Site, Visitor, Wire, participant_id, serving_site
from tests.support.markup_injection import INJECTIONS

pytestmark = pytest.mark.visitor

HEAD = """
title = "A small study"
instructions = "Read this, then press Start."
consent = "Do you agree?"
closing = "That was all."
seed = 918273645
[codes]
complete = "DONE4242"
"""
SELLERS = {
    "range": ("wombat", "time:beta=0.2187,kappa=0.0391"),
    "none": ("quokka", "anchored:opening=5800,margin=437,top=6113"),
    "unsourced": ("numbat", "time:beta=0.3271,kappa=0.0413"),
}
VALUES = "buyer_values = [6173], seller_costs = [3719]"
PRICES = f'game = "bargaining"\n{HEAD}' + "".join(
    f'[[treatments]]\nname = "cell-{word}"\npreset = "{preset}"\nopponent = "{seller}"\nseat = "B"\n'
    f'params = {{ {VALUES}, treatment = "label-{word}" }}\n'
    for preset, (word, seller) in SELLERS.items()
)
GOODS = (
    "base_values = [45071, 52133, 63019, 74113, 85271], value_clamp = [30000, 99900], holdings_range = [21111, 29999]"
)
PAIRS = f'game = "trading"\n{HEAD}[[treatments]]\nname = "cell-bilby"\npreset = "tolerant"\nparams = {{ {GOODS} }}\n'

SPLIT = (
    f'game = "split"\n{HEAD}[[treatments]]\nname = "cell-bilby"\n'
    'params = { low = 30001, high = 99999, rounds = 2, source = "uniform" }\n'
)
IMPORTANCE = "A = { lamp = 30011, rope = 40013, tent = 50021 }, B = { lamp = 60037, rope = 70039, tent = 80051 }"
BALLOON = (
    f'game = "balloon"\n{HEAD}[[treatments]]\nname = "cell-bilby"\n'
    "[treatments.params.instance]\nlimit = 5\neffort = { lamp = 1, rope = 2, tent = 3 }\n"
    f"importance = {{ {IMPORTANCE} }}\n"
)

BREATH = 0.5
"""Seconds: a press sooner than that would be the second of a double click."""

Attack = Callable[[Visitor, Wire], Coroutine[Any, Any, bool]]


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Bargaining with a seller whose cost is hidden."""
    with serving_site(tmp_path_factory.mktemp("prices"), PRICES) as site:
        yield site


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Trading between two people."""
    with serving_site(tmp_path_factory.mktemp("pairs"), PAIRS) as site:
        yield site


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server without the websocket guard; two people play balloon."""
    with serving_site(tmp_path_factory.mktemp("unguarded"), BALLOON, gate_module=unguarded_gate.__name__) as site:
        yield site


def visiting(attack: Callable[[Visitor, Site], Coroutine[Any, Any, None]]) -> Callable[[Site], None]:
    """Make a test of an attack by a visitor with a link of their own, who sits at their first table."""

    def test(prices: Site) -> None:
        asyncio.run(visit(prices))

    async def visit(site: Site) -> None:
        visitor = Visitor(site.link())
        await visitor.begin()
        try:
            await attack(visitor, site)
            assert visitor.holds(*unseen(site, visitor)) == []
        finally:
            await visitor.close()

    return test


def unseen(site: Site, visitor: Visitor) -> set[str]:
    """Secrets that a visitor may never receive in any game."""
    telling = {f"{kind}-{word}" for kind in ("cell", "label") for word, _ in SELLERS.values()} | {"bilby"}
    telling |= {setting for _, seller in SELLERS.values() for setting in seller.replace(":", ",").split(",")} - {"time"}
    telling |= {number for _, seller in SELLERS.values() for number in (s.partition("=")[2] for s in seller.split(","))}
    telling |= {"boulware", "visited.toml", "negolab.studies.server"}
    # What a seller opens with is its first offer, which everybody sees.
    return site.secrets() | site.others(visitor.link) | site.seeds(visitor.link) | telling - {"", "5800"}


# Nothing hidden comes out.


def test_a_buyer_never_receives_what_the_seller_pays_nor_who_sells(prices: Site) -> None:
    async def buy() -> None:
        buyers = [Visitor(prices.link()) for _ in SELLERS]
        await asyncio.gather(*map(bargain, buyers))
        met = {prices.matches(buyer.link)[0][1].header.preset for buyer in buyers}
        assert met == set(SELLERS), "each cell was played"

    async def bargain(buyer: Visitor) -> None:
        await buyer.begin()
        await buyer.click("Show: all messages word for word")
        for price in ("20.00", "25.00", "30.00"):
            await looked_through(prices, buyer, "3719", "37.19")
            await buyer.fill(buyer.named("Any", "Price"), value=price)
            await buyer.click(f"Offer ${price}")
            await buyer.until(partial(shows, buyer, f"You offered ${price}"))
        await looked_through(prices, buyer, "3719", "37.19")
        await buyer.click("Continue")
        assert await buyer.until(buyer.code) == "DONE4242"
        await looked_through(prices, buyer, "3719", "37.19")
        await buyer.close()
        await use_again(buyer)

    async def use_again(before: Visitor) -> None:
        """Check that the used link shows the code and starts nothing."""
        played = prices.events(before.link)
        after = Visitor(before.link)
        await after.join()
        await after.enter()
        assert await after.until(after.code) == "DONE4242"
        for label in ("Start", "I agree"):
            assert after.find("Button", label) is None
        await looked_through(prices, after, "3719", "37.19")
        await after.close()
        assert prices.events(before.link) == played and len(prices.matches(before.link)) == 1

    asyncio.run(buy())


async def looked_through(site: Site, visitor: Visitor, *more: str) -> None:
    """Request everything that a visitor can request, and check that it holds no secret."""
    await visitor.dump()
    for path in ("nowhere", "waiting", f"alive/{visitor.kernel}", f"api/kernels/{visitor.kernel}", "join/forged"):
        await visitor.ask(path)
    assert visitor.holds(*unseen(site, visitor), *more, since=visitor.read) == []
    visitor.read = len(visitor.received)
    await asyncio.sleep(BREATH)


def test_a_trader_never_receives_the_goods_of_the_other(pairs: Site) -> None:
    async def trade() -> None:
        async with both(pairs) as (first, second):
            for words in (
                "[Offer: 2 Wheat -> 1 Ore]",
                "No. [Deny]",
                "Again? [Offer: 1 Wheat -> 1 Ore]",
                "Yes. [Accept]",
            ):
                await say(await visitor_on_turn(first, second), words)
                for one in (first, second):
                    await looked_through(pairs, one, *others_numbers(pairs, one))

    asyncio.run(trade())


@asynccontextmanager
async def both(site: Site) -> AsyncIterator[tuple[Visitor, Visitor]]:
    """Seat two people at one match."""
    first, second = Visitor(site.link()), Visitor(site.link())
    try:
        await asyncio.gather(first.begin(), second.begin())
        for one in (first, second):
            await one.until(partial(one.ids, "Textarea"))
        yield first, second
        for one in (first, second):
            assert one.holds(*unseen(site, one)) == []
    finally:
        await first.close()
        await second.close()


async def visitor_on_turn(*players: Visitor) -> Visitor:
    await players[0].until(lambda: sum(turn(one) for one in players) == 1)
    return next(one for one in players if turn(one))


def turn(one: Visitor) -> bool:
    return 'class="nl-turn"' in one.text()


def shows(one: Visitor, *words: str) -> bool:
    return all(word in one.text() for word in words)


async def say(one: Visitor, words: str) -> None:
    """Type a reply, expanding the box if needed, and send it; wait until it was taken and its talk is shown."""
    talk = escape(re.sub(r"\[.*?\]", "", words).strip())  # a table says tokens in words of its own
    await one.fill(one.named("Textarea", "Your reply"), value=words)
    await one.press(one.named("Button", "Send reply"))
    await one.until(lambda: talk in one.text() and not turn(one))


def others_numbers(site: Site, visitor: Visitor) -> set[str]:
    """The numbers of three or more digits that only the other seat has seen."""
    ((sat, record),) = site.matches(visitor.link)
    own = next(seat for seat, id in sat.people.items() if id == participant_id(visitor.link))
    numbers: dict[bool, set[str]] = {True: set(), False: set()}
    for state in states(record):
        for seat, private in state.private.items():
            numbers[seat == own] |= set(re.findall(r"\b\d{3,}\b", repr(private)))
    found = numbers[False] - numbers[True]
    assert found, "there is something to hide"
    return found


def test_what_is_worth_what_to_the_other_stays_hidden_in_split_and_balloon(unguarded: Site, tmp_path: Path) -> None:
    async def sit(site: Site) -> None:
        async with both(site) as players:
            for one in players:
                await looked_through(site, one, *others_numbers(site, one))

    asyncio.run(sit(unguarded))
    with serving_site(tmp_path, SPLIT) as site:
        asyncio.run(sit(site))


# Nothing illegal goes in.


@visiting
async def test_no_request_but_those_of_widgets_is_answered(visitor: Visitor, prices: Site) -> None:
    wire, before = visitor.wires[0], prices.rows()
    sent = []
    for kind, content in attacks.REQUESTS:
        for channel in attacks.CHANNELS:
            sent.append(await wire.send(kind, content, channel))
            sent.append(await wire.send(kind, content, channel, subshell_id="x"))
    assert await wire.answered()
    replies = [m["msg_type"] for m in wire.messages if m["parent_header"].get("msg_id") in sent]
    assert replies == []
    assert wire.kinds() <= SENT
    assert visitor.holds("pwned") == []
    assert await visitor.alive() == "here" and prices.rows() == before


SENT = {"comm_open", "comm_msg", "comm_close", "comm_info_reply", "kernel_info_reply", "status"}
"""All that a kernel of ours ever sends to a page that is there."""

GUARDED: tuple[Attack, ...] = (
    attacks.make_a_widget,
    attacks.take_a_widget_away,
    attacks.provoke_a_traceback,
    attacks.end_a_kernel_by_a_message,
)


@pytest.mark.parametrize("attack", GUARDED, ids=lambda attack: attack.__name__)
def test_only_without_the_guard_the_attack_works(prices: Site, unguarded: Site, attack: Attack) -> None:
    async def visit(site: Site) -> bool:
        visitor = Visitor(site.link())
        try:
            await visitor.join()
            await visitor.enter()
            await visitor.dump()
            return await attack(visitor, visitor.wires[0])
        finally:
            await visitor.close()

    before = prices.events()
    assert not asyncio.run(visit(prices)) and prices.events() == before
    assert asyncio.run(visit(unguarded))


@visiting
async def test_malformed_and_huge_frames_harm_nobody(visitor: Visitor, prices: Site) -> None:
    before = prices.rows()
    await attacks.malform(visitor)
    assert await visitor.wires[0].answered() and await visitor.wires[1].answered()
    assert prices.rows() == before


@visiting
async def test_comms_that_are_none_of_ours_do_nothing(visitor: Visitor, prices: Site) -> None:
    before, kinds = prices.rows(), visitor.wires[0].kinds()
    for wire in visitor.wires:
        names: list[Any] = ["jupyter.widget", "jupyter.widget.version", "os.system", "", None, 5]
        for target in (*names, [], {}, ["jupyter.widget.control"]):
            await wire.send("comm_open", {"comm_id": "f00d", "target_name": target, "data": {"method": "x"}})
        strange: list[Any] = [None, 5, [], {}, {"method": None}, {"method": "custom"}, {"method": "request_state"}]
        ids: list[Any] = ["nowhere", "", None, [], {}, next(iter(visitor.models))]
        for data, id in product(strange, ids):
            await wire.send("comm_msg", {"comm_id": id, "data": data})
        assert await wire.answered()
    assert prices.rows() == before and visitor.wires[0].kinds() - kinds <= SENT
    assert "Traceback" not in prices.log()


@visiting
async def test_rewritten_widgets_make_no_move_and_a_reload_brings_the_page_back(visitor: Visitor, prices: Site) -> None:
    before = prices.events(visitor.link)
    descriptions = {id: str(visitor.models[id]["description"]) for id in visitor.ids("Button")}
    await attacks.rewrite_everything(visitor, visitor.wires[0])
    for id in descriptions:
        if not re.match("Accept|Send|Walk|Reject|Leave|Yes|Offer", descriptions[id]):  # those would be moves
            await attacks.press(visitor.wires[0], id)
    assert await visitor.wires[0].answered(30)
    assert prices.events(visitor.link) == before
    assert visitor.holds(*unseen(prices, visitor)) == []
    await visitor.ask(f"voila/api/shutdown/{visitor.kernel}", "POST")
    await visitor.back()
    await visitor.until(lambda: turn(visitor))
    assert attacks.FOREIGN not in str(visitor.models)
    policy = (await visitor.ask("")).headers["content-security-policy"]
    assert "script-src 'self'" in policy and "http" not in policy, "no page loads what comes from elsewhere"


@visiting
async def test_a_flood_of_messages_ends_its_own_websocket(visitor: Visitor, prices: Site) -> None:
    before = prices.rows()
    with suppress(websockets.ConnectionClosed):
        for _ in range(5000):
            await attacks.overwrite(visitor.wires[0], "nowhere", value=1)
    socket = visitor.wires[0].socket
    await asyncio.wait_for(socket.wait_closed(), 60)
    assert socket.close_code == 1008
    assert prices.rows() == before
    again = Wire(await visitor.opened(), visitor.received)
    assert await again.answered(), "what is left of the budget grows again"
    await again.close()


@visiting
async def test_the_older_protocol_is_not_offered(visitor: Visitor, prices: Site) -> None:
    for protocol in (None, "other"):
        with pytest.raises(websockets.InvalidStatus) as refused:
            await visitor.opened(protocol)
        assert refused.value.response.status_code == 400


def test_who_is_not_on_turn_can_press_everything_and_say_nothing(pairs: Site) -> None:
    async def attack() -> None:
        async with both(pairs) as players:
            await visitor_on_turn(*players)
            (waiting,) = (one for one in players if not turn(one))
            before = pairs.rows()
            for wire in waiting.wires:
                for id in waiting.ids("Textarea") + waiting.fields():
                    await attacks.overwrite(wire, id, value="[Offer: 1 Wheat -> 1 Ore]", disabled=False)
                for id in waiting.ids("Button"):
                    await attacks.overwrite(wire, id, disabled=False)
                    if waiting.models[id]["description"] != "Leave the study":
                        await attacks.press(wire, id)
                assert await wire.answered()
            assert pairs.rows() == before

    asyncio.run(attack())


@visiting
async def test_ten_presses_at_once_on_two_sockets_are_one_move(visitor: Visitor, prices: Site) -> None:
    await visitor.fill(visitor.named("Any", "Price"), value="20.00")
    offer = await visitor.until(lambda: visitor.find("Button", "Offer $20.00"))
    for _ in range(5):
        await asyncio.gather(*(attacks.press(wire, offer) for wire in visitor.wires))
    assert await visitor.wires[0].answered()
    assert words(prices, visitor) == ["20.00"]


def words(site: Site, visitor: Visitor) -> list[str]:
    """The visitor's stored replies, each legal or rejected."""
    ((sat, record),) = site.matches(visitor.link)
    own = next(seat for seat, id in sat.people.items() if id == participant_id(visitor.link))
    return [event.reply.text for event in record.events if isinstance(event, Replied) and event.seat == own]


@visiting
async def test_a_price_that_is_none_is_no_offer_however_it_is_sent(visitor: Visitor, prices: Site) -> None:
    field, box = visitor.named("Any", "Price"), visitor.named("Textarea", "Or type")
    offer, send = visitor.named("Button", "Offer"), visitor.named("Button", "Send answer")
    before = offers(prices, visitor)
    typed = ("-1", "100.01", "NaN", "Infinity", "1e400", "9" * 400, "\u0661", "", "0x10")
    for price in (*typed, -1, 10001, float("nan"), float("inf"), None, [5000]):
        await visitor.fill(field, value=price)
        await visitor.press(offer)
        if isinstance(price, str):
            await visitor.fill(box, value=price)
            await visitor.press(send)
    await visitor.fill(box, value="x" * 100_001)
    await visitor.press(send)
    assert await visitor.wires[0].answered()
    assert offers(prices, visitor) == before
    assert await visitor.until(lambda: "100001 characters" in visitor.text()), "it says why"


def offers(site: Site, visitor: Visitor) -> Any:
    """The standing offers, and True if the match is over."""
    ((_, record),) = site.matches(visitor.link)
    public = final_state(record).public
    return public.offers, public.status


def test_markup_and_script_in_every_field_stay_text_on_every_page(pairs: Site) -> None:
    async def attack() -> None:
        async with both(pairs) as players:
            for trick in INJECTIONS[:6]:
                one = await visitor_on_turn(*players)
                for id in one.fields() + one.ids("Textarea"):
                    await one.fill(id, value=trick)
                await say(one, trick)
                await asyncio.sleep(BREATH)
            for one in players:
                await one.until(partial(shows, one, *map(escape, INJECTIONS[:6])))
                assert [found for model in one.models.values() for found in shown_live(model)] == []
            with pairs.host("admin.sock") as desk:
                monitor = desk.get("/monitor").text
            assert "cell-bilby" in monitor and not any(trick in monitor for trick in INJECTIONS)

    asyncio.run(attack())


def shown_live(model: dict[str, Any]) -> list[str]:
    """Active markup in a widget's HTML, apart from the page's own style."""
    value = str(model.get("value")) if model.get("_model_name") in ("HTMLModel", "HTMLMathModel") else ""
    return [] if value.startswith("<style") else attacks.live(value)


# At the front door.


@visiting
async def test_a_page_can_neither_restart_nor_interrupt_its_kernel(visitor: Visitor, prices: Site) -> None:
    for method, action in product(("GET", "POST", "PUT", "DELETE"), ("restart", "interrupt")):
        answer = await visitor.ask(f"api/kernels/{visitor.kernel}/{action}", method)
        assert answer.status_code in (403, 404, 405)
    assert await visitor.wires[0].answered()


@visiting
async def test_templates_and_themes_cannot_be_chosen(visitor: Visitor, prices: Site) -> None:
    names = ("voila-template=lab", "voila-theme=dark", "template=lab", "theme=dark")
    while "<title>One moment, please" in (page := await visitor.ask("?" + "&".join(names))).text:
        await asyncio.sleep(0.5)
    assert "nl-lost" in page.text and 'data-jp-theme-light="false"' not in page.text


@visiting
async def test_a_kernel_in_hostile_hands_learns_no_more_than_its_seat(visitor: Visitor, prices: Site) -> None:
    before = prices.rows()
    with prices.host("seats.sock") as client:
        for path in ("admit", "join", "bind", "arrive", "now", "act", "monitor", "end", "play", "nowhere"):
            if path == "arrive":
                continue  # waits for somebody to come
            for body in (b"", b"{", b"[]", b"null", b"\xff" * 99, b'{"token": [], "lease": {}, "act": 5}'):
                answer = client.post(f"/{path}", content=body)
                assert answer.status_code in (400, 403, 404, 405, 409), (path, body)
                visitor.received.append(answer.text)
        for lease in ("", "x", visitor.kernel, f"{visitor.kernel}.x", "' or 1=1 --"):
            answer = client.post("/act", json={"lease": lease, "act": {"kind": "leave"}})
            assert answer.status_code in (403, 409)
            visitor.received.append(answer.text)
    assert prices.rows() == before


def test_the_log_names_nobody(prices: Site, pairs: Site) -> None:
    for site in (prices, pairs):
        with site.database() as database:
            kept, people = database.kept("visited"), database.participants("visited")
        assert kept is not None and people
        known = {(who.lease or "-").partition(".")[part] for who in people for part in (0, 2) if who.lease}
        known |= {links.make_token(kept.secret, "visited", who.id, created=who.created) for who in people}
        log = site.log()
        assert not [word for word in known | {who.id for who in people} | {kept.secret, CANARY} if word in log]
