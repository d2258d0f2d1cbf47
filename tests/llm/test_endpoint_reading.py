"""Parsing of endpoint answers and user settings: completions, errors, Retry-After, addresses, keys, parameters."""

from __future__ import annotations

import base64
import json
import pickle
import re
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from negolab.ledger import LOST, Cost
from negolab.llm.endpoint.call import Call, Message, Usage
from negolab.llm.endpoint.compatibility import ParameterCompatibility, max_output_tokens
from negolab.llm.endpoint.completion import parse_completion
from negolab.llm.endpoint.errors import (
    AttemptFailed,
    BadResponse,
    GameFailed,
    Overloaded,
    RateLimited,
    RefusedParameter,
    RejectedAnswer,
    RequestRefused,
    RunFailed,
    Unreachable,
    raise_for,
    read_message,
    retry_after,
)
from negolab.llm.endpoint.keys import DEFAULT_URL, PLACEHOLDER, Key, base_url, read_key
from negolab.llm.endpoint.prices import Price, call_cost
from tests.support.service_cases import CASES, Case, Kind
from tests.support.services import error_response

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = {
    "choices": JSON
    | st.lists(st.fixed_dictionaries({"message": st.fixed_dictionaries({"content": JSON, "reasoning": JSON})})),
    "usage": JSON,
    "error": JSON,
    "model": JSON,
}


def body(content: Any = "hi", **more: Any) -> bytes:
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more}).encode()


@given(found=JSON | st.fixed_dictionaries({}, optional=FIELDS))
def test_whatever_comes_is_an_answer_or_a_trouble(found: Any) -> None:
    try:
        completion = parse_completion(msgspec.json.encode(found))
    except (AttemptFailed, GameFailed, RunFailed) as failed:
        assert str(failed)
    else:
        assert isinstance(completion.text, str)
        completion.text.encode()


@given(junk=st.binary(max_size=200))
def test_bytes_that_are_no_json_are_a_broken_answer(junk: bytes) -> None:
    with pytest.raises(AttemptFailed):
        parse_completion(b"\xff" + junk)


def test_json_deeper_than_any_reader_goes_is_a_broken_answer() -> None:
    for deep in (b"[" * 200_000, b'{"choices": ' + b"[" * 200_000):
        with pytest.raises(AttemptFailed):
            parse_completion(deep)
        with pytest.raises(Overloaded):
            raise_for(500, {}, deep, {})


def test_a_reason_to_stop_is_one_short_word_that_can_be_kept() -> None:
    for reason in ("\\ud800", "a\\u001b[2J", "x" * 5_000_000):
        sent = b'{"choices": [{"message": {"content": "5"}, "finish_reason": "%s"}]}' % reason.encode()
        finish = parse_completion(sent).finish
        assert len(finish.encode()) <= 50 and finish.isprintable()


@pytest.mark.parametrize("reason", [7, ["stop"], {"stop": True}, True, None, ""])
def test_a_reason_to_stop_that_is_no_word_loses_no_answer(reason: object) -> None:
    found = parse_completion(json.dumps({"choices": [{"message": {"content": "5"}, "finish_reason": reason}]}).encode())
    assert (found.text, found.finish) == ("5", "unknown")


def test_an_id_is_no_longer_than_an_id() -> None:
    found = parse_completion(body(id="x" * 5000, model="m" * 5000, system_fingerprint="f" * 5000))
    assert (found.request_id, found.model, found.fingerprint) == ("x" * 200, "m" * 200, "f" * 200)


@pytest.mark.parametrize("odd", [b"\xff", b"\\ud800"])
def test_what_is_no_character_loses_no_answer(odd: bytes) -> None:
    assert parse_completion(b'{"choices": [{"message": {"content": "a%sb"}}]}' % odd).text == "a\ufffdb"


def test_a_content_in_parts_is_put_together_and_its_thoughts_kept_apart() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    found = parse_completion(body([thought, {"type": "text", "text": "60"}, {"type": "text", "text": ".00"}]))
    assert (found.text, found.reasoning) == ("60.00", "Hm.")


@pytest.mark.parametrize("details", [5, [1], "x", {"upstream_inference_cost": "x"}])
def test_nonsense_beside_the_counts_is_no_cost_and_loses_no_answer(details: object) -> None:
    sent = body(usage={"prompt_tokens": 1, "cost": 0.5, "cost_details": details})
    assert parse_completion(sent).usage.cost == 0.5


