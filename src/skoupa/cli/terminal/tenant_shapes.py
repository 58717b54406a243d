"""What is told of Tenants by commands that are about something else: which are being deleted, and whose an object is.

Public, as `items`: `docs/output.md` describes every field.
"""

from __future__ import annotations

from typing import Literal

from skoupa.cli.terminal.shape import Shape

TenantPhase = Literal["Active", "Refused", "Waiting", "Deleting", "Verifying"]


class DeletedTenant(Shape, frozen=True, kw_only=True):
    """A Tenant that is being deleted; `text` says how far that is, `remaining` and `kept` are what its controller has counted last."""

    name: str
    phase: TenantPhase
    text: str
    since: str
    remaining: int | None = None
    kept: int | None = None
    blockers: tuple[str, ...] = ()


class ItemTenant(Shape, frozen=True, kw_only=True):
    """Whose an object is, and why (`proof`); of a Tenant itself that is empty. `text` is what follows for the object.

    `stays`: it would not go with that Tenant, or does not. `name` is empty where it is nobody's, though something speaks of a tenant: several claim it, or its kind is of one.
    """

    name: str
    phase: TenantPhase
    proof: str
    text: str
    stays: bool
    blockers: tuple[str, ...] = ()
