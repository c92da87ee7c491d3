"""taupi in a browser: the commands as forms, with the column mapping of a log as a table of small pictures.

It has no logic of its own. What a form says is a command (`forms`), which runs in a process of its own (`jobs`) exactly as it
would in a shell, and the page shows it. Only the table of columns (`mapping`) calls the package directly, by the functions behind
`taupi log`, so that it can answer while somebody assigns them. `server` decides who may open a page.
"""
