"""How a comparison of two builds looks: terminal, CSV, JSON, a page."""
