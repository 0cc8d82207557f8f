//! Attributes that keep the build of Proctor fast.

mod boxed;

use proc_macro::TokenStream;

/// Boxes the futures of the public methods of an `impl` block.
///
/// The code of an `async fn` is compiled where it is awaited, again in every crate that does so: without this, the crate of the HTTP handlers
/// compiles the engine, the fleet and the store once more. A future in a box is compiled where it is made.
///
/// A `pub async fn` becomes a `pub fn` that returns a `Pin<Box<dyn Future + Send + '_>>`; whoever calls it sees no difference. Methods with
/// parameters of type are compiled for each use anyway and stay as they are, as do private ones.
#[proc_macro_attribute]
pub fn boxed_futures(arguments: TokenStream, block: TokenStream) -> TokenStream {
    boxed::expand(arguments.into(), block.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
