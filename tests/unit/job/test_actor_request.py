from __future__ import annotations

import pytest
from fray import ActorOptions, Lifetime
from fray.job.actor_request import actor_options, name_taken, not_found


def test_keywords_become_options():
    assert actor_options(None, {}) == ActorOptions()
    assert actor_options(None, {"preemptible": True}) == ActorOptions()
    assert actor_options(
        None,
        {"name": "a", "get_if_exists": True, "lifetime": "detached", "preemptible": False, "num_cpus": 0},
    ) == ActorOptions(
        name="a", get_if_exists=True, lifetime=Lifetime.DETACHED, schedule_on_head=True, resources={"CPU": 0}
    )


def test_options_are_taken_as_they_are():
    options = ActorOptions(name="a")
    assert actor_options(options, {}) is options


@pytest.mark.parametrize(
    ("options", "keywords", "text"),
    [
        (ActorOptions(), {"name": "a", "num_cpus": 1}, "options and the keywords name, num_cpus are both given"),
        ({"name": "a"}, {}, r"options must be an ActorOptions\(...\), got dict"),
        (None, {"preemptible": 0}, "preemptible must be True or False, got 0"),
        (None, {"num_cpus": "two"}, "'CPU' must be a number"),
    ],
)
def test_wrong_requests_say_what_is_wrong(options, keywords, text):
    with pytest.raises(TypeError, match=text):
        actor_options(options, keywords)


def test_answers_to_names_give_a_way_on():
    assert "get_if_exists=True" in str(name_taken("a", "default"))
    named = [("default", "alpha"), ("other", "beta")]
    assert "did you mean 'alpha'?" in str(not_found("alpa", "default", named))
    assert "there is one in namespace 'other'" in str(not_found("beta", "default", named))
    assert str(not_found("zzz", "default", named)) == "no actor named 'zzz' lives in namespace 'default'"
