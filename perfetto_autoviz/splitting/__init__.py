"""Windows of a capture, written as captures."""
