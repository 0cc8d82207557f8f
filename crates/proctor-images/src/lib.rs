//! Container images without a container engine.
//!
//! An image is a tree, an environment, a directory and a user. This crate takes images over (from OCI layouts, from what `docker save` writes, from tars of
//! root file systems, from registries that may be asked), checks every digest, and flattens their layers into one tree below the data directory, on which
//! boxes then stand as on any root file system. It also makes images of the distribution's packages, where no registry can be asked, and reads compose files.
//! It knows nothing of blueprints, organizations or HTTP servers, runs nothing that an image brings, and never lets a name of an image lead out of its tree.
//!
//! ```text
//! Images ── resolve: a name becomes a digest and a configuration    (alias, store, layouts, registry)
//!    ├── obtain: the digest becomes a tree                          (registry::blobs, unpack)
//!    ├── import, export, list, remove                               (source, unpack, export, store)
//!    └── make: bases from packages                                  (make)
//! flatten: layers → tree       tree_reader: tree → tar       compose: a service of a compose file, pure
//! ```

mod alias;
pub mod compose;
mod documents;
mod error;
mod export;
mod flatten;
mod images;
mod layer;
mod limits;
pub mod make;
mod members;
mod reference;
pub mod registry;
mod source;
mod store;
mod tree_reader;
mod unpack;

pub use alias::Alias;
pub use documents::{ImageConfig, Platform, RootFs, RunConfig};
pub use error::ImageError;
pub use export::Exported;
pub use images::{ImageOptions, Images, Import, Progress, Removed, Resolved};
pub use limits::Limits;
pub use reference::{DEFAULT_REGISTRY, Reference};
pub use store::{NamedImage, StoredImage};
pub use tree_reader::{TreeEntry, TreeReader, TreeWriter};
