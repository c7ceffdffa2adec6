"""How a group came to where it is: its events and its rebalances, from the records in their order.

Records tell what was decided and never why somebody asked: a member that left and one whose session ended leave the same records. Texts
say so instead of guessing, and show what follows from several records (a member that was removed after its time to revoke was over).
"""
