"""A robot in three dimensions in a browser: what is drawn (`scene`), what moves (`motion`), and the page itself (`view`)."""
