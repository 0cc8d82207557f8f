//! Messages through the public surface.

mod acknowledge;
mod published_parsers;
mod robustness;
mod validate;
