"""``hermes memory identity``: which accounts belong to one person, where memory is kept per user.

Edits ``memory.identity.links`` through ``config/edit.py``. Linking also brings along what the accounts have
already said: their notes move, their conversations change hands.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Group
from hermes_memory_core.cli.state import State
from hermes_memory_core.engine.attach import info_from
from hermes_memory_core.engine.scopes import account_of
from hermes_memory_core.errors import HermesMemoryError, UsageError
from hermes_memory_core.types import PROFILE_SCOPE, Origin, Scope, SessionInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_memory_core.memory import Memory
    from hermes_memory_core.types import HistoryStore, SessionRecord, Target

KEY = "memory.identity.links"
ME = "me"
_TARGETS: tuple[Target, ...] = ("memory", "user")


@click.group("identity", cls=Group, default="list")
def identity() -> None:
    """Say which accounts are one person, where memory is kept per user. Alone it lists them.

    hermes memory identity link mei telegram:111 discord:222
    hermes memory identity just-me
    """


@identity.command("list")
@click.pass_obj
def list_links(state: State) -> None:
    """List linked people, and the accounts that have spoken here and are linked to nobody."""
    with state.open() as memory:
        links = _links(memory)
        seen = accounts_seen(memory.history)
        isolation = memory.settings.get("memory.isolation")
    linked = {account for accounts in links.values() for account in accounts}
    data = {
        "isolation": isolation,
        "links": links,
        "unlinked": [
            {"account": account, "sessions": count}
            for account, count in seen.most_common()
            if account not in linked
        ],
    }
    state.result("memory-identity", data, lambda: _shown(data, seen))
    if isolation != "user" and (links or len(seen) > 1):
        state.say(f"Links take effect with memory.isolation: user; here it is {isolation}.")
        state.hint("hermes config set memory.isolation user")


def _shown(data: Mapping[str, Any], seen: Counter[str]) -> str:
    rows = [
        [person, account, output.count(seen[account], "session")]
        for person, accounts in data["links"].items()
        for account in accounts
    ]
    rows += [
        ["–", one["account"], output.count(one["sessions"], "session")] for one in data["unlinked"]
    ]
    return output.table(("Person", "Account", "Seen"), rows) if rows else "Nobody has spoken here."


@identity.command("link")
@click.argument("person")
@click.argument("accounts", nargs=-1, required=True, metavar="ACCOUNT…")
@click.pass_obj
def link(state: State, person: str, accounts: tuple[str, ...]) -> None:
    """Make each ACCOUNT one of PERSON's, and bring along what it has said so far.

    An account is SOURCE:ID, or a bare source (`cli`) for sessions that carry no user id.

    hermes memory identity link mei telegram:111 discord:222 cli
    """
    _link(state, person, accounts)


@identity.command("just-me")
@click.option("--person", default=ME, show_default=True, help="What to call you.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def just_me(state: State, person: str, yes: bool) -> None:
    """Make every account that has spoken here, and the command line, yours."""
    with state.open() as memory:
        taken = {
            one for name, accounts in _links(memory).items() if name != person for one in accounts
        }
        wanted = [one for one in ("cli", *accounts_seen(memory.history)) if one not in taken]
    accounts = tuple(dict.fromkeys(wanted))
    if not yes:
        state.say(
            "\n".join(["These accounts become one person:", *(f"  {one}" for one in accounts)])
        )
        if not state.confirm("Are they all you?", yes=False):
            state.say("Nothing was changed.")
            raise click.exceptions.Exit(exits.FAILED)
    _link(state, person, accounts)


@identity.command("unlink")
@click.argument("names", nargs=-1, required=True, metavar="PERSON|ACCOUNT…")
@click.pass_obj
def unlink(state: State, names: tuple[str, ...]) -> None:
    """Take accounts away from their person, or a PERSON with all accounts.

    What was said while they were linked stays with the person.
    """
    with state.open() as memory:
        links = _links(memory)
    gone: list[str] = []
    for name in names:
        if name in links:
            gone += links.pop(name)
            continue
        holder = next((person for person, accounts in links.items() if name in accounts), None)
        if holder is None:
            raise UsageError(
                f"{name!r} is neither a linked person nor a linked account; nothing was changed.",
                hint="hermes memory identity list",
            )
        links[holder] = [one for one in links[holder] if one != name]
        gone.append(name)
    kept = {person: accounts for person, accounts in links.items() if accounts}
    _save(state, kept)
    state.result(
        "memory-identity-unlink",
        {"links": kept, "unlinked": gone},
        lambda: f"Unlinked {', '.join(gone)}.",
    )


# ---------------------------------------------------------------- linking


@dataclass
class Brought:
    """What came along with linked accounts."""

    sessions: int = 0
    notes: int = 0
    left: int = 0
    """Notes that stay under their old account."""
    why: str = ""


def _link(state: State, person: str, accounts: Sequence[str]) -> None:
    _check_names(person, accounts)
    with state.open() as memory:
        links = _links(memory)
    for account in accounts:
        holder = next((name for name, held in links.items() if account in held), person)
        if holder != person:
            raise UsageError(
                f"{account} is linked to `{holder}`; nothing was changed.",
                hint=f"hermes memory identity unlink {account}",
            )
    links[person] = list(dict.fromkeys([*links.get(person, ()), *accounts]))
    _save(state, links)
    with state.open() as memory:
        brought = bring_along(memory, person, accounts)
    data = {
        "links": links,
        "sessions": brought.sessions,
        "notes": brought.notes,
        "left": brought.left,
    }
    state.result("memory-identity-link", data, lambda: _linked(person, links[person], brought))
    if brought.left:
        state.say(
            f"{output.count(brought.left, 'note')} stayed with the old account: {brought.why}"
        )


def _linked(person: str, accounts: Sequence[str], brought: Brought) -> str:
    text = f"{person}: {', '.join(accounts)}"
    if brought.sessions or brought.notes:
        text += (
            f"\nBrought along: {output.count(brought.sessions, 'session')}, "
            f"{output.count(brought.notes, 'note')}."
        )
    return text


def _check_names(person: str, accounts: Sequence[str]) -> None:
    for name in (person, *accounts):
        if not name.strip() or not name.isprintable() or name != name.strip() or "," in name:
            raise UsageError(f"{name!r} cannot be the name of a person or an account.")
    if ":" in person or "." in person:
        raise UsageError(
            f"{person!r} looks like an account or a setting; a person has a plain name.",
            hint=f"hermes memory identity link {ME} {person}",
        )


def bring_along(memory: Memory, person: str, accounts: Sequence[str]) -> Brought:
    """Give the person what the accounts kept for themselves before they were linked."""
    brought = Brought()
    if memory.settings.get("memory.isolation") != "user":
        return brought
    scope = Scope("user", person)
    for account in accounts:
        if ":" in account and memory.notes is not None:
            _bring_notes(memory, Scope("user", account), scope, brought)
        if memory.history is not None:
            _bring_sessions(memory.history, account, scope, memory.profile.name, brought)
    return brought


def _bring_notes(memory: Memory, old: Scope, new: Scope, brought: Brought) -> None:
    notes = memory.notes
    assert notes is not None  # noqa: S101 - the caller looked
    origin = Origin(who="person", why=f"{old.id} was linked to {new.id}")
    for target in _TARGETS:
        for note in notes.list(target, scope=old):
            try:
                notes.add(target, note.text, scope=new, origin=origin)
                notes.remove(target, note.text, scope=old, origin=origin)
            except HermesMemoryError as error:  # full, or refused by the scan: it stays where it is
                brought.left += 1
                brought.why = error.message
            else:
                brought.notes += 1


def _bring_sessions(
    history: HistoryStore, account: str, scope: Scope, profile: str, brought: Brought
) -> None:
    for record in _sessions(history):
        if account_of(record.source, record.user_id) == account and record.scope_key != scope.key:
            history.open_session(_handed_over(record, scope, profile), reason="import")  # type: ignore[arg-type] # an ended one stays ended
            brought.sessions += 1


def _handed_over(record: SessionRecord, scope: Scope, profile: str) -> SessionInfo:
    return replace(info_from(record, profile, scope), title=None)  # it has its title already


# ---------------------------------------------------------------- who there is


def accounts_seen(history: HistoryStore | None) -> Counter[str]:
    """Accounts with a user id that have spoken here, with their number of conversations."""
    if history is None:
        return Counter()
    return Counter(account_of(one.source, one.user_id) for one in _sessions(history) if one.user_id)


def _sessions(history: HistoryStore) -> list[SessionRecord]:
    """Every session, older parts of compressed conversations included."""
    every = getattr(history, "all_ids", None)  # beyond the Protocol
    if not callable(every):
        return history.sessions(limit=-1, include_archived=True, scope=PROFILE_SCOPE)
    found = (history.session(one) for one in every())
    return [record for record in found if record is not None]


def _links(memory: Memory) -> dict[str, list[str]]:
    links: Mapping[str, Sequence[str]] = memory.settings.get(KEY) or {}
    return {person: list(accounts) for person, accounts in links.items()}


def _save(state: State, links: Mapping[str, Sequence[str]]) -> None:
    from hermes_memory_core.config.edit import set_value, unset_value

    if links:
        set_value(state.profile_dir(), KEY, {person: list(held) for person, held in links.items()})
    else:
        unset_value(state.profile_dir(), KEY)
