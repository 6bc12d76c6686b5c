"""The proof of pattern detection and of the comparison on unseen synthetic truth."""
