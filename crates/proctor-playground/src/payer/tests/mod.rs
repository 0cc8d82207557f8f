//! Tests of the whole desk, as agents and owners use it.

mod clearinghouse;
mod portal;
mod support;
