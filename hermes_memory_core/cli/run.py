"""One run of the command line: from arguments to an exit code, with every way it can go wrong.

Expected errors become a message and the next command; unexpected ones a short report, with the traceback only
after ``-v``. No command is defined here.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import click

from hermes_memory_core.cli import exits
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import HermesMemoryError, UsageError

COMPLETE = "_HERMES_MEMORY_COMPLETE"
"""Set by the shell's completion script (``_HERMES_COMPLETE`` for ``hermes``)."""


def run(arguments: Sequence[str], program: str) -> int:
    """Run one command line; an exit code of ``exits``, nothing is raised.

    Args:
        arguments: Without the program's name.
        program: The name to print in usage lines and hints.
    """
    state = State(program)
    # an error in the arguments themselves comes before the option is parsed
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    state.json = "--json" in options
    if os.environ.get("NO_COLOR"):
        state.color = False
    _tolerant_streams()
    try:
        code = _guarded(list(arguments), state)
        if (
            sys.stdout is not None
        ):  # None: it was closed before we began, and nobody waits for an answer
            sys.stdout.flush()
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        return _nowhere_to_write(error)
    return code


def _guarded(arguments: list[str], state: State) -> int:
    try:
        return _invoke(arguments, state)
    except HermesMemoryError as error:
        state.failure(error)
        return error.exit_code
    except click.UsageError as error:
        state.failure(_usage(error))
        return exits.USAGE
    except click.ClickException as error:
        state.failure(HermesMemoryError(error.format_message()))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nStopped.", err=True)
        return exits.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last guard before the person: any bug becomes a report
        return _unexpected(error, state)


def _invoke(arguments: list[str], state: State) -> int:
    from hermes_memory_core.cli.app import app

    variable = f"_{state.naming.program.replace('-', '_').upper()}_COMPLETE"
    if variable in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(
            app, {"obj": state}, state.naming.program, variable, os.environ[variable]
        )
    try:
        with app.make_context(
            state.naming.program, arguments, obj=state, color=state.color
        ) as context:
            app.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except SystemExit as leaving:  # a provider's command may end the way scripts do
        return _code_of(leaving)
    return exits.OK


def _code_of(leaving: SystemExit) -> int:
    if leaving.code is None:
        return exits.OK
    if isinstance(leaving.code, int):
        return leaving.code
    click.echo(str(leaving.code), err=True)
    return exits.FAILED


def _usage(error: click.UsageError) -> UsageError:
    message = error.format_message()
    if error.ctx is None:
        return UsageError(message, hint="hermes --help")
    program = error.ctx.find_root().info_name or ""
    path = error.ctx.command_path.removeprefix(program).strip()
    return UsageError(message, hint=f"hermes {path} --help" if path else "hermes --help")


def _unexpected(error: Exception, state: State) -> int:
    """A bug, here or in a plugin: what happened in one line, what to try, where to look."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119 - a name, not a path
    if state.verbose:
        traceback.print_exception(error, file=sys.stderr)
    state.failure(
        HermesMemoryError(
            f"Something unexpected went wrong ({type(error).__name__}: {error}, at {where}). "
            "What was saved before is still saved.",
            hint="try again with `--no-plugins`; `-v` shows the whole traceback",
            details={"type": type(error).__name__, "where": where},
        )
    )
    return exits.FAILED


def _tolerant_streams() -> None:
    """A character the terminal cannot show must not end a command half-way."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _nowhere_to_write(error: OSError) -> int:
    """The answer could not be written: what was done is done, and the person hears why nothing is shown."""
    _reader_gone()
    with contextlib.suppress(OSError):
        click.echo(
            f"The answer could not be written ({error.strerror or error}). What was done before stands.",
            err=True,
        )
    return exits.FAILED


def _reader_gone() -> int:
    """Standard output was closed (``| head``): be quiet now and at interpreter exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, sys.stdout.fileno())
    except (
        AttributeError,
        OSError,
        ValueError,
    ):  # a stand-in without a descriptor has nothing to flush later
        pass
    finally:
        os.close(devnull)
    return exits.OK