def test_a_place_of_an_error_that_is_no_list_is_shown_as_it_is() -> None:
    assert read_message({"message": {"detail": [{"msg": "no", "loc": 5}, {"msg": "nor"}]}}) == "5: no; : nor"


def test_usage_is_read_where_it_is_and_unknown_where_not() -> None:
    usage = {
        "prompt_tokens": 12.0,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": None,
    }
    assert parse_completion(body(usage=usage)).usage == Usage(12, 5, 4, None)
    assert parse_completion(body(usage={"prompt_tokens": 9, "prompt_cache_hit_tokens": 3})).usage == Usage(
        9, None, 3, None
    )
    for output, details in ((5, {"reasoning_tokens": 100}), (5, None), (105, {"reasoning_tokens": 100})):
        counted = {"prompt_tokens": 30, "completion_tokens": output, "total_tokens": 135}
        counted["completion_tokens_details"] = details
        assert parse_completion(body(usage=counted)).usage.output == 105
    stated = {
        "prompt_tokens": 9,
        "completion_tokens": 1,
        "cost": 0.25,
        "prompt_tokens_details": {"cache_write_tokens": 3},
    }
    assert parse_completion(body(usage=stated)).usage == Usage(9, 1, written=3, cost=0.25)
    assert parse_completion(body(usage={"prompt_tokens": -1, "completion_tokens": True})).usage == Usage()
    assert parse_completion(body(usage={"prompt_tokens": 10_000_000, "completion_tokens": 2**52})).usage == Usage(
        10_000_000
    )


def test_a_sum_of_tokens_is_known_only_where_both_were_counted() -> None:
    assert (Usage(12, 5, 4, 3).total, Usage(0, 0).total) == (17, 0)
    assert (Usage(9, None).total, Usage(None, 9).total, Usage().total) == (None, None, None)


def test_an_error_inside_an_answer_is_that_error() -> None:
    with pytest.raises(RateLimited):
        parse_completion(b'{"error": {"code": 429, "message": "slow down"}}')
    with pytest.raises(RunFailed, match="no credit"):
        parse_completion(b'{"error": {"code": 402, "message": "Insufficient credits"}}')


@pytest.mark.parametrize("inside", [{"error": {"message": "boom"}}, {"object": "error", "message": "boom"}])
def test_an_error_inside_an_answer_is_no_advice_about_the_address(inside: dict[str, Any]) -> None:
    with pytest.raises(BadResponse, match=r"^the answer is an error: boom$"):
        parse_completion(json.dumps(inside).encode())


def test_a_model_that_an_answer_says_is_unknown_is_to_be_looked_at_and_not_the_address() -> None:
    with pytest.raises(RunFailed, match=r"^HTTP 404: no such model here: check the model's name$"):
        parse_completion(b'{"error": {"code": 404, "message": "no such model here"}}')


def test_a_reason_to_stop_that_is_not_known_is_named_once() -> None:
    told: list[str] = []
    model = ParameterCompatibility("small", told.append)
    for reason in ("because", "because", "tired"):
        model.note_reason(reason)
    line = "small ends answers for an unknown reason, {!r}: they are requested again"
    assert told == [line.format("because"), line.format("tired")]


def test_a_prompt_that_grows_and_counts_no_more_tokens_is_told_once() -> None:
    told: list[str] = []
    model = ParameterCompatibility("small", told.append)
    for size, tokens in ((3_000, 700), (6_000, 1_400), (9_000, 1_400), (12_000, 1_399)):
        messages = (Message("user", size * "x"),)
        model.note_prompt(Call(model="small", messages=messages, params={}, repetition=("m", "A", 0, 0)), tokens)
    assert told == [
        "small: a prompt grew by 3,000 characters and its service counts 1,400 tokens after 1,400: it silently cuts "
        "what does not fit its context"
    ]


# Errors.


@pytest.mark.parametrize("status", [500, 502, 503, 529, 408, 409])
def test_errors_of_the_server_are_tried_again(status: int) -> None:
    with pytest.raises(Overloaded, match=rf"^HTTP {status}: a web page \(bad gateway\)"):
        raise_for(status, {}, b"<html>\n\n bad\tgateway </html>", ())


