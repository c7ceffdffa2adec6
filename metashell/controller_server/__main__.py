"""`python -m metashell.controller_server CONFIG [--allow-plaintext] [-v]`, until `metashell server` takes its place."""
