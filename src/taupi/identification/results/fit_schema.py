"""What a saved fit must hold, key by key: checked before it is used."""

from __future__ import annotations

from typing import Any, TypedDict

from taupi.identification.results.fit import JointStatistics
from taupi.identification.rows.chosen_cutoffs import ChosenCutoffs
from taupi.identification.rows.recording import LogRecord


class BaseData(TypedDict):
    """A base parameter."""

    name: str
    value: float
    determined: bool


class _StatusData(TypedDict):
    ok: bool
    message: str


class StatusData(_StatusData, total=False):
    """How the estimator ended."""

    outcome: str


class ReasonData(TypedDict):
    """A reason for the verdict."""

    cause: str
    sentence: str
    level: str
    joints: list[str]
    numbers: dict[str, float | None]
    remedy: str


class VerdictData(TypedDict):
    """The verdict."""

    details: list[ReasonData]


class SpringData(TypedDict):
    """What logs show about a spring; infinite numbers are null."""

    joint: str
    unit: str
    described: float | None
    determined: bool
    reason: str
    compliance: float | None
    compliance_error: float | None
    run_compliances: list[float | None]
    delay: float | None
    delay_error: float | None
    lost_motion: float | None
    lost_motion_error: float | None
    offsets: list[float | None]
    offset_errors: list[float | None]
    width: float | None


class OlderLogRecord(TypedDict):
    """A log as files of version 0.1 and before have it, where the least speeds were called `slow`."""

    name: str
    path: str
    sha256: str
    rate_hz: float


class Provenance(TypedDict, total=False):
    """Where a fit comes from; further keys are only informative."""

    logs: list[LogRecord]
    runs: list[OlderLogRecord]
    encoder_offset: float | list[float]
    columns: str
    columns_sha256: str


class RootData(TypedDict):
    """The link that is bolted to the ground, with its ten parameters as exact numbers."""

    name: str
    body: list[str]


class _SourceData(TypedDict):
    format: str
    path: str
    sha256: str
    lock: dict[str, str]
    tip: str | None
    snap: bool
    merged: dict[str, list[str]]
    text: str


class SourceData(_SourceData, total=False):
    """The description that a robot was read from."""

    root: RootData | None
    floating: bool | None


class SettingsData(TypedDict):
    """The settings; those of the estimator are its own."""

    preparation: dict[str, Any]


class _FitData(TypedDict):
    schema: str
    robot: str
    fingerprint: str
    description: str
    terms: list[str | dict[str, Any]]
    estimator: str
    settings: SettingsData
    status: StatusData
    base: list[BaseData]
    freedom: float | list[float]
    covariance: list[list[float]]
    prior: list[float]
    standard: list[float] | None
    joints: list[JointStatistics]
    conditioning: dict[str, Any]
    notes: list[str]
    provenance: Provenance


class FitData(_FitData, total=False):
    """A saved fit."""

    source: SourceData | None
    elastic: bool
    coupling: bool
    verdict: VerdictData
    triangle: list[list[float]] | None
    springs: list[SpringData]
    shifts: list[list[float]] | list[float] | None
    cutoffs: ChosenCutoffs | None
