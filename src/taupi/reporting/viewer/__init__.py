"""A robot in three dimensions in a browser: what is drawn and moves (`scene`), the page (`view`), who may open it (`access`)."""
