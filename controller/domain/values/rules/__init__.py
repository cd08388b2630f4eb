"""Rules about final values that are data: values/relations.yaml, and `checks` in the folders of services."""
