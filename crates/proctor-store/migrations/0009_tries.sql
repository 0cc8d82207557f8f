-- A try is one execution of an attempt, and an attempt a planned repeat of a task by an agent: these rows have always been tries.
ALTER TABLE job_attempts RENAME TO job_tries;
