"""The form of a rule file. The file's folder and name are the rule's id: ``pcie/link-narrower-than-card``."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from advisor.model.facts import GapState
from advisor.model.finding import DISPUTED, Basis, Severity, Verdict
from advisor.model.setting import Risk, Scope, TakesEffect

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500, pattern=r"^[^\n]*$")]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
LoopText = Annotated[str, StringConstraints(max_length=500)]
ExpressionText = Annotated[str, StringConstraints(strip_whitespace=False, min_length=1, max_length=2000)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SetEntry(_Strict):
    """One setting that a failing rule asks for."""

    target: str
    """A kind of setting: sysctl, modprobe, env, dataloader, limits ..."""
    each: LoopText | None = None
    """``name in list``: it is asked for once for each item."""
    only: ExpressionText | None = None
    """Where it is asked for at all."""
    key: Line
    """The key, with ``{expressions}`` where it depends on the host."""
    value: int | float | bool | ExpressionText
    """A number, true or false, or an expression in a string (a text: ``"'spawn'"``)."""
    says: Line | None = None
    """What is set and how it helps; the rule's title when left out."""
    risk: Risk = "low"
    takes_effect: TakesEffect = "now"
    scope: Scope = "host"
    only_raise: bool = False
    """The value is a floor: a larger present value stays."""


class PositionEntry(_Strict):
    """What one authority says of a matter on which another says otherwise."""

    says: Line
    """What it advises, in a few words."""
    source: Line
    """Where it says so."""
    decides: Line
    """When this position is the right one; reads on after "right when"."""


class Example(_Strict):
    """A host in a few facts and what the rule must say of it."""

    name: Line
    facts: dict[str, dict[str, Any]] = {}
    """Section name to facts; what is left out is unknown. Derived sections may be given too."""
    gaps: dict[str, GapState] = {}
    """Path to the reason why it gave no value."""
    job: dict[str, Any] = {}
    growth: dict[str, int | float] | None = None
    """Counter (``softnet.dropped``, ``rdma.devices[mlx5_0].ports[1].counters.link_downed``) to its growth between two
    readings; what was read twice and is not named here has none that is known. Left out: it was read once."""
    seconds: Annotated[float, Field(gt=0)] = 5.0
    """Between the two readings."""
    expect: Verdict | dict[str, Verdict]
    """The worst verdict of all subjects (fails, unknown, holds, not-applicable), or subject to verdict."""
    message: str | None = None
    """The exact message of the first finding that fails."""
    settings: dict[str, int | float | bool | str] | None = None
    """``target:key`` to value: all settings that the rule asks for here."""


class RuleFile(_Strict):
    """One rule."""

    title: Line
    severity: Severity
    basis: Basis
    unverified: bool = False
    """Nobody has measured or confirmed it yet; then it is never above info."""
    each: LoopText | None = None
    """``name in list``: the rule is asked once for each item."""
    only: ExpressionText | None = None
    """Where the rule applies at all."""
    fails: ExpressionText
    """The condition that must not be."""
    says: Line
    """The message of a failure, with ``{expressions}``."""
    why: Prose
    fix: Prose
    ignore: Prose | None = None
    """When a failure is no fault: for the owner who decides to waive it."""
    settle: list[Line] = []
    """What would settle an unknown, when the facts' own reasons do not say it well."""
    sources: Annotated[list[Line], Field(min_length=1)]
    positions: list[PositionEntry] = []
    """What authorities that differ say of the same matter, two at least. Then a failure is no fault but a question to
    be measured: severity ``info``, nothing under ``set``, and ``fix`` says how to measure it."""
    settings: list[SetEntry] = Field([], alias="set")
    examples: list[Example]

    @model_validator(mode="after")
    def _bounded_claim(self) -> "RuleFile":
        if self.severity != "info" and self.basis == "field-report":
            raise ValueError("a rule on the basis of a field-report is never above severity info")
        if self.severity != "info" and self.unverified:
            raise ValueError("an unverified rule is never above severity info")
        if self.positions and self.severity != "info":
            raise ValueError("what authorities disagree about is never above severity info")
        if self.positions and self.settings:
            raise ValueError("nothing is set where authorities disagree: a measurement decides; leave out 'set'")
        missing = {"fails", "holds", "unknown"} - self._expected()
        if missing:
            raise ValueError(f"there must be an example of each of fails, holds, unknown; missing: {_words(missing)}")
        return self

    @field_validator("positions")
    @classmethod
    def _differing(cls, positions: list[PositionEntry]) -> list[PositionEntry]:
        if len(positions) == 1:
            raise ValueError("one position is no disagreement: give two or more, or say it under 'why' or 'ignore'")
        if len({one.says for one in positions}) < len(positions):
            raise ValueError("two positions say the same: put their sources into one")
        return positions

    @property
    def weight(self) -> str:
        """The severity of its failures; "disputed" for a rule about what authorities disagree about."""
        return DISPUTED if self.positions else self.severity

    def _expected(self) -> set[str]:
        found: set[str] = set()
        for example in self.examples:
            found.update([example.expect] if isinstance(example.expect, str) else example.expect.values())
        return found


def _words(names: set[str]) -> str:
    return ", ".join(sorted(names))


def rule_schema() -> dict[str, Any]:
    """The JSON Schema of a rule file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "advisor rule",
        **RuleFile.model_json_schema(),
    }
