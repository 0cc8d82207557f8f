-- What was seen after the rounds of jobs that plan them. A look is taken once: nothing that is judged again later changes what was decided by it.
CREATE TABLE job_looks (
    job TEXT NOT NULL REFERENCES jobs (id),
    round BIGINT NOT NULL,
    look TEXT NOT NULL,
    PRIMARY KEY (job, round)
);
