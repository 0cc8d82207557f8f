-- What opens the repositories of a devbox that is being made, sealed; forgotten as soon as they are in it.
ALTER TABLE devboxes ADD COLUMN sealed_tokens BYTEA;
