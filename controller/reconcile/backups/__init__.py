"""The CronJobs of backups, and what became of their Jobs."""
