//! Tests of the whole desk, as agents and owners use it.

mod browser;
mod claims;
mod clearinghouse;
mod follow_up;
mod portal;
mod random;
mod support;
mod web;
