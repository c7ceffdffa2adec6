"""Who may do what, and as whom: access control entries, credentials, tokens, quotas, and requests in envelopes."""
