"""The coordinator as its driver sees it: routing of requests, replay of records, and the requests that concern groups of every kind."""
