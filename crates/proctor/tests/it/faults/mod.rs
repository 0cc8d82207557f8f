//! `kill -9` at every commit of a run, a scenario run and a job, and between doing a request and keeping its answer: points that are named in the
//! code (`proctor_store::fault`), not a sleep that may end at the right moment. After the next start nothing is lost and nothing is there twice.

mod job;
mod mortal;
mod once;
mod run;
mod scenario;
