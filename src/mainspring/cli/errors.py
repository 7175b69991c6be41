"""What every failure looks like: a plain sentence, a hint if there is one, and an exit code.

    0 done    1 failed    2 usage: bad input, unknown names    130 interrupted

With `--json` an error is `{"error": {"code", "message", "hint"}}` on stderr. A traceback is shown
only on request, since it says nothing to the person who typed the command.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from mainspring.domain.errors import InputError, MainspringError, NotFoundError

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def guarded(command: click.Command, arguments: Sequence[str] | None = None) -> int:
    """Run the command and turn whatever it raises into words and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    _never_fail_to_encode()
    try:
        _check_text(given)
        code = command.main(given, prog_name="mainspring", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        return _usage(error, as_json)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return FAILED
    except MainspringError as error:
        _tell(error.code, error.message, error.hint, as_json)
        return USAGE if isinstance(error, (InputError, NotFoundError)) else FAILED
    except Exception as error:
        return _unexpected(error, as_json)
    return code if isinstance(code, int) else DONE


def _never_fail_to_encode() -> None:
    """A terminal that cannot show a character gets a question mark instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _check_text(given: Sequence[str]) -> None:
    for argument in given:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise InputError(f"the argument {argument!a} is not valid UTF-8") from None


def _usage(error: click.ClickException, as_json: bool) -> int:
    message = error.format_message().rstrip(".")
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"see `{error.ctx.command_path} --help`"
    _tell("usage", message[:1].lower() + message[1:], hint, as_json)
    return USAGE


def _unexpected(error: Exception, as_json: bool) -> int:
    text = (str(error).strip() or "no text").splitlines()[0]
    message = f"unexpected {type(error).__name__}: {text}"
    if os.environ.get("MAINSPRING_DEBUG"):
        traceback.print_exc()
        _tell("unexpected", message, "", as_json)
    else:
        _tell("unexpected", message, "set MAINSPRING_DEBUG=1 to see where it comes from", as_json)
    return FAILED


def _tell(code: str, message: str, hint: str, as_json: bool) -> None:
    try:
        if as_json:
            import msgspec

            body = {"error": {"code": code, "message": message, "hint": hint}}
            sys.stderr.write(msgspec.json.encode(body).decode() + "\n")
            return
        from mainspring.cli.output import error_console
        from mainspring.cli.words import safe_lines

        console = error_console()
        console.print("error:", style="bold red", end=" ")
        console.print(safe_lines(message))
        if hint:
            console.print("hint:", style="bold cyan", end=" ")
            console.print(safe_lines(hint))
    except BrokenPipeError:
        pass


def _silence_stdout() -> None:
    """Whoever read our output is gone; the interpreter's last flush must not complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
