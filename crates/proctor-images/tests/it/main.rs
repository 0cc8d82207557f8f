//! Images from every source, hostile ones, and registries that do not behave.

mod base;
mod hostile;
mod registry;
mod sources;
mod stored;
mod support;
