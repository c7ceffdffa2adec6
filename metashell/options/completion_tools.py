"""The command line of `metashell completion`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec

COMPLETION = CommandSpec(
    name="metashell-completion",
    summary="print the completions of all commands for bash, zsh or fish",
    description="""
        Prints the script that completes commands, options, their values, reports, tables, record types, files, and paths inside the
        metadata, for `kafka-shell`, `dump-log`, `metashell` and the others. An installed package brings the same scripts in
        share/, where bash-completion, zsh and fish find them if its prefix is one that they search.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="shell", choices=("bash", "zsh", "fish"), type="choice", help="the shell to complete in"),),
    examples=(
        ("source <(metashell completion bash)", "in ~/.bashrc"),
        ("source <(metashell completion zsh)", "in ~/.zshrc, after compinit"),
        ("metashell completion fish | source", "in ~/.config/fish/config.fish"),
    ),
    epilog=(shared.EXIT_STATUS,),
    files=(
        ("share/bash-completion/completions/, share/zsh/site-functions/, share/fish/vendor_completions.d/", "the same scripts, installed"),
        ("share/man/man1/", "the man pages"),
    ),
)
