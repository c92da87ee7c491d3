"""HTML as a tree of elements: text, whatever file it comes from, can only become text."""

from __future__ import annotations

from xml.etree import ElementTree

from taupi.tables import one_line

Element = ElementTree.Element
Child = Element | str | None


def tag(kind: str, *children: Child, **attributes: str | bool | None) -> Element:
    """Return an element with children, which are elements or texts, and attributes; those that are None or False are left out.

    An underscore in the name of an attribute is a dash in HTML, and one at the end is dropped: `class_`, `aria_live`. Control
    characters of texts are shown as Python writes them.

    >>> text_of(tag("p", "a < b", tag("b", "!"), class_="soft"))
    '<p class="soft">a &lt; b<b>!</b></p>'
    """
    element = ElementTree.Element(kind)
    for name, value in attributes.items():
        if value is not None and value is not False:
            element.set(name.rstrip("_").replace("_", "-"), "" if value is True else value)
    for child in children:
        if isinstance(child, str):
            text = one_line(child, kept="\n\t")
            if len(element):
                element[-1].tail = (element[-1].tail or "") + text
            else:
                element.text = (element.text or "") + text
        elif child is not None:
            element.append(child)
    return element


def text_of(element: Element) -> str:
    """Return an element as HTML."""
    return ElementTree.tostring(element, encoding="unicode", method="html")


def page_of(title: str, root: str, *body: Child) -> str:
    """Return a whole page whose style and script lie at the address `root`."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("link", rel="icon", href=f"{root}icon.svg"),
        tag("link", rel="stylesheet", href=f"{root}page.css"),
        tag("link", rel="stylesheet", href=f"{root}studio.css"),
        tag("script", src=f"{root}studio.js", defer=True),
    )
    return "<!DOCTYPE html>\n" + text_of(tag("html", head, tag("body", *body, data_root=root), lang="en"))


def labelled(label: str, control: Element, hint: str = "") -> Element:
    """Return a control below its label, with a hint behind it."""
    return tag("label", tag("span", label), control, tag("small", hint) if hint else None)


def field(name: str, value: str = "", kind: str = "text", **attributes: str | bool | None) -> Element:
    """Return a field for text or a number."""
    return tag("input", name=name, value=value, type=kind, autocomplete="off", spellcheck="false", **attributes)


def choice(name: str, options: dict[str, str], chosen: str, **attributes: str | bool | None) -> Element:
    """Return a list to choose from: what is shown for each value."""
    entries = [tag("option", shown, value=value, selected=value == chosen) for value, shown in options.items()]
    return tag("select", *entries, name=name, **attributes)


def box(name: str, label: str, value: str, ticked: bool) -> Element:
    """Return a box to tick, with its label."""
    return tag("label", tag("input", type="checkbox", name=name, value=value, checked=ticked), label, class_="box")


def names_to_choose(identity: str, names: list[str]) -> Element:
    """Return the names that a field with this list offers."""
    return tag("datalist", *(tag("option", value=name) for name in names), id=identity)
