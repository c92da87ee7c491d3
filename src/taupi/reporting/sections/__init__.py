"""The sections of reports, one file per kind of page, each with its list in the order of the page.

    fit.py          FIT_SECTIONS          run.py     RUN_SECTIONS
    excitation.py   EXCITATION_SECTIONS   fleet.py   FLEET_SECTIONS
    payload.py      PAYLOAD_SECTIONS      base.py    what they share, and the provenance of every page

A section is a class with a name, a title, a template and the fields that go into it. To add one, write it into the file of its
page and add it to that page's list.
"""
