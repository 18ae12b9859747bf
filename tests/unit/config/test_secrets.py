"""The root credential: its bounds, and that no text ever holds it."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.config import ConfigErrors, Secret, load
from server_ng.config.render import default_file, effective

_HIDDEN = "correct-horse-battery"


def test_a_secret_is_shown_by_nothing_but_reveal() -> None:
    secret = Secret(_HIDDEN)
    assert secret.reveal() == _HIDDEN
    for text in (str(secret), repr(secret), f"{secret}", f"{secret!r}", "%s" % secret, repr([secret])):  # noqa: UP031
        assert _HIDDEN not in text
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)


def test_the_credential_is_kept_apart_from_everything_that_is_shown() -> None:
    environment = {"IGGY_ROOT_USERNAME": "iggy", "IGGY_ROOT_PASSWORD": _HIDDEN}
    loaded = load(None, environment, [])
    assert loaded.root is not None
    assert (loaded.root.username, loaded.root.password) == ("iggy", Secret(_HIDDEN))
    shown = repr(loaded) + repr(effective(loaded.settings, loaded.origins)) + default_file()
    assert _HIDDEN not in shown
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("username", "password", "guilty"),
    [
        ("", _HIDDEN, {"IGGY_ROOT_USERNAME"}),
        ("iggy", "", {"IGGY_ROOT_PASSWORD"}),
        ("ab", _HIDDEN, {"IGGY_ROOT_USERNAME"}),
        ("u" * 51, _HIDDEN, {"IGGY_ROOT_USERNAME"}),
        ("iggy", "pq", {"IGGY_ROOT_PASSWORD"}),
        ("iggy", "\u00e9" * 51, {"IGGY_ROOT_PASSWORD"}),
        ("ab", "pq", {"IGGY_ROOT_USERNAME", "IGGY_ROOT_PASSWORD"}),
        ("iggy", "\udcff\udcfe\udcfd", {"IGGY_ROOT_PASSWORD"}),
    ],
)
def test_a_credential_out_of_bounds_is_named_and_not_shown(
    username: str, password: str, guilty: set[str]
) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load(None, {"IGGY_ROOT_USERNAME": username, "IGGY_ROOT_PASSWORD": password}, [])
    assert {fault.key for fault in caught.value.faults} == guilty
    text = str(caught.value)
    assert not password or password not in text
    assert not username or username not in text.replace("IGGY_ROOT_USERNAME", "").replace("username", "")


def test_the_bounds_are_inclusive() -> None:
    for username, password in (("abc", "pqr"), ("u" * 50, "p" * 100)):
        loaded = load(None, {"IGGY_ROOT_USERNAME": username, "IGGY_ROOT_PASSWORD": password}, [])
        assert loaded.root is not None


@given(st.sampled_from(["IGGY_CLUSTER_AUTH_SHARED_SECRET", "IGGY_SYSTEM_ENCRYPTION_KEY", "IGGY_UNHEARD_OF"]))
def test_values_that_have_no_effect_are_not_shown(name: str) -> None:
    assert _HIDDEN not in repr(load(None, {name: _HIDDEN}, []).warnings)


def test_an_unknown_key_is_shown_without_its_value() -> None:
    with pytest.raises(ConfigErrors) as caught:
        load(None, {"SERVER_NG__ROOT__PASSWORD": _HIDDEN}, [f"root.password={_HIDDEN}", _HIDDEN])
    assert len(caught.value.faults) == 3
    assert _HIDDEN not in str(caught.value)
