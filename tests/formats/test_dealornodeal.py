"""Dialogues of Deal or No Deal as records: laws over invented ones, then the validation file, where it is there."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import people
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import negolab as nl
from negolab.analysis import tables
from negolab.events import Ended, Replied
from negolab.formats.dealornodeal import LineError, scan_corpus
from negolab.formats.dealornodeal_records import PUBLISHED, WORDS, figures, read_file, to_record
from negolab.games.split import Proposal, corpus_scenarios
from negolab.record import Record, final_state, parse_record
from negolab.verification import replay_differences
from tests.conftest import ROOT, missing
from tests.support.dialogues import A, B, context, payoffs, read_corpus, small_corpus, tagged

VALIDATION = ROOT.parent / "shared" / "corpora" / "dealornodeal" / "val.txt"


def record_of(*lines: str) -> Record:
    (dialogue,) = read_corpus(lines)
    return to_record(dialogue, "invented.txt")


def corpus_file(folder: Path, lines: list[str] | None = None) -> Path:
    """A file with the small corpus, or with these lines."""
    file = folder / "small.txt"
    file.write_text("\n".join(small_corpus() if lines is None else lines) + "\n", "utf-8")
    return file


def imported(folder: Path) -> list[Record]:
    found = read_file(corpus_file(folder))
    return [to_record(one, "small.txt") for one in found.dialogues if one["views"] == 2]


# Laws.

# The corpus marks its own words by angle brackets, such as <selection>.
WORDS_OF_PEOPLE = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="<"), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_dialogue_replays_and_pays_what_the_file_says(data: Any) -> None:
    counts, a, b = data.draw(st.sampled_from(corpus_scenarios()))
    talk = data.draw(st.lists(st.lists(WORDS_OF_PEOPLE, min_size=1, max_size=4).map(" ".join), max_size=25))
    talk = [words for words in talk if "<selection>" not in words.lower()]
    keep = data.draw(st.one_of(st.tuples(*(st.integers(0, n) for n in counts)), st.sampled_from([*WORDS.values()])))
    first = data.draw(st.sampled_from(["YOU", "THEM"]))
    (dialogue,) = read_corpus(tagged(talk, keep, first=first, counts=counts, a=a, b=b))
    record = parse_record(to_record(dialogue, "x.txt").to_line())
    assert replay_differences(record) == []
    assert record.payoffs == dialogue["points"]
    said = [(sent.seat, sent.text) for sent in final_state(record).public.messages[:-1]]
    assert said == [(seat, words) for seat, words in dialogue["turns"]]
    assert (record.end == "AGREED") == (dialogue["end"] == "agreed") and record.end in ("AGREED", "ABORTED")


@pytest.mark.parametrize("word", WORDS.values())
def test_where_the_file_holds_no_agreement_nobody_proposes(word: str) -> None:
    record = record_of(*tagged(keep=word))
    assert (record.end, record.payoffs) == ("ABORTED", {"A": 0, "B": 0})
    assert record.header.notes["end"] == word
    last = record.events[-1]
    assert isinstance(last, Ended) and last.reason == word
    *talk, closing = (event.reply.text for event in record.events if isinstance(event, Replied))
    assert len(talk) == 3 and closing == "<selection>"
    assert final_state(record).public.phase == "split"


# Examples.


def test_an_agreement_is_played_as_it_was() -> None:
    record = record_of(*tagged(first="THEM"))
    assert (record.id, record.header.preset, record.header.seed) == ("invented-00001", "lewis-2017", None)
    assert record.header.players == {"A": "person", "B": "person"}
    assert record.header.notes == {"source": "dealornodeal", "file": "invented.txt", "line": 1, "views": 2}
    said = [(event.seat, event.reply.text) for event in record.events if isinstance(event, Replied)]
    assert said[0] == ("B", "i want the hats") and said[3] == ("A", "<selection>")
    assert said[4:] == [
        ("A", "<items_to_self>0 books, 3 hats, 0 balls</items_to_self>"),
        ("B", "<items_to_self>1 books, 0 hats, 2 balls</items_to_self>"),
    ]
    assert payoffs(record) == (9, 10)


def test_words_that_a_message_cannot_hold_are_no_dialogue() -> None:
    long = record_of(*tagged(["x < y", "a" * 500, *["ok"] * 30]))
    assert final_state(long).public.messages[0].text == "x < y"
    assert (long.header.params["talk_limit"], long.header.params["max_chars"]) == (33, 500)
    for words in ("say <selection> now", "<think> hm", "a </message> b"):
        with pytest.raises(ValueError, match="cannot be sent as a message"):
            record_of(*tagged(["hi", words]))


def test_people_who_do_not_speak_in_turns_are_refused() -> None:
    mine, theirs = tagged()
    with pytest.raises(ValueError, match="did not alternate"):
        record_of(mine.replace("THEM: then", "YOU: then"), theirs.replace("YOU: then", "THEM: then"))


def test_what_two_chose_who_disagree_is_kept_and_not_played() -> None:
    line = "{} YOU: hi <eos> THEM: <selection> item0=1 item1=3 item2=0 <eos> reward={} disagree {}"
    mine = line.format(context((1, 3, 2), A), 10, context((1, 3, 2), B))
    theirs = line.format(context((1, 3, 2), B), 4, context((1, 3, 2), A))
    theirs = theirs.replace("YOU", "x").replace("THEM", "YOU").replace("x:", "THEM:")
    record = record_of(mine, theirs)
    both = {"books": 1, "hats": 3, "balls": 0}
    assert record.header.notes["selections"] == {"A": both, "B": both}
    assert record.end == "ABORTED" and not any("items_to_self" in str(event) for event in record.events)


def test_figures_count_every_dialogue(tmp_path: Path) -> None:
    found = figures(imported(tmp_path))
    assert (found.dialogues, found.agreed, found.agreement) == (5, 2, 0.4)
    # 9 and 10 points, 4 and 6 points (a hat more for A would cost B nothing), and three times nothing.
    assert found.score == pytest.approx((9 + 10 + 4 + 6) / 10) and found.pareto == 0.5
    assert figures([]) == (0, 0, None, None, None)


def test_lines_that_are_no_dialogue_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    found = read_file(corpus_file(tmp_path))
    assert [str(error).partition(":")[0] for error in found.errors] == ["line 12"] and found.single == (11,)
    assert [one["line"] for one in found.dialogues] == [1, 3, 5, 7, 9, 11]


def test_a_mirrored_line_that_contradicts_the_first_is_told_and_the_first_is_a_single_view() -> None:
    mine, theirs = tagged()
    found = list(scan_corpus([mine, theirs.replace("item0=1 item1=0", "item0=0 item1=0"), *tagged(("bye",))]))
    errors = [one for one in found if isinstance(one, LineError)]
    assert [str(error).partition(":")[0] for error in errors] == ["line 2"]
    assert [one["views"] for one in found if not isinstance(one, LineError)] == [1, 2]


def test_bytes_that_are_no_text_are_a_line_without_a_dialogue(tmp_path: Path) -> None:
    file = tmp_path / "broken.txt"
    good = "\n".join(tagged()).encode()
    bad = "\n".join(tagged(("bye",))).encode().replace(b"bye", b"b\xff\xfee", 1)
    file.write_bytes(bad + b"\n" + good)
    found = read_file(file)
    assert [str(error) for error in found.errors] == ["line 1: not UTF-8"]
    assert [one["views"] for one in found.dialogues] == [1, 2]


@pytest.mark.parametrize(
    ("lines", "said"),
    [([], "it is empty"), (["hello"], "line 1: neither"), (["1 1 3 3 2 0", "1 4 3 0 2 3"], "only contexts")],
)
def test_a_file_without_dialogues_is_refused_in_one_line(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_file(corpus_file(tmp_path, lines))


# The experiment.


def test_people_stand_beside_players_on_the_same_contexts(tmp_path: Path) -> None:
    dialogues = imported(tmp_path)
    starts = people.starts(dialogues, 0, 1)
    assert len(starts) == 1, "all have one context"
    with nl.Store(tmp_path / "run") as store:
        for record in (*dialogues, *people.play("concede", starts, 1)):
            store.append(record)
    frame = people.outcomes(tmp_path / "run")
    assert list(frame["player"]) == ["people"] * 5 + ["concede"]
    assert frame["draw"].nunique() == 1 and frame["agreed"].sum() == 3
    assert list(frame["end"][:5]) == ["AGREED", "AGREED", "<disagree>", "<no_agreement>", "<disconnect>"]
    found = people.estimated(frame).set_index(["name", "measure"])
    assert found.loc[("people", people.PARETO.name), "value"] == 50
    assert found.loc[("people", people.PARETO.name), "n"] == 2
    (row,) = people.beside_people(frame).itertuples()
    assert (row.one, row.two, row.n) == ("people", "concede", 1)


def test_published_figures_stand_beside_recomputed_ones_or_a_gap(tmp_path: Path) -> None:
    frame = people.published(imported(tmp_path)).set_index("figure")
    assert frame.loc["agreement (%)", "difference"] == pytest.approx(40 - 100 * (PUBLISHED.agreement or 0))
    assert frame.loc["mean score", "n"] == 10
    shown = people.published_table(people.published([]))
    assert set(shown["recomputed"]) == {"no dialogues"} and set(shown["difference"]) == {""}


def test_a_folder_that_holds_no_dialogues_is_named(tmp_path: Path) -> None:
    assert people.imported("") == []
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere: give its whole path"):
        people.imported(str(tmp_path / "nowhere"))
    with nl.Store(tmp_path / "other") as store:
        store.append(nl.Match(nl.load("trading"), seed=1).record())
    with pytest.raises(ValueError, match="holds no dialogues"):
        people.imported(str(tmp_path / "other"))


def test_a_run_is_put_beside_people_only_on_their_contexts(tmp_path: Path) -> None:
    dialogues = imported(tmp_path)
    game = people.with_contexts(people.starts(dialogues, 0, 1))
    with nl.Store(tmp_path / "run") as store:
        for record in (*nl.batch(game, "equal", "equal", n=3), *nl.batch("trading", "chat", "chat", n=1)):
            store.append(record)
    same, count = people.on_same_contexts(str(tmp_path / "run"), dialogues)
    assert (len(same), count) == (3, 4)


# The validation file.


@pytest.fixture(scope="module")
def validation() -> list[Record]:
    if not VALIDATION.is_file():
        missing(f"there is no {VALIDATION}")
    found = read_file(VALIDATION)
    assert (len(found.dialogues), len(found.single), found.errors) == (562, 37, ())
    return [to_record(one, "val.txt") for one in found.dialogues if one["views"] == 2]


def test_the_figures_of_the_validation_file(validation: list[Record]) -> None:
    found = figures(validation)
    assert (found.dialogues, found.agreed) == (525, 422)
    assert found.score == pytest.approx(6.018, abs=5e-4) and found.pareto == pytest.approx(0.8128, abs=5e-5)


def test_every_dialogue_of_the_validation_file_replays(validation: list[Record]) -> None:
    assert [text for record in validation for text in replay_differences(record)] == []
    assert {record.header.preset for record in validation} == {"lewis-2017"}
    assert len({record.id for record in validation}) == len(validation)


def test_the_validation_file_as_tables(validation: list[Record]) -> None:
    sample = random.Random(1).sample(validation, 40)
    frame, measured = tables.matches(sample), tables.measures(sample)
    aborted = frame["end"] == "ABORTED"
    assert set(frame.loc[aborted, "reason"]) <= set(WORDS.values())
    assert (frame.loc[aborted, ["payoff_a", "payoff_b"]] == 0).all().all()
    assert measured["agreement_rate"].notna().sum() == (~aborted).sum()


def test_the_people_of_the_validation_file_proposed_what_they_agreed_on(validation: list[Record]) -> None:
    for record in validation[:50]:
        filed = [event for event in record.events if isinstance(event, Replied)][-2:]
        read = [record.game.parse(event.reply.text, nl.observe(_before(record), event.seat)) for event in filed]
        assert all(isinstance(one, Proposal) for one in read) == (record.end == "AGREED")


def _before(record: Record) -> Any:
    """The state in which both proposals were due, or the last one."""
    return next(state for state in nl.states(record) if state.public.phase in ("split", "over"))
