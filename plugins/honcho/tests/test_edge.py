"""Every exception the SDK can raise is one of ours at the edge, with the right way to go on."""

import inspect

import honcho.http.exceptions as sdk
import httpx
import pydantic
import pytest
from hermes_memory_honcho.edge import NotThereError, error_from, translated

from hermes_memory_core.errors import (
    HermesMemoryError,
    ProviderAuthError,
    ProviderBadResponseError,
    ProviderError,
    ProviderRateLimitError,
    ProviderRejectedError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)

WANTED = {
    "HonchoError": ProviderUnavailableError,
    "APIError": ProviderRejectedError,
    "BadRequestError": ProviderRejectedError,
    "AuthenticationError": ProviderAuthError,
    "PermissionDeniedError": ProviderAuthError,
    "NotFoundError": NotThereError,
    "ConflictError": ProviderUnavailableError,
    "UnprocessableEntityError": ProviderRejectedError,
    "RateLimitError": ProviderRateLimitError,
    "ServerError": ProviderUnavailableError,
    "TimeoutError": ProviderTimeoutError,
    "ConnectionError": ProviderUnavailableError,
}


def every_class():
    return [
        one
        for _, one in inspect.getmembers(sdk, inspect.isclass)
        if issubclass(one, Exception) and one.__module__ == sdk.__name__
    ]


def test_the_table_names_every_class_of_the_sdk():
    assert {one.__name__ for one in every_class()} == set(WANTED)


@pytest.mark.parametrize("kind", every_class(), ids=lambda one: one.__name__)
def test_each_class(kind):
    made = kind("no", status=418) if kind is sdk.APIError else kind("no")
    with pytest.raises(ProviderError) as caught, translated("try"):
        raise made
    assert type(caught.value) is WANTED[kind.__name__]
    assert "try" in caught.value.message
    retryable = issubclass(WANTED[kind.__name__], ProviderRejectedError)
    assert caught.value.retryable is not retryable
    assert caught.value.__cause__ is made


@pytest.mark.parametrize("status", [400, 405, 413, 415, 422])
def test_what_will_never_be_taken_is_not_tried_again(status):
    error = error_from(sdk.create_error_from_response(status, "no"), "try")
    assert isinstance(error, ProviderRejectedError)
    assert not error.retryable


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504])
def test_what_may_work_later_is(status):
    assert error_from(sdk.create_error_from_response(status, "no"), "try").retryable


@pytest.mark.parametrize(
    ("given", "wait"),
    [(3600, 3600.0), (10**9, 3600.0), (2.5, 2.5), (-4, 0.0), (None, 30.0), (float("nan"), 30.0)],
)
def test_retry_after_is_passed_on_and_capped(given, wait):
    error = error_from(sdk.RateLimitError("slow", retry_after=given), "try")
    assert error.details["retry_after_s"] == wait


@pytest.mark.parametrize(
    "raised",
    [
        TypeError("'NoneType' object is not subscriptable"),
        KeyError("items"),
        AttributeError("get"),
        ValueError("Expecting value"),
    ],
)
def test_an_answer_of_a_strange_shape(raised):
    with pytest.raises(ProviderBadResponseError), translated("try"):
        raise raised


def test_pydantic_and_json_in_the_sdk():
    with pytest.raises(ProviderBadResponseError), translated("try"):
        pydantic.TypeAdapter(int).validate_python("x")
    wrapped = sdk.ConnectionError("Expecting value")
    wrapped.__cause__ = ValueError("Expecting value")
    assert isinstance(error_from(wrapped, "try"), ProviderBadResponseError)


def test_httpx_leaks_of_uploads():
    assert isinstance(error_from(httpx.ReadTimeout("slow"), "try"), ProviderTimeoutError)
    assert isinstance(error_from(httpx.ConnectError("no"), "try"), ProviderUnavailableError)


def test_fastapi_lists_are_readable():
    detail = [{"loc": ["body", "messages", 0, "content"], "msg": "too long", "input": "x" * 9000}]
    error = error_from(sdk.UnprocessableEntityError(detail, body={"detail": detail}), "store")
    assert "messages.0.content: too long" in error.message
    assert len(error.message) < 500


def test_our_own_errors_pass_through():
    mine = HermesMemoryError("mine")
    with pytest.raises(HermesMemoryError) as caught, translated("try"):
        raise mine
    assert caught.value is mine
