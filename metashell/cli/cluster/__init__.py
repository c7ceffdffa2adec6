"""Commands on a live cluster, and plans for one.

One module for each noun: `metashell topics`, `configs`, `brokers` and `cluster`, `features`, `elect`, `acls`, `quotas` and `scram`
(`users`), `reassign`, `rehearse`. `noun_tool` is the frame they share; `live_facts` and `broker_facts` gather what the checks need,
`cluster_view` what a command shows. Commands that only read also take metadata on disk."""
