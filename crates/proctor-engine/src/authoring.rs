//! From drafts to frozen benchmarks.