@pytest.mark.parametrize("status", [301, 401, 402, 404, 405])
def test_errors_of_the_set_up_end_the_run_in_one_short_line(status: int) -> None:
    with pytest.raises(RunFailed) as failed:
        raise_for(status, {}, b"x\n" * 5000, ())
    assert "\n" not in str(failed.value)
    assert len(str(failed.value)) < 450


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (
            {"message": "Unsupported parameter: 'max_tokens' is not supported with this model.", "param": "max_tokens"},
            "max_tokens",
        ),
        (
            {"message": "Unsupported value: 'temperature' does not support 0.7.", "code": "unsupported_value"},
            "temperature",
        ),
        ({"message": "Unrecognized request argument supplied: 'seed'"}, "seed"),
    ],
)
def test_a_parameter_that_is_refused_is_named(error: dict[str, str], named: str) -> None:
    params = {"max_tokens": 5, "temperature": 0.7, "seed": 1}
    with pytest.raises(RefusedParameter) as refused:
        raise_for(400, {}, json.dumps({"error": error}).encode(), params)
    assert refused.value.parameter == named


GEMINI = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                    "violations": [{"quotaId": "GenerateRequestsPer{}PerProjectPerModel-FreeTier"}],
                },
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
            ],
        }
    }
]


def test_a_quota_of_a_minute_is_waited_for_and_one_of_a_day_ends_the_run_with_its_end() -> None:
    minute, day = (json.dumps(GEMINI).replace("{}", unit).encode() for unit in ("Minute", "Day"))
    with pytest.raises(RateLimited) as refused:
        raise_for(429, {}, minute, ())
    assert refused.value.retry_after == 34
    with pytest.raises(RunFailed, match=r"quota is used up; run again after 20\d\d-\d\d-\d\d 0[78]:00 UTC to resume$"):
        raise_for(429, {}, day, ())


MEANS: dict[Kind, tuple[type[Exception], ...]] = {
    Kind.GOOD: (RefusedParameter, RequestRefused),
    Kind.SETUP: (RunFailed, RefusedParameter, RequestRefused, BadResponse, Unreachable),
    Kind.STOPS: (RunFailed, RequestRefused, Overloaded),
    Kind.PASSING: (Overloaded, RateLimited),
    Kind.TOO_LONG: (RequestRefused, GameFailed),
    Kind.REJECTED: (RejectedAnswer,),
}
ERRORS = [case for case in CASES.values() if case.body is not None and case.status]


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.name)
def test_services_word_their_errors_differently(case: Case) -> None:
    response = error_response(case, 1.0)
    params = ("max_tokens", "response_format", "temperature", "top_k", "top_p")
    with pytest.raises(MEANS[case.kind]) as meant:
        if case.status == 200:
            parse_completion(response.body)  # type: ignore[arg-type]
        else:
            raise_for(case.status, response.headers, response.body, params)  # type: ignore[arg-type]
    if type(meant.value) is RunFailed:
        assert re.search(case.says, str(meant.value))


def test_a_context_that_is_too_long_fails_the_game_even_where_it_names_a_parameter() -> None:
    error = {"message": "Too long.", "param": "messages", "code": "context_length_exceeded"}
    with pytest.raises(GameFailed):
        raise_for(400, {}, json.dumps({"error": error}).encode(), {"messages": 1})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429])
def test_a_code_that_is_about_one_input_fails_one_game_whatever_the_status(status: int) -> None:
    with pytest.raises(GameFailed, match=f"^HTTP {status}: No.$"):
        raise_for(status, {}, b'{"error": {"message": "No.", "code": "content_filter"}}', ())


@pytest.mark.parametrize(
    ("status", "means"), [(400, GameFailed), (401, RunFailed), (403, GameFailed), (429, RateLimited), (500, Overloaded)]
)
def test_an_error_in_other_letters_means_what_its_status_means(status: int, means: type[Exception]) -> None:
    for said in (b'{"error": {"message": "Trop de requ\xeates"}}', b"Trop de requ\xeates"):
        with pytest.raises(means):
            raise_for(status, {}, said, ())


CODED = base64.b64encode(b"sk-canary-of-the-hostile-endpoint").decode()


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "No.", "debug": CODED[:20]}},
        {"error": {"message": {"debug": CODED[:20]}}},
        {"error": {"debug": CODED[:20]}},
        {"debug": CODED[:20]},
        [[CODED[:20]]],
        {"error": {"message": f"see {CODED}"}},
        f"see {CODED}",
    ],
)
def test_of_an_error_only_its_documented_fields_are_quoted_and_their_long_words_cut(error: Any) -> None:
    text = error.encode() if isinstance(error, str) else json.dumps(error).encode()
    with pytest.raises(RunFailed) as failed:
        raise_for(401, {}, text, ())
    assert CODED[:9] not in str(failed.value)
    inside = b'{"choices": [{"error": %s}]}' % text if isinstance(error, dict) else text
    for body in (text, inside):
        with pytest.raises(AttemptFailed) as attempt:
            parse_completion(body)
        assert CODED[:9] not in str(attempt.value)


