"""From one OpenStackDeployment to the releases of a region."""
