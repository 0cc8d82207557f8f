//! What is added to the program from outside of it, used over HTTP: a kind of scorer, and a backend for devboxes.

mod backend;
mod scorer_kind;
