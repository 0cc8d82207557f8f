//! Programs that another program carries, so that whoever installs it has one file.
//!
//! The build script of the crate that carries a program makes it (`build`, a feature); the crate itself includes the file and starts it
//! (`run`, a feature). What such a program does is no business of this crate.

#[cfg(feature = "build")]
pub mod build;
#[cfg(feature = "run")]
pub mod run;
