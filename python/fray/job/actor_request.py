"""The checked arguments of `create_actor` and `get_actor`, and the errors about names of actors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fray.errors import ActorNotFoundError, NameTakenError
from fray.job.actor_options import ActorOptions, Lifetime
from fray.job.own_keywords import takes_keyword

__all__ = ["actor_options", "constructors_own", "name_taken", "not_found"]


def actor_options(options: ActorOptions | None, keywords: Mapping[str, Any]) -> ActorOptions:
    """Return the options of an actor, given as such or by the keywords of `create_actor` that are not None.

    Raises:
        TypeError: both are given, or a value of a wrong type.
    """
    if options is None:
        return _from_keywords(**keywords) if keywords else ActorOptions()
    if not isinstance(options, ActorOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"create_actor: options must be an ActorOptions(...), got {type(options).__name__}; "
            "give a parameter of the constructor that is called options by position"
        )
    if keywords:
        listed = ", ".join(keywords)
        raise TypeError(f"create_actor: options and the keywords {listed} are both given; put {listed} into options")
    return options


def constructors_own(
    cls: type[Any], args: tuple[Any, ...], keywords: Mapping[str, Any], has_options: bool
) -> dict[str, Any]:
    """Return the keywords that `create_actor` knows too, but that are meant for the constructor, which has them.

    Raises:
        TypeError: they could be meant for either, because `options` is not given.
    """
    theirs = {key: value for key, value in keywords.items() if takes_keyword(cls, key, len(args))}
    if theirs and not has_options:
        listed = ", ".join(theirs)
        example = ", ".join(f"{key}={value!r}" for key, value in theirs.items())
        raise TypeError(
            f"create_actor: {listed} could be meant for the actor or for the constructor of {cls.__qualname__}, which "
            f"has such a parameter too; for the actor write it into options=ActorOptions(...), for the constructor "
            f"write create_actor({cls.__name__}, ..., {example}, options=ActorOptions()) or give it by position"
        )
    return theirs


def _from_keywords(
    name: str | None = None,
    get_if_exists: bool = False,
    lifetime: Lifetime = Lifetime.JOB,
    preemptible: bool = True,
    num_cpus: float | None = None,
) -> ActorOptions:
    if not isinstance(preemptible, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"create_actor: preemptible must be True or False, got {preemptible!r}")
    return ActorOptions(
        name=name,
        get_if_exists=get_if_exists,
        lifetime=lifetime,
        resources={} if num_cpus is None else {"CPU": num_cpus},
        schedule_on_head=not preemptible,
    )


def name_taken(name: str, namespace: str) -> NameTakenError:
    """Return the error for a name that another actor has."""
    return NameTakenError(
        f"Actor {name} already exists in namespace {namespace!r}; "
        "give get_if_exists=True to get that one, kill it, or choose another name"
    )


def not_found(name: str, namespace: str, named: Iterable[tuple[str, str]]) -> ActorNotFoundError:
    """Return the error for a name that no actor has; `named` are (namespace, name) of the actors that exist."""
    import difflib

    everywhere = sorted(named)
    elsewhere = [space for space, other in everywhere if other == name]
    near = difflib.get_close_matches(name, [other for space, other in everywhere if space == namespace], n=3)
    if elsewhere:
        hint = f"; there is one in namespace {' and '.join(map(repr, elsewhere))}"
    elif near:
        hint = f"; did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = ""
    return ActorNotFoundError(f"no actor named {name!r} lives in namespace {namespace!r}{hint}")
