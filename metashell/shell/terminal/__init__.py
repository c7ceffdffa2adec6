"""What a person types at: the prompts of the shell and of SQL, their keys, menus and history file.

Only here prompt_toolkit is imported, and nothing here is imported but for a prompt, except `history`, which knows the files. What a line
means is decided elsewhere: `completing` says how it could go on, and the commands what it does.
"""
