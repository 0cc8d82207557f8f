-- How the agent of a try failed whose work is judged all the same: Harbor verifies also what an agent left that took too long.
ALTER TABLE job_tries ADD COLUMN agent_failure TEXT;
