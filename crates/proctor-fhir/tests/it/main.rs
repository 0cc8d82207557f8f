//! The definitions and the official examples of R4.

mod definitions;
mod examples;
