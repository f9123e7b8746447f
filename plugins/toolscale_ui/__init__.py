"""The pages of ToolScale in the UI of Airflow: rendered on the server, read from the files that the pipeline wrote,
authorized by Airflow."""
