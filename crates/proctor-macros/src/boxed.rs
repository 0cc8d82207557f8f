//! How the futures of an `impl` block are boxed.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{
    FnArg, GenericArgument, GenericParam, ImplItem, ImplItemFn, ItemImpl, Lifetime, Receiver,
    ReturnType, TypeReference, Visibility, parse_quote, visit_mut::VisitMut,
};

/// The lifetime of a future: everything that is borrowed lives at least as long.
const FUTURE: &str = "'future";

pub(crate) fn expand(arguments: TokenStream, block: TokenStream) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(syn::Error::new_spanned(
            arguments,
            "`boxed_futures` takes no arguments",
        ));
    }
    let mut block: ItemImpl = syn::parse2(block)?;
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item
            && is_boxed(method)
        {
            boxed(method);
        }
    }
    Ok(block.into_token_stream())
}

/// Whether a method is one that other crates await as it is.
fn is_boxed(method: &ImplItemFn) -> bool {
    let generic = |parameter: &GenericParam| !matches!(parameter, GenericParam::Lifetime(_));
    let has_impl = |input: &FnArg| match input {
        FnArg::Receiver(_) => false,
        FnArg::Typed(typed) => matches!(*typed.ty, syn::Type::ImplTrait(_)),
    };
    matches!(method.vis, Visibility::Public(_))
        && method.sig.asyncness.is_some()
        && !method.sig.generics.params.iter().any(generic)
        && !method.sig.inputs.iter().any(has_impl)
}

fn boxed(method: &mut ImplItemFn) {
    let signature = &mut method.sig;
    signature.asyncness = None;
    for input in &mut signature.inputs {
        Named.visit_fn_arg_mut(input);
    }
    Named.visit_return_type_mut(&mut signature.output);
    let future = Lifetime::new(FUTURE, proc_macro2::Span::call_site());
    for parameter in signature.generics.lifetimes_mut() {
        parameter.bounds.push(future.clone());
    }
    signature.generics.params.insert(0, parse_quote!(#future));
    let output = match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => output.to_token_stream(),
    };
    signature.output = parse_quote!(
        -> ::core::pin::Pin<::std::boxed::Box<dyn ::core::future::Future<Output = #output> + ::core::marker::Send + #future>>
    );
    let body = &method.block;
    method.block = parse_quote!({ ::std::boxed::Box::pin(async move #body) });
}

/// Gives every lifetime that is left out the name of the future's.
struct Named;

impl VisitMut for Named {
    fn visit_receiver_mut(&mut self, receiver: &mut Receiver) {
        if let Some((_, lifetime @ None)) = &mut receiver.reference {
            *lifetime = Some(Lifetime::new(FUTURE, receiver.self_token.span));
            // The type that `syn` keeps beside the shorthand must say the same.
            let (mutability, span) = (receiver.mutability, receiver.self_token.span);
            let future = Lifetime::new(FUTURE, span);
            *receiver.ty = parse_quote!(&#future #mutability Self);
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if reference.lifetime.is_none() {
            let span = reference.and_token.span;
            reference.lifetime = Some(Lifetime::new(FUTURE, span));
        }
        syn::visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_generic_argument_mut(&mut self, argument: &mut GenericArgument) {
        if let GenericArgument::Lifetime(lifetime) = argument
            && lifetime.ident == "_"
        {
            *lifetime = Lifetime::new(FUTURE, lifetime.span());
        }
        syn::visit_mut::visit_generic_argument_mut(self, argument);
    }

    // Functions have lifetimes of their own.
    fn visit_type_bare_fn_mut(&mut self, _: &mut syn::TypeBareFn) {}

    fn visit_parenthesized_generic_arguments_mut(
        &mut self,
        _: &mut syn::ParenthesizedGenericArguments,
    ) {
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(block: TokenStream) -> String {
        let expanded = expand(TokenStream::new(), block).expect("a block that can be read");
        expanded.to_string().replace(' ', "")
    }

    #[test]
    fn a_public_async_method_returns_a_boxed_future() {
        let told = expanded(quote! {
            impl Store {
                /// Finds.
                pub async fn find<'a>(&self, name: &str, page: Page<'_>, whole: &'a [u8]) -> Option<&Row> { 1 }
            }
        });
        for part in [
            "pubfnfind<'future,'a:'future>(&'futureself,name:&'futurestr,page:Page<'future>,whole:&'a[u8])",
            "Future<Output=Option<&'futureRow>>",
            "::std::boxed::Box::pin(asyncmove{1})",
        ] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
    }

    #[test]
    fn what_others_do_not_await_stays_as_it_is() {
        for method in [
            quote!(
                async fn private(&self) {}
            ),
            quote!(
                pub(crate) async fn inside(&self) {}
            ),
            quote!(
                pub fn plain(&self) {}
            ),
            quote!(
                pub async fn generic<T>(&self, _: T) {}
            ),
            quote!(
                pub async fn given(&self, _: impl Fn()) {}
            ),
        ] {
            let block = quote!(impl Store { #method });
            assert_eq!(expanded(block.clone()), block.to_string().replace(' ', ""));
        }
    }

    #[test]
    fn arguments_are_refused() {
        let refused = expand(quote!(all), quote!(impl Store {})).expect_err("it takes none");
        assert_eq!(refused.to_string(), "`boxed_futures` takes no arguments");
    }
}
