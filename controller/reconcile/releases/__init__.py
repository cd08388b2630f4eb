"""helmbundle: observes, decides and acts for the releases of each HelmBundle."""
