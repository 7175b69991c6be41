"""The file of dags that a crontab becomes: one dag with one task for each entry.

What cron did is kept where it can be: overlapping runs are allowed, missed times are not made up
for, variables and the shell are those of the crontab, and the user becomes the owner. Everything
from the crontab enters the file as a literal, so that no line of it can become code.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from mainspring.domain.errors import InputError
from mainspring.schedule.crontab import Crontab, CrontabEntry

_NAME_LENGTH_MAX = 40
_TAKEN = {"dag", "shell", "command", "Schedule"}
_SHELL = "/bin/sh"
_LIKE_SH = {"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"}
_BEFORE = {
    *("cd", "test", "[", "[[", "sleep", "export", "set", "true", ":", "umask", "source", "."),
    *("mkdir", "command", "if", "then", "while", "do", "for", "ulimit", "type", "which"),
}
"""Programs that only make ready for what is meant."""
_AROUND = {
    *("sudo", "nice", "ionice", "nohup", "env", "time", "exec", "flock", "timeout", "chronic"),
    *("run-one", "setsid", "stdbuf", "sh", "bash", "python", "python3", "perl", "php", "ruby"),
    *("node", "java", "uv", "run", "run-parts", "anacron", "("),
}
"""Programs that run what is meant."""


def dag_names(entries: Sequence[CrontabEntry]) -> list[str]:
    """A name for each, from its command; numbered where several would have the same."""
    names: list[str] = []
    for entry in entries:
        base = _name_from(entry.command) or f"line_{entry.line}"
        name, number = base, 2
        while name in names or name in _TAKEN or keyword.iskeyword(name):
            name, number = f"{base}_{number}", number + 1
        names.append(name)
    return names


def written_file(crontab: Crontab, names: Sequence[str], source: str) -> str:
    """The text of the file; `source` says whose crontab it was."""
    environments = _environments(crontab.entries)
    parts = [
        *((line, _comment(text)) for line, text in crontab.comments),
        *(
            (entry.line, "\n\n" + _dag(entry, name, environments))
            for entry, name in zip(crontab.entries, names, strict=True)
        ),
    ]
    body = "\n".join(text for _, text in sorted(parts, key=lambda part: part[0]))
    head = f'"""Dags from {_escaped(source)}: one for each of its lines."""'
    text = "\n\n".join(filter(None, [head, _imports(crontab.entries), _constants(environments)]))
    text = f"{text}\n\n{body.rstrip()}\n"
    # Comments at the top level of a file, and dags, each want their distance.
    text = re.sub(r"\n{4,}", "\n\n\n", text)
    compile(text, "crontab", "exec")
    return text


def _imports(entries: Sequence[CrontabEntry]) -> str:
    ours = "Schedule, dag" if any(entry.spec.jitter_seconds for entry in entries) else "dag"
    operators = sorted({"shell" if _shell(entry) == _SHELL else "command" for entry in entries})
    return f"from mainspring import {ours}\nfrom mainspring.operators import {', '.join(operators)}"


def _environments(entries: Sequence[CrontabEntry]) -> dict[tuple[tuple[str, str], ...], str]:
    """Names of constants for the variables of entries, one for each set of them."""
    found = dict.fromkeys(tuple(e.variables.items()) for e in entries if e.variables)
    return {
        variables: "ENVIRONMENT" if len(found) == 1 else f"ENVIRONMENT_{number}"
        for number, variables in enumerate(found, 1)
    }


def _constants(environments: Mapping[tuple[tuple[str, str], ...], str]) -> str:
    return "\n".join(
        f"{name} = {{\n"
        + "".join(f"    {_literal(key)}: {_literal(value)},\n" for key, value in variables)
        + "}"
        for variables, name in environments.items()
    )


def _dag(
    entry: CrontabEntry, name: str, environments: Mapping[tuple[tuple[str, str], ...], str]
) -> str:
    options = [f"timezone={_literal(entry.spec.timezone)}", 'misfire="none"']
    if entry.spec.jitter_seconds:
        options.append(f'jitter="{entry.spec.jitter_seconds // 60}m"')
        given = [f"schedule=Schedule({_literal(entry.when)}, {', '.join(options)})"]
    else:
        given = [f"schedule={_literal(entry.when)}", *options]
    if entry.user is not None:
        given.append(f"owner={_literal(entry.user)}")
    told = f"Line {entry.line} of the crontab: `{_escaped(entry.text)}`."
    if entry.comment:
        told = f"{_docstring(entry.comment)}\n\n    {told}\n    "
    lines = [
        f"@dag({', '.join(given)})",
        f"def {name}():",
        f'    """{told}"""',
        *(f"    # {_one_line(note[:1].upper() + note[1:])}." for note in entry.notes),
        *_task(entry, name, environments),
    ]
    return "\n".join(lines)


def _task(
    entry: CrontabEntry, name: str, environments: Mapping[tuple[tuple[str, str], ...], str]
) -> list[str]:
    shell = _shell(entry)
    script = _script_lines(entry)
    if shell == _SHELL:
        operator, before, after = "shell", "", ""
    else:
        operator, before, after = "command", f'[{_literal(shell)}, "-c", ', "]"
    options = [f"name={_literal(name)}"]
    if entry.variables:
        options.append(f"env={environments[tuple(entry.variables.items())]}")
    if entry.variables.get("HOME"):
        options.append(f"cwd={_literal(entry.variables['HOME'])}")
    if len(script) == 1:
        return [f"    {operator}({before}{_literal(script[0])}{after}, {', '.join(options)})"]
    return [
        f"    {operator}(",
        *([f"        {before.rstrip()}"] if before else []),
        *(f"        {_literal(line)}" for line in script[:-1]),
        f"        {_literal(script[-1])}{after},",
        *(f"        {option}," for option in options),
        "    )",
    ]


def _script_lines(entry: CrontabEntry) -> list[str]:
    """The command as cron would give it to the shell, with its standard input."""
    if entry.stdin is None:
        return [entry.command]
    end = "END"
    while end in entry.stdin.split("\n"):
        end += "_"
    text = [line + "\n" for line in entry.stdin.split("\n")[:-1]]
    return ["{ " + entry.command + "\n", f"}} <<'{end}'\n", *text, f"{end}\n"]


def check_stdin(entry: CrontabEntry) -> None:
    """A here-document is how a command gets its input, and only some shells have these."""
    shell = PurePosixPath(_shell(entry)).name
    if entry.stdin is not None and shell not in _LIKE_SH:
        raise InputError(
            f"has input after `%`, which cannot be handed over by `{shell}`",
            hint="let the command read a file, or set `SHELL=/bin/sh` above it",
        )


def _shell(entry: CrontabEntry) -> str:
    return entry.variables.get("SHELL") or _SHELL


def _name_from(command: str) -> str:
    """What the command is about: the name of its program, or of the script that it runs."""
    for part in re.split(r"&&|\|\||[;|&]", command):
        words = [word.strip("\"'(){}") for word in part.split()]
        words = [word for word in words if word and not re.match(r"\w+=", word)]
        if not words or words[0] in _BEFORE:
            continue
        around = True
        for i, word in enumerate(words):
            if word.startswith("-") or (i and around and re.fullmatch(r"[\d.]+\w?", word)):
                continue
            if PurePosixPath(word).name in _AROUND:
                continue
            return _identifier(PurePosixPath(word).name)
        return _identifier(PurePosixPath(words[0]).name)
    return ""


def _identifier(name: str) -> str:
    stem = re.sub(r"\.(sh|py|pl|php|rb|js|bash)$", "", name)
    found = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()[:_NAME_LENGTH_MAX]
    return found if re.match(r"[a-z]", found) else ""


def _literal(text: str) -> str:
    """A Python literal in double quotes where that needs no more backslashes."""
    told = repr(text)
    if told.startswith("'") and '"' not in text:
        return '"' + told[1:-1].replace("\\'", "'") + '"'
    return told


def _escaped(text: str) -> str:
    """Text between triple quotes, on one line."""
    told = "".join(
        "\\\\" if each == "\\" else each if each.isprintable() else ascii(each)[1:-1]
        for each in text
    )
    return told.replace('"', '\\"') if '""' in told or told.endswith('"') else told


def _docstring(comment: str) -> str:
    return "\n    ".join(_escaped(line) for line in comment.split("\n")).replace("    \n", "\n")


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def _comment(text: str) -> str:
    return f"# {_one_line(text)}".rstrip()
