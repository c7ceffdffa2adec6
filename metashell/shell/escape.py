"""Text from data made safe for a terminal, as all layers do it; see `metashell.escape`."""

from metashell.escape import terminal_json, terminal_line, terminal_text, writable

__all__ = ["terminal_json", "terminal_line", "terminal_text", "writable"]
