"""`schedlab node …`: nodes of the running cluster are added, fail, recover, are drained and removed, through its API.

One file per verb. Answers and errors read like kubectl's; exit code 1 when the server says no.
"""
