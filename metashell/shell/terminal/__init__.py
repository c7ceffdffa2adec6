"""The prompts of the shell and of SQL on a terminal: their keys, menus and history file.

Only this package imports prompt_toolkit, and it is imported only for a prompt. Other modules decide the meaning of a line: `completion` how
it can continue, and the commands what it does.
"""
