# Made by `python -m tools.gen_completions`; do not edit.
source (status dirname)/metashell.fish
