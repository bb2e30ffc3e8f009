"""From a study file to an answer: cost model, search, mapping, report, command line."""
