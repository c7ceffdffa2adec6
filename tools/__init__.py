"""Our own scripts: they may import anything of metashell, and nothing imports them."""
