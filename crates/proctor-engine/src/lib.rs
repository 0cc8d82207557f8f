//! What happens when: publishing, runs, task runs, deadlines, recovery after a crash.
//!
//! * [`authoring`]: from drafts to frozen benchmarks.
//!
//! Rules that both dialects need live here, once. The engine asks `proctor-core` what may happen,
//! keeps what was decided in `proctor-store`, and owns the live worlds.

pub mod authoring;
