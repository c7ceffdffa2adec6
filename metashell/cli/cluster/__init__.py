"""Commands on a live cluster, and plans of changes to it.

One module for each noun: `metashell topics`, `configs`, `brokers` and `cluster`, `features`, `elect`, `acls`, `quotas` and `scram`
(`users`), `reassign`, `rehearse`. `noun_tool` is their common frame. `live_facts` and `broker_facts` gather the facts that the checks need,
`cluster_view` the values that a command shows. Commands that only read also accept metadata on disk."""
