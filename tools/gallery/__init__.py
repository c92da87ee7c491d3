"""The gallery of the docs: a page per document, written from reruns."""
