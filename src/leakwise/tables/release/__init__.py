"""The release: a table opened, checked, drawn from and written."""
