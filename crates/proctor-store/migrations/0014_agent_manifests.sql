-- How an agent is installed, started and watched, as JSON.
ALTER TABLE agents ADD COLUMN manifest TEXT;