@pytest.mark.parametrize("code", [lambda key: key[::-1], lambda key: " ".join((key[:9], key[9:20], key[20:]))])
def test_of_an_error_that_repeats_the_key_in_some_code_nothing_is_left(code: Callable[[str], str]) -> None:
    key = "sk-canary-of-the-hostile-endpoint"
    assert Key(key).redact_error(f"HTTP 401: No: {code(key)}.") == PLACEHOLDER
    assert Key(key[:24]).redact_error(f"No: {base64.b64encode(key[:24].encode()).decode()}.") == PLACEHOLDER


def test_what_a_gateway_charges_goes_before_the_price() -> None:
    price = Price(1.0, 1.0, 1.0)
    assert call_cost(None, Usage(990, 10)) == Cost(0, 990, 10, calls=1, unpriced=1)
    assert call_cost(price, Usage(990, 10)) == Cost(1000 * 10**6, 990, 10, calls=1)
    assert call_cost(price, Usage(990, 10, cost=0.5)) == Cost(5 * 10**11, 990, 10, calls=1)
    assert call_cost(price, Usage()) == LOST


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1m2.5s"}, 62.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.5s"}, 1.5),
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "1.5s"}, None),
        ({"retry-after": "Wed, 99 Foo 2020 99:99:99 GMT"}, None),
    ],
)
def test_a_wait_is_read_as_it_is_said(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_wait_may_be_a_date() -> None:
    assert retry_after({"retry-after": formatdate(time.time() + 100, usegmt=True)}) == pytest.approx(100, abs=3)
    assert retry_after({"retry-after": formatdate(time.time() - 100, usegmt=True)}) == 0.0


# Addresses and keys.


@pytest.mark.parametrize(
    "wrong",
    [
        "http://me:secret@host/v1",
        "https://secret@host/v1",
        "http://host/v1?api_key=secret",
        "http://host/v1#secret",
        "host:8080/v1",
        "ftp://host/v1",
        "http://host:99999/v1",
        "http:///v1",
        "http://host/v1,key=A_KEY",
        "http://host/v1 http://other/v1",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused_without_repeating_it(wrong: str) -> None:
    with pytest.raises(ValueError, match="base URL") as refused:
        base_url(wrong, {})
    assert "secret" not in str(refused.value)


def test_an_address_comes_from_the_caller_then_the_environment_then_the_package() -> None:
    both = {"NEGOLAB_BASE_URL": "http://a/v1/", "OPENAI_BASE_URL": "http://b/v1"}
    assert base_url("http://c/v1/", both) == "http://c/v1"
    assert base_url(None, both) == "http://a/v1"
    assert base_url(None, {"OPENAI_BASE_URL": "http://b/v1"}) == "http://b/v1"
    assert base_url(None, {}) == DEFAULT_URL


@pytest.mark.parametrize("given", ["", "  ", 5, b"http://a/v1", ["http://a/v1"]])
def test_an_address_that_was_given_and_is_empty_or_no_text_is_refused_in_one_line(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^a base URL must look like .*, not .*$"):
        base_url(given, {"OPENAI_BASE_URL": "http://b/v1"})


@given(chars=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=40), data=st.data())
def test_a_key_is_hidden_however_json_writes_it(chars: str, data: st.DataObject) -> None:
    assume("\\u" not in chars)  # of a key that itself looks like an escape, digits of the escape may stay

    def written(char: str) -> str:
        plain = json.dumps(char)[1:-1]
        ways = [plain, f"\\u{ord(char):04x}", f"\\u{ord(char):04X}", *(["\\/"] if char == "/" else [])]
        return data.draw(st.sampled_from(ways))

    sent = '{"said": "<' + "".join(map(written, chars)) + '>"}'
    assert json.loads(sent) == {"said": f"<{chars}>"}
    assert json.loads(Key(chars).redact_body(sent.encode())) == {"said": f"<{PLACEHOLDER}>"}


def test_what_only_looks_like_a_key_is_left_in_what_a_model_says() -> None:
    secret = Key("abcdef123456")
    assert secret.redact("sk-abcdefgh abcdef123456") == f"sk-abcdefgh {PLACEHOLDER}"
    assert secret.redact_body(b"sk-abcdefgh \\u0041") == b"sk-abcdefgh \\u0041"
    assert Key("none").redact_body(b"none") == b"none"


def test_a_key_is_found_by_the_name_of_its_variable() -> None:
    assert read_key(None, {"OPENAI_API_KEY": " abc "}).reveal() == "abc"
    assert read_key("MINE", {"MINE": "abc"}).reveal() == "abc"
    assert read_key(None, {}).reveal() == "none"
    with pytest.raises(ValueError, match="environment variable MINE is not set"):
        read_key("MINE", {})


def test_a_key_given_in_place_of_its_name_is_refused_without_repeating_it() -> None:
    with pytest.raises(ValueError, match="give the name") as refused:
        read_key("sk-secret-123", {})
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match="cannot be sent") as refused:
        read_key(None, {"OPENAI_API_KEY": "secret\nkey"})
    assert "secret" not in str(refused.value)


def test_a_key_does_not_show_itself_and_is_kept_nowhere() -> None:
    secret = Key("abcdef123456")
    assert f"{secret} {secret!r}" == f"{PLACEHOLDER} {PLACEHOLDER}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    said = "Incorrect key abcdef123456, or sk-proj-abcd****wxyz, or Bearer foo.bar"
    assert secret.redact_error(said) == f"Incorrect key {PLACEHOLDER}, or {PLACEHOLDER}, or {PLACEHOLDER}"


# Parameters.


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("gpt-4o", {"max_tokens": 5, "temperature": 0.7, "seed": 1}),
        ("o3-mini", {"max_completion_tokens": 5, "seed": 1}),
        ("openai/gpt-5-mini", {"max_completion_tokens": 5, "seed": 1}),
        ("gpt-5.1", {"max_completion_tokens": 5, "temperature": 0.7, "seed": 1}),
        ("phi-4", {"max_tokens": 5, "temperature": 0.7, "seed": 1}),
    ],
)
def test_models_get_the_parameters_that_they_take(model: str, sent: dict[str, Any]) -> None:
    params = {"max_tokens": 5, "temperature": 0.7, "seed": 1}
    call = Call(model=model, messages=(), params=params, repetition=())
    assert ParameterCompatibility(model, lambda line: None).translate(call) == sent


