"""Chart values: their layers, the merge, where each value comes from, templates, secret references."""
