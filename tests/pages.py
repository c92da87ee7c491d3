"""HTML pages as tests read them."""

from html.parser import HTMLParser

VOID = {"meta", "input"}


class Page(HTMLParser):
    """A page as its tables, words and addresses; tags that do not close are an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.words, self.addresses, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.addresses += [values[k] for k in ("src", "href") if k in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    def table(self, first):
        return next(t for t in self.tables if t[0][0] == first)