def test_a_translation_that_is_refused_is_taken_back_and_then_ends_the_run() -> None:
    compatibility = ParameterCompatibility("gpt-5-of-my-own", lambda line: None)
    call = Call(model="m", messages=(), params={"max_tokens": 5}, repetition=())
    assert compatibility.translate(call) == {"max_completion_tokens": 5}
    compatibility.learn(RefusedParameter("max_completion_tokens", "HTTP 400: unknown"), call)
    assert compatibility.translate(call) == {"max_tokens": 5}
    with pytest.raises(RunFailed):
        compatibility.learn(RefusedParameter("max_tokens", "HTTP 400: unknown"), call)


def test_only_a_model_that_reasons_gets_no_bound_and_as_much_as_its_service_demands() -> None:
    free = Call(model="m", messages=(), params={}, repetition=())
    assert ParameterCompatibility("phi-4", lambda line: None).translate(free) == {"max_tokens": 1000}
    reasons = ParameterCompatibility("grok-4.5", lambda line: None)
    assert reasons.translate(free) == {}
    reasons.learn(RefusedParameter("max_tokens", "HTTP 400: max_tokens: Field required"), free)
    assert reasons.translate(free) == {"max_tokens": 16_000}
    reasons.learn(RefusedParameter("max_tokens", "HTTP 400: supports at most 512 tokens"), free)
    assert reasons.translate(free) == {"max_tokens": 512}
    bound = Call(model="m", messages=(), params={"max_tokens": 900}, repetition=())
    with pytest.raises(RunFailed, match="does not accept max_tokens with this value: change"):
        reasons.learn(RefusedParameter("max_tokens", "HTTP 400: supports at most 512 tokens"), bound)


@pytest.mark.parametrize(
    ("params", "most"),
    [
        ({}, None),
        ({"max_tokens": 7}, 7),
        ({"max_tokens": 7, "n": 3}, 21),
        ({"max_completion_tokens": 9, "max_tokens": 7}, 9),
        ({"max_tokens": None}, None),
        ({"max_tokens": "7"}, None),
    ],
)
def test_the_bound_of_an_answer_is_read_from_its_parameters(params: dict[str, Any], most: int | None) -> None:
    assert max_output_tokens(params) == most
