//! Tests of the whole desk, as agents and owners use it.

mod portal;
mod support;
