"""The table of directives: names, forms, places, blocks, fields and kinds of values.

The parser, the analysis and the language server all read this one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kedi.syntax.places import CODE_PLACES, Place

Form = Literal["none", "text", "condition", "name", "names", "path", "type", "metric"]
"""What follows ``> name:``: nothing, text, a condition or claim, ``name:``, text with
a block of names as the other form, a module path, a type, or ``name(dataset):``."""

Body = Literal["code", "settings", "names", "requirements", "prose", "profile"]
"""What the lines of its block are."""

ValueKind = Literal[
    "text", "word", "name", "flag", "count", "number", "python", "bytes", "duration", "type", "any"
]
"""``word`` is one of ``words``; ``flag`` enabled, disabled, true or false; ``bytes`` and
``duration`` are numbers with a unit; ``any`` is checked by the adapter."""

_PROFILE: frozenset[Place] = frozenset({"profile"})
_CONFIGURATION: frozenset[Place] = CODE_PLACES.union(_PROFILE)
_TOP: frozenset[Place] = frozenset({"top", "fragment"})
_FILE: frozenset[Place] = frozenset({"top"})
_PROCEDURE: frozenset[Place] = frozenset({"procedure"})
_IN_PROCEDURE: frozenset[Place] = frozenset({"procedure", "inner"})
_TEST: frozenset[Place] = frozenset({"test"})
_EVAL: frozenset[Place] = frozenset({"eval"})


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One setting of a directive block."""

    name: str
    kind: ValueKind = "any"
    words: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class DirectiveSpec:
    """One directive.

    ``value`` and ``words`` say what its one-line value may be. ``body`` is the
    kind of its block; ``block`` says whether it never has one, always has one
    instead of a value, or takes one ``instead`` of its value. ``fields`` are the
    known settings of the block, empty when any name may stand there. ``where``
    completes "it belongs …" for a misplaced one.
    """

    name: str
    form: Form
    places: frozenset[Place]
    summary: str
    body: Body | None = None
    block: Literal["never", "always", "instead"] = "never"
    value: ValueKind = "text"
    words: tuple[str, ...] = ()
    fields: tuple[FieldSpec, ...] = ()
    where: str = ""

    @property
    def field_names(self) -> list[str]:
        """Names of the known settings of its block, in table order."""
        return [item.name for item in self.fields]


EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")

