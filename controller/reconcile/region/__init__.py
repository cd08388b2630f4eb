"""core: from one OpenStackDeployment to HelmBundles, and the summary of the region."""
