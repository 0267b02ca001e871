"""What the adapter can do: one table of capabilities and the requests that each implies.

A capability is advertised exactly when it stands here, and a test asserts that every request
named here is dispatched, by the supervisor or by a handler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kedi_dap.server.routes import HOMES


class Capability(NamedTuple):
    """A capability of the protocol: its value, and the requests a client may then send."""

    name: str
    commands: tuple[str, ...] = ()
    value: Any = True


#: Requests that every adapter answers.
BASE_COMMANDS = (
    *("initialize", "launch", "attach", "configurationDone", "disconnect", "threads"),
    *("stackTrace", "scopes", "variables", "evaluate", "source", "setBreakpoints"),
    *("continue", "next", "stepIn", "stepOut", "pause"),
)
#: Requests of our own.
CUSTOM_COMMANDS = ("kedi/modelCalls",)
#: Requests that the supervisor answers itself.
SUPERVISED = frozenset(
    (
        "initialize",
        "launch",
        "attach",
        "configurationDone",
        "disconnect",
        "terminate",
        "restart",
        "cancel",
    )
)

FILTERS: tuple[dict[str, Any], ...] = (
    {
        "filter": "uncaught",
        "label": "Uncaught errors",
        "description": "Stops where an error is raised that nothing in the program handles.",
        "default": True,
        "supportsCondition": True,
        "conditionDescription": "An expression; `error` is the exception.",
    },
    {
        "filter": "raised",
        "label": "Raised errors",
        "description": "Stops where any error is raised, also one that is handled.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "An expression; `error` is the exception.",
    },
    {
        "filter": "model_input",
        "label": "Model: before a call",
        "description": "Stops before a prompt is sent. The prompt can be edited.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "An expression; `call` has `prompt`, `model` and `tokens`.",
    },
    {
        "filter": "model_result",
        "label": "Model: after an answer",
        "description": "Stops before the values of an answer are bound. They can be edited.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "An expression; `call` has `tokens`, `cost` and `latency`.",
    },
    {
        "filter": "model_invalid",
        "label": "Model: refused answers",
        "description": "Stops where an answer does not fit its types. It can be repaired.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "An expression; `error` is what was wrong.",
    },
    {
        "filter": "tool_call",
        "label": "Model: tool calls",
        "description": "Stops before a tool is run on behalf of a model.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "An expression; `tool` has `name` and `arguments`.",
    },
)

CAPABILITIES: tuple[Capability, ...] = (
    Capability("supportsConfigurationDoneRequest", ("configurationDone",)),
    Capability("supportsTerminateRequest", ("terminate",)),
    Capability("supportTerminateDebuggee", ("disconnect",)),
    Capability("supportsRestartRequest", ("restart",)),
    Capability("supportsConditionalBreakpoints", ("setBreakpoints",)),
    Capability("supportsHitConditionalBreakpoints", ("setBreakpoints",)),
    Capability("supportsLogPoints", ("setBreakpoints",)),
    Capability("supportsBreakpointLocationsRequest", ("breakpointLocations",)),
    Capability("supportsFunctionBreakpoints", ("setFunctionBreakpoints",)),
    Capability("supportsDataBreakpoints", ("dataBreakpointInfo", "setDataBreakpoints")),
    Capability("exceptionBreakpointFilters", ("setExceptionBreakpoints",), list(FILTERS)),
    Capability("supportsExceptionFilterOptions", ("setExceptionBreakpoints",)),
    Capability("supportsExceptionInfoRequest", ("exceptionInfo",)),
    Capability("supportsDelayedStackTraceLoading", ("stackTrace",)),
    Capability("supportsValueFormattingOptions", ("variables", "evaluate")),
    Capability("supportsSetVariable", ("setVariable",)),
    Capability("supportsSetExpression", ("setExpression",)),
    Capability("supportsEvaluateForHovers", ("evaluate",)),
    Capability("supportsClipboardContext", ("evaluate",)),
    Capability("supportsCompletionsRequest", ("completions",)),
    Capability("completionTriggerCharacters", ("completions",), [".", "<", "@", "~", "[", ">"]),
    Capability("supportsLoadedSourcesRequest", ("loadedSources",)),
    Capability("supportsModulesRequest", ("modules",)),
    Capability("supportsStepInTargetsRequest", ("stepInTargets",)),
    Capability("supportsGotoTargetsRequest", ("gotoTargets", "goto")),
    Capability("supportsRestartFrame", ("restartFrame",)),
    Capability("supportsCancelRequest", ("cancel",)),
    Capability("supportsSingleThreadExecutionRequests", ("continue", "next", "stepIn", "stepOut")),
    Capability("supportsANSIStyling"),
)


def advertised() -> dict[str, Any]:
    """The body of the response to ``initialize``: what every implied request is answered for."""
    return {
        item.name: item.value
        for item in CAPABILITIES
        if all(command in SUPERVISED or command in HOMES for command in item.commands)
    }


def implied() -> frozenset[str]:
    """Every request that a client may send to this adapter."""
    offered = advertised()
    commands = {c for item in CAPABILITIES if item.name in offered for c in item.commands}
    return frozenset(commands | set(BASE_COMMANDS) | set(CUSTOM_COMMANDS))
