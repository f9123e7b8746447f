"""Frozen records that cross a stage."""

from toolscale.records.base import Record
from toolscale.records.comparison import ComparedDomain, ComparedFigure, ComparedTasks, Comparison
from toolscale.records.dataset import FileEntry, Manifest, Part, Signature
from toolscale.records.environment import (
    Admission,
    DraftCandidate,
    DraftOrigin,
    DraftStage,
    EnvironmentSpec,
    PolicySentence,
    ProposalOrigin,
    ToolAdmission,
    WorldSpec,
)
from toolscale.records.expert import (
    CATEGORIES,
    TYPICAL_INPUT,
    Catalogue,
    Effort,
    Endpoint,
    ExpertReply,
    ExpertSpec,
    Price,
    PriceList,
)
from toolscale.records.fixture import Fixture, FixtureKind
from toolscale.records.frames import Frames, FramesSpec, FrameWriter, Unasked
from toolscale.records.given import Attempt, Decision, Loss, Reading
from toolscale.records.intent import (
    AdmissionCall,
    CallStep,
    CasesSpec,
    EachStep,
    FactKind,
    FindStep,
    IfStep,
    Intent,
    IntentsSpec,
    Invariant,
    PlanStep,
    PolicySpec,
    Refused,
    Request,
    Role,
    Rule,
    Slot,
    Tell,
    Tense,
    VerifierCase,
)
from toolscale.records.language import Description, LanguageSpec, Persona, Private, Quantity, Total
from toolscale.records.population import Plant, PopulationSpec, TableRows
from toolscale.records.release import (
    ChangedDomain,
    ChangedTask,
    Changes,
    DomainChanges,
    FailedTask,
    Regraded,
    RegradedTasks,
    Release,
    UnjudgedTask,
)
from toolscale.records.rollout import (
    NOT_ITS_DOING,
    AnswerKey,
    Charge,
    Limits,
    OfferedExpert,
    Preference,
    Question,
    Rollout,
    RolloutTask,
    Script,
    Split,
    Stop,
    TokenTrace,
    WordedPreference,
)
from toolscale.records.schema import ColumnSpec, ColumnType, SchemaSpec, TableSpec
from toolscale.records.task import (
    QUIET,
    Answer,
    Candidate,
    Difficulty,
    DrawnTurns,
    Fact,
    GoldenCall,
    GoldenTrajectory,
    Provenance,
    Reply,
    RowChange,
    Scenario,
    Solution,
    Solved,
    Task,
    ToolCall,
    ToolResult,
    Turns,
    is_evolved,
)
from toolscale.records.tool import Check, Exec, Forbid, Let, LetRows, NewId, Return, Step, ToolsetSpec, ToolSpec
from toolscale.records.verdict import GATES, UNDECIDED, GateResult, Grade, Judged, Status, Verdict
from toolscale.records.weakness import DomainWeakness, Failed, Weakness

__all__ = [
    "CATEGORIES", "GATES", "NOT_ITS_DOING", "QUIET", "TYPICAL_INPUT", "UNDECIDED", "Admission", "AdmissionCall",
    "Answer", "AnswerKey", "Attempt", "CallStep", "Candidate", "CasesSpec", "Catalogue", "ChangedDomain", "ChangedTask",
    "Changes", "Charge", "Check", "ColumnSpec", "ColumnType", "ComparedDomain", "ComparedFigure", "ComparedTasks",
    "Comparison", "Decision", "Description", "Difficulty", "DomainChanges", "DomainWeakness", "DraftCandidate",
    "DraftOrigin", "DraftStage", "DrawnTurns", "EachStep", "Effort", "Endpoint", "EnvironmentSpec", "Exec",
    "ExpertReply", "ExpertSpec", "Fact", "FactKind", "Failed", "FailedTask", "FileEntry", "FindStep", "Fixture",
    "FixtureKind", "Forbid", "FrameWriter", "Frames", "FramesSpec", "GateResult", "GoldenCall", "GoldenTrajectory",
    "Grade", "IfStep", "Intent", "IntentsSpec", "Invariant", "Judged", "LanguageSpec", "Let", "LetRows", "Limits",
    "Loss", "Manifest", "NewId", "OfferedExpert", "Part", "Persona", "PlanStep", "Plant", "PolicySentence",
    "PolicySpec", "PopulationSpec", "Preference", "Price", "PriceList", "Private", "ProposalOrigin", "Provenance",
    "Quantity", "Question", "Reading", "Record", "Refused", "Regraded", "RegradedTasks", "Release", "Reply", "Request",
    "Return", "Role", "Rollout", "RolloutTask", "RowChange", "Rule", "Scenario", "SchemaSpec", "Script", "Signature",
    "Slot", "Solution", "Solved", "Split", "Status", "Step", "Stop", "TableRows", "TableSpec", "Task", "Tell", "Tense",
    "TokenTrace", "ToolAdmission", "ToolCall", "ToolResult", "ToolSpec", "ToolsetSpec", "Total", "Turns", "Unasked",
    "UnjudgedTask", "Verdict", "VerifierCase", "Weakness", "WordedPreference", "WorldSpec", "is_evolved",
]  # fmt: skip
