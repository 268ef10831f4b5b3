"""The CronJob controller: Jobs by the calendar."""
