"""Groups of KIP-848, members of the classic protocol in them, and the ways between both kinds."""
