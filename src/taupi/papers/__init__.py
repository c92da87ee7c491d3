"""The source studies, each one rerun: published figures beside ours. One file a study, one line in `registry`."""
