"""Identification of robots whose base moves freely: six more rows, and contact forces that are measured or taken out."""
