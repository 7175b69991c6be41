"""`web/src/generated/states.ts`: the states as types and constants for the page.

Laid out as prettier would at a width of 100, so that a formatter run over `web/` is no change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from mainspring.domain.states import MACHINES, Facts, Machine, Tone

_WIDTH = 100

_HEADER = f"""\
// Generated from src/mainspring/domain/states.py by `make gen`; do not edit.

/** How a state feels to the person who looks; the style sheet has one colour for each. */
export type Tone = {" | ".join(json.dumps(tone) for tone in Tone)};

/** What is true of a state, whichever machine it belongs to. */
export interface StateFacts {{
  readonly label: string;
  readonly tone: Tone;
  /** It is over; only a rerun opens it again. */
  readonly closed: boolean;
  readonly meaning: string;
}}
"""


def render() -> str:
    return "\n".join((_HEADER, *map(_section, MACHINES), _summary()))


def _section(machine: Machine) -> str:
    constant, noun = machine.name.upper(), machine.name.capitalize()
    targets = {
        state: _array(
            f"  {state}: ", [move.target for move in machine.moves if move.source == state], ","
        )
        for state in machine.facts
    }
    facts = {state: _facts(state, known) for state, known in machine.facts.items()}
    states = f"export const {constant}_STATES = "
    moves_type = f"Readonly<Record<{noun}State, readonly {noun}State[]>>"
    return f"""\
{states}{_array(states, machine.facts, " as const;")} as const;

export type {noun}State = (typeof {constant}_STATES)[number];

export const {constant}_FACTS: Readonly<Record<{noun}State, StateFacts>> = {_record(facts)};

/** The states that may follow each state. */
export const {constant}_MOVES: {moves_type} = {_record(targets)};

export function is{noun}State(value: string): value is {noun}State {{
  return Object.hasOwn({constant}_FACTS, value);
}}
"""


def _summary() -> str:
    types = "".join(
        f"  {machine.name}: {machine.name.capitalize()}State;\n" for machine in MACHINES
    )
    facts = "".join(f"  {machine.name}: {machine.name.upper()}_FACTS,\n" for machine in MACHINES)
    return f"""\
/** The state type of each machine. */
export interface StateOf {{
{types}}}

export type MachineName = keyof StateOf;

/** The facts of every machine, for code that shows any of them. */
export const FACTS: {{ readonly [M in MachineName]: Readonly<Record<StateOf[M], StateFacts>> }} = {{
{facts}}};
"""


def _record(entries: Mapping[str, str]) -> str:
    return "{\n" + "".join(f"  {key}: {value},\n" for key, value in entries.items()) + "}"


def _facts(state: str, facts: Facts) -> str:
    fields = [
        f"label: {json.dumps(facts.label)}",
        f"tone: {json.dumps(facts.tone)}",
        f"closed: {json.dumps(facts.closed)}",
        f"meaning: {json.dumps(facts.meaning, ensure_ascii=False)}",
    ]
    flat = f"{{ {', '.join(fields)} }}"
    if len(f"  {state}: {flat},") <= _WIDTH:
        return flat
    return "{\n" + "".join(f"    {field},\n" for field in fields) + "  }"


def _array(before: str, items: Iterable[str], after: str) -> str:
    """The items in brackets, on one line if they fit there between what stands around them."""
    quoted = [json.dumps(item) for item in items]
    flat = f"[{', '.join(quoted)}]"
    if len(f"{before}{flat}{after}") <= _WIDTH:
        return flat
    margin = " " * (len(before) - len(before.lstrip()))
    return "[\n" + "".join(f"{margin}  {item},\n" for item in quoted) + f"{margin}]"
