-- How services in a devbox can be reached from outside; nothing if they cannot.
ALTER TABLE devboxes ADD COLUMN tunnel TEXT;
