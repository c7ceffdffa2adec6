BUGS = {}
