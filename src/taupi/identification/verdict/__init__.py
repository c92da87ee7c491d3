"""The verdict on a fit: likely mistakes are tried out on its logs, and the one that explains them is named."""
