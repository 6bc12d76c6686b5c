"""How well abnormal runs are found: anomalies injected into captures, and labelled captures."""