SETTINGS: tuple[FieldSpec, ...] = (
    FieldSpec("temperature", "number", (), "randomness of sampling"),
    FieldSpec("max_tokens", "count", (), "most tokens of an answer"),
    FieldSpec("top_p", "number", (), "nucleus sampling"),
    FieldSpec("top_k", "count", (), "sample among the k likeliest tokens"),
    FieldSpec("min_p", "number", (), "least probability relative to the likeliest token"),
    FieldSpec("seed", "count", (), "seed of sampling"),
    FieldSpec("timeout", "number", (), "seconds to wait for a call"),
    FieldSpec("parallel_tool_calls", "flag", (), "allow several tool calls at once"),
    FieldSpec("tool_choice", "any", (), "which tools the model must or may use"),
    FieldSpec("presence_penalty", "number", (), "penalty for tokens that have occurred"),
    FieldSpec("frequency_penalty", "number", (), "penalty by how often tokens have occurred"),
    FieldSpec("repeat_penalty", "number", (), "penalty for repetition in local models"),
    FieldSpec("logit_bias", "python", (), "bias per token"),
    FieldSpec("logprobs", "any", (), "return log probabilities"),
    FieldSpec("top_logprobs", "count", (), "how many log probabilities per token"),
    FieldSpec("stop", "any", (), "texts that end an answer"),
    FieldSpec("stop_sequences", "python", (), "texts that end an answer"),
    FieldSpec("n", "count", (), "number of answers"),
    FieldSpec("max_completion_tokens", "count", (), "most tokens of an answer with reasoning"),
    FieldSpec("reasoning_effort", "text", (), "reasoning effort as the provider names it"),
    FieldSpec("thinking", "any", (), "extended thinking"),
    FieldSpec("extra_headers", "python", (), "HTTP headers to add"),
    FieldSpec("extra_body", "python", (), "fields to add to the request"),
    FieldSpec("num_retries", "count", (), "how often a failed call is repeated"),
    FieldSpec("max_retries", "count", (), "how often a failed call is repeated"),
    FieldSpec("api_base", "text", (), "base address of the provider"),
    FieldSpec("base_url", "text", (), "base address of the provider"),
    FieldSpec("api_key", "text", (), "key of the provider; take it from the environment"),
    FieldSpec("api_version", "text", (), "version of the provider's interface"),
    FieldSpec("model_type", "text", (), "chat or text completion"),
    FieldSpec("cache", "flag", (), "let the framework cache answers"),
    FieldSpec("streaming", "flag", (), "stream answers"),
    FieldSpec("service_tier", "text", (), "service tier of the provider"),
    FieldSpec("user", "text", (), "end user, for the provider's abuse detection"),
    FieldSpec("metadata", "python", (), "metadata to send with a call"),
    FieldSpec("cwd", "text", (), "working directory of a harness"),
    FieldSpec("env", "python", (), "environment of a harness"),
    FieldSpec("sandbox", "text", (), "sandbox of a harness"),
    FieldSpec("approval_policy", "text", (), "approval policy of a harness"),
    FieldSpec("config", "python", (), "configuration of a harness"),
    FieldSpec("model_provider", "text", (), "provider behind a harness"),
    FieldSpec("tools", "python", (), "built-in tools of a harness"),
    FieldSpec("allowed_tools", "python", (), "tools a harness may use"),
    FieldSpec("disallowed_tools", "python", (), "tools a harness may not use"),
    FieldSpec("permission_mode", "text", (), "permission mode of a harness"),
    FieldSpec("max_turns", "count", (), "most turns of a harness"),
    FieldSpec("max_budget_usd", "number", (), "most US dollars a harness may spend"),
)

_HISTORY = (
    FieldSpec("enabled", "flag"),
    FieldSpec("compaction_mode", "word", ("native", "disabled")),
    FieldSpec("compaction_threshold", "count"),
)
_ARTIFACTS = (
    FieldSpec("enabled", "flag"),
    FieldSpec("query_artifacts", "flag"),
    FieldSpec("store", "text"),
    FieldSpec("path", "text"),
    FieldSpec("threshold", "bytes"),
    FieldSpec("ttl", "duration"),
    FieldSpec("idle_ttl", "duration"),
    FieldSpec("preview_chars", "count"),
    FieldSpec("read_max_chars", "count"),
    FieldSpec("session_quota", "bytes"),
    FieldSpec("max_artifacts", "count"),
    FieldSpec("cleanup_interval", "duration"),
)
_CODEMODE = (
    FieldSpec("enabled", "flag"),
    FieldSpec("default_search_limit", "count"),
    FieldSpec("max_search_limit", "count"),
    FieldSpec("max_hydrated_tools", "count"),
    FieldSpec("max_discovery_result_bytes", "count"),
    FieldSpec("max_code_chars", "count"),
    FieldSpec("max_nested_calls", "count"),
    FieldSpec("max_concurrent_calls", "count"),
    FieldSpec("max_tool_result_bytes", "count"),
    FieldSpec("max_total_tool_result_bytes", "count"),
    FieldSpec("max_print_bytes", "count"),
    FieldSpec("request_timeout", "number"),
)
_SKILLS = (
    FieldSpec("enabled", "flag"),
    FieldSpec("path", "text"),
)
_MCP = (
    FieldSpec("name", "text"),
    FieldSpec("transport", "word", ("stdio", "sse", "http", "streamable-http")),
    FieldSpec("command", "text"),
    FieldSpec("args", "python"),
    FieldSpec("env", "python"),
    FieldSpec("cwd", "text"),
    FieldSpec("url", "text"),
    FieldSpec("headers", "python"),
    FieldSpec("timeout", "number"),
)
_HOOKS = (
    FieldSpec("user_prompt_submit", "python"),
    FieldSpec("pre_tool_use", "python"),
    FieldSpec("post_tool_use", "python"),
    FieldSpec("post_tool_use_failure", "python"),
)
_TOOL = (
    FieldSpec("name", "name"),
    FieldSpec("description", "text"),
    FieldSpec("risk", "word", ("read_only", "mutating", "sensitive")),
    FieldSpec("retries", "count"),
    FieldSpec("retry_on", "python"),
)
_PACKAGE = (
    FieldSpec("version", "text"),
    FieldSpec("source", "text"),
    FieldSpec("python", "text"),
    FieldSpec("python_dependencies", "any"),
    FieldSpec("author", "text"),
    FieldSpec("contact", "text"),
    FieldSpec("license", "text"),
    FieldSpec("description", "text"),
)


