"""Groups under whatever can happen to them, from a seed; and bugs that the checkers must find."""
