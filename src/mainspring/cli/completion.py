"""`mainspring completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click

_SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "mainspring"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete `mainspring` with the tab key.

    \b
    bash:  eval "$(mainspring completion bash)"                      in ~/.bashrc
    zsh:   eval "$(mainspring completion zsh)"                       in ~/.zshrc, after compinit
    fish:  mainspring completion fish > ~/.config/fish/completions/mainspring.fish
    """
    from click.shell_completion import get_completion_class

    from mainspring.cli.root import root

    found = get_completion_class(shell)
    assert found is not None
    # The variable by which `click` knows, when the script calls us, that it is to complete.
    variable = f"_{_PROGRAM}_complete".upper()
    click.echo(found(root, {}, _PROGRAM, variable).source())
