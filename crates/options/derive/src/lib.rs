//! The macro `#[derive(Options)]`; its attributes are documented in `shallop-options`. For a struct it generates the
//! constant `KEY` with the struct's keys, and an implementation of the trait `Options`. `attributes` parses the struct,
//! `expand` generates the code.

mod attributes;
mod expand;

/// Implements `Options` for a struct whose fields are keys of a section.
#[proc_macro_derive(Options, attributes(options, key, part, fixed, section, sections))]
pub fn options(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    attributes::Struct::parse(&input)
        .map_or_else(|error| error.to_compile_error(), |options| expand::options(&options))
        .into()
}
