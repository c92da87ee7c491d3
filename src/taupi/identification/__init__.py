"""From logs to parameters: rows of the regressor compressed block by block, estimators, uncertainty, validation."""