_ALL = (
    # Control flow and output
    DirectiveSpec(
        "if",
        "condition",
        CODE_PLACES,
        "run a block when a condition or claim holds",
        body="code",
        block="always",
    ),
    DirectiveSpec(
        "else",
        "none",
        CODE_PLACES,
        "run a block when the condition before did not hold",
        body="code",
        block="always",
    ),
    DirectiveSpec(
        "loop",
        "condition",
        CODE_PLACES,
        "repeat a block, or visit the items of an iterable",
        body="code",
        block="always",
    ),
    DirectiveSpec(
        "map",
        "none",
        CODE_PLACES,
        "run once per iteration of the loop before",
        body="code",
        block="always",
    ),
    DirectiveSpec("show", "text", CODE_PLACES, "print one line"),
    # Modules and packages
    DirectiveSpec(
        "import",
        "path",
        _TOP,
        "use the exported names of a module",
        body="names",
        block="instead",
        where="at the top level",
    ),
    DirectiveSpec(
        "export",
        "names",
        _FILE,
        "names that importers may use",
        body="names",
        block="instead",
        where="at the top level of a module file",
    ),
    DirectiveSpec(
        "package",
        "name",
        _FILE,
        "metadata of a package",
        body="settings",
        block="always",
        fields=_PACKAGE,
        where="in `package.kedi`",
    ),
    # Models and agents
    DirectiveSpec(
        "adapter", "text", _CONFIGURATION, "framework that makes model calls", value="name"
    ),
    DirectiveSpec(
        "agent",
        "text",
        _CONFIGURATION,
        "harness that makes model calls",
        value="name",
        body="settings",
        block="instead",
        fields=(FieldSpec("acp", "any", (), "command of an ACP agent"),),
    ),
    DirectiveSpec("model", "text", _CONFIGURATION, "model identifier"),
    DirectiveSpec(
        "effort", "text", _CONFIGURATION, "reasoning effort", value="word", words=EFFORTS
    ),
    DirectiveSpec("system", "text", _CONFIGURATION, "instructions", body="prose", block="instead"),
    DirectiveSpec(
        "settings",
        "text",
        _CONFIGURATION,
        "settings of model calls, merged by name",
        body="settings",
        block="always",
        fields=SETTINGS,
    ),
    DirectiveSpec(
        "requires",
        "names",
        _CONFIGURATION,
        "capabilities the adapter must have",
        body="names",
        block="instead",
    ),
    DirectiveSpec(
        "approval",
        "text",
        _CONFIGURATION,
        "policy for tool calls",
        value="word",
        words=("allow", "deny"),
    ),
    DirectiveSpec(
        "history",
        "text",
        _CONFIGURATION,
        "whether calls see earlier turns",
        value="flag",
        body="settings",
        block="instead",
        fields=_HISTORY,
    ),
    DirectiveSpec(
        "artifacts",
        "text",
        _CONFIGURATION,
        "large values as references",
        value="flag",
        body="settings",
        block="instead",
        fields=_ARTIFACTS,
    ),
    DirectiveSpec(
        "codemode",
        "text",
        _CONFIGURATION,
        "tools called from sandboxed code",
        value="flag",
        body="settings",
        block="instead",
        fields=_CODEMODE,
    ),
    DirectiveSpec(
        "skills",
        "text",
        _CONFIGURATION,
        "project skills",
        value="flag",
        body="settings",
        block="instead",
        fields=_SKILLS,
    ),
    DirectiveSpec(
        "mcp",
        "text",
        _CONFIGURATION,
        "one MCP server",
        body="settings",
        block="always",
        fields=_MCP,
    ),
    DirectiveSpec(
        "hooks",
        "text",
        _CONFIGURATION,
        "handlers of agent events",
        value="flag",
        body="settings",
        block="instead",
        fields=_HOOKS,
    ),
    DirectiveSpec(
        "use",
        "names",
        _CONFIGURATION,
        "offer a tool, or apply a profile",
        value="name",
        body="names",
        block="instead",
    ),
    DirectiveSpec(
        "profile",
        "name",
        CODE_PLACES,
        "a reusable set of directives",
        body="profile",
        block="always",
        where="among statements",
    ),
    DirectiveSpec(
        "output",
        "type",
        _PROFILE,
        "type of a subagent's answer",
        value="type",
        where="in a profile",
    ),
    DirectiveSpec(
        "subagent",
        "text",
        _PROFILE,
        "a profile that may be delegated to",
        value="name",
        where="in a profile",
    ),
    DirectiveSpec(
        "max_agents",
        "text",
        _PROFILE,
        "most descendants of one call",
        value="count",
        where="in a profile",
    ),
    DirectiveSpec(
        "workflow",
        "text",
        _PROFILE,
        "how children are started",
        value="word",
        words=("delegate", "dynamic"),
        where="in a profile",
    ),
    # Procedures
    DirectiveSpec(
        "tool",
        "text",
        _PROCEDURE,
        "how the procedure is offered as a tool",
        value="flag",
        body="settings",
        block="always",
        fields=_TOOL,
        where="directly in a procedure",
    ),
    DirectiveSpec(
        "optimize",
        "name",
        _IN_PROCEDURE,
        "a template whose wording may be optimised",
        body="prose",
        block="always",
        where="in a procedure",
    ),
    DirectiveSpec(
        "auto",
        "none",
        _PROCEDURE,
        "a specification to implement",
        body="prose",
        block="always",
        where="directly in a procedure",
    ),
    # Suites
    DirectiveSpec(
        "case",
        "name",
        _TEST,
        "one test case",
        body="code",
        block="always",
        where="in a `@test:` suite",
    ),
    DirectiveSpec(
        "data",
        "name",
        _EVAL,
        "rows of a data set",
        body="code",
        block="always",
        where="in an `@eval:` suite",
    ),
    DirectiveSpec(
        "test_data",
        "name",
        _EVAL,
        "held-out rows of a data set",
        body="code",
        block="always",
        where="in an `@eval:` suite",
    ),
    DirectiveSpec(
        "metric",
        "metric",
        _EVAL,
        "score of one row",
        body="code",
        block="always",
        where="in an `@eval:` suite",
    ),
)

DIRECTIVES: dict[str, DirectiveSpec] = {item.name: item for item in _ALL}

WORDS_OF_OTHER_LANGUAGES = {
    "elif": "Kedi has no elif: put an `> if:` inside `> else:`",
    "elseif": "Kedi has no elif: put an `> if:` inside `> else:`",
    "for": "write > loop [item]: `iterable`:",
    "each": "write > loop [item]: `iterable`:",
    "while": "write > loop: `condition`:",
    "print": "write `> show: text`",
    "echo": "write `> show: text`",
    "return": "a return reads `= value`",
    "tools": "write `> use: procedure`",
    "from": "write `> import: module:` and list the names below",
    "def": "a procedure reads `@name(parameters) -> type:`",
    "type": "a type reads `~Name(fields)`",
    "test": "a suite reads `@test: procedure:`",
    "eval": "a suite reads `@eval: procedure:`",
}
"""Names that people try as directives, and what to write."""
