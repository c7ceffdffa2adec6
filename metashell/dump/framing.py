"""Where dump takes its windows from."""

from __future__ import annotations

from metashell.codec.framing import LENGTH_MIN, Stop, StopKind, Window, find_frames, unpack_length
from metashell.log.window_reader import WINDOW_SIZE, WindowReader

__all__ = ["LENGTH_MIN", "WINDOW_SIZE", "Stop", "StopKind", "Window", "WindowReader", "find_frames", "unpack_length"]
