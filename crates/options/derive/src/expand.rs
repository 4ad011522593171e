//! Generates the code for `#[derive(Options)]`. Each generated method has one statement for each field, in the order of
//! the fields, so that the default of a field may use the fields above it.

use crate::attributes::{Head, OptionField, Role, Shown, Struct};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

/// Generates the constant `KEY`, the function `defaults` and the implementation of `Options`.
pub fn options(options: &Struct) -> TokenStream {
    let Struct { name, vis, head, fields } = options;
    let Head { context, context_type, .. } = head;
    let names: Vec<_> = fields.iter().map(|field| &field.name).collect();
    let handles: Vec<_> = fields.iter().filter_map(handle).collect();
    let [key_names, key_types, key_values] = [0, 1, 2].map(|part| handles.iter().map(move |handle| &handle[part]));
    let keys = fields.iter().map(keys);
    let reads = fields.iter().map(read);
    let documents = fields.iter().map(document);
    let values = fields.iter().map(values);
    let defaults = head.defaults.then(|| defaults(options));
    let by_default = head.defaults.then(|| by_default(options));
    let check = head.check.then(|| quote!(this.check(section)?;));
    quote! {
        const _: () = {
            /// The keys of the section, under the names of the struct's fields.
            #[allow(missing_docs, reason = "the fields of the struct have the comments")]
            #[derive(Clone, Copy, Debug)]
            pub struct FieldKeys { #(pub #key_names: #key_types,)* }

            #[automatically_derived]
            #[allow(dead_code, reason = "keys are used where code refers to them")]
            impl #name {
                /// The keys of the section.
                #vis const KEY: FieldKeys = FieldKeys { #(#key_values)* };
                #defaults
            }

            #by_default
            #[automatically_derived]
            #[allow(unused_variables, clippy::vec_init_then_push, reason = "generated")]
            impl ::shallop_options::Options for #name {
                type Context = #context_type;

                fn keys() -> ::std::vec::Vec<&'static ::shallop_options::Key> {
                    let mut all = ::std::vec::Vec::new();
                    #(#keys)*
                    all
                }

                fn read(
                    section: &::shallop_options::Section<'_>,
                    #context: #context_type,
                ) -> ::std::result::Result<Self, ::shallop_options::Problem> {
                    #(#reads)*
                    let this = Self { #(#names),* };
                    #check
                    Ok(this)
                }

                fn describe(#context: #context_type) -> ::std::vec::Vec<::shallop_options::KeyDoc> {
                    let mut all = ::std::vec::Vec::new();
                    #(#documents)*
                    all
                }

                fn values(
                    &self,
                ) -> ::std::vec::Vec<(&'static ::shallop_options::Key, ::std::option::Option<String>)> {
                    let mut all = ::std::vec::Vec::new();
                    #(#values)*
                    all
                }
            }
        };
    }
}

/// Generates the declaration and the initialiser of a field in the type of `KEY`: name, type, and `name: value,`.
fn handle(field: &OptionField) -> Option<[TokenStream; 3]> {
    let OptionField { name, ty, about, role } = field;
    let word = name.unraw().to_string();
    let key = |value_type: TokenStream, required: bool, was: &[syn::LitStr]| {
        quote! {
            &::shallop_options::Key {
                name: #word,
                value_type: #value_type,
                about: #about,
                required: #required,
                formerly: &[#(#was),*],
            }
        }
    };
    match role {
        Role::Key { value_type, required, was, .. } => {
            let declared = value_type.as_ref().map_or_else(
                || quote!(None),
                |declared| {
                    quote!(Some({
                        #[allow(unused_imports, reason = "constants are declared elsewhere")]
                        use ::shallop_options::ValueType::*;
                        #declared
                    }))
                },
            );
            let key = key(quote!(::shallop_options::value_type::<#ty>(#declared)), *required, was);
            Some([quote!(#name), quote!(&'static ::shallop_options::Key), quote!(#name: #key,)])
        }
        Role::Subsection { variant, required, was } => {
            let value_type = quote! {
                ::shallop_options::ValueType::#variant(<#ty>::KEYS)
            };
            let key = key(value_type, *required, was);
            Some([quote!(#name), quote!(#ty), quote!(#name: <#ty>::new(#key),)])
        }
        Role::Part(_) | Role::Fixed(_) => None,
    }
}

fn keys(field: &OptionField) -> TokenStream {
    let OptionField { name, ty, role, .. } = field;
    match role {
        Role::Key { .. } => quote!(all.push(Self::KEY.#name);),
        Role::Part(_) => quote!(all.extend(<#ty as ::shallop_options::Options>::keys());),
        Role::Fixed(_) => quote!(),
        Role::Subsection { .. } => quote!(all.push(Self::KEY.#name.key);),
    }
}

fn read(field: &OptionField) -> TokenStream {
    let OptionField { name, ty, role, .. } = field;
    match role {
        Role::Key { default: Some(default), .. } => quote! {
            let #name = match section.value::<#ty>(Self::KEY.#name)? {
                Some(written) => written,
                None => #default,
            };
        },
        Role::Key { default: None, .. } => quote! {
            let #name = section.required::<#ty>(Self::KEY.#name)?;
        },
        Role::Part(context) => quote! {
            let #name = <#ty as ::shallop_options::Options>::read(section, #context)?;
        },
        Role::Fixed(value) => quote!(let #name: #ty = #value;),
        Role::Subsection { .. } => quote!(let #name = Self::KEY.#name;),
    }
}

fn defaults(options: &Struct) -> TokenStream {
    let Struct { vis, head: Head { context, context_type, .. }, fields, .. } = options;
    let names = fields.iter().map(|field| &field.name);
    let values = fields.iter().map(|OptionField { name, ty, role, .. }| match role {
        Role::Key { default: Some(value), .. } => quote!(let #name: #ty = #value;),
        Role::Key { default: None, .. } => {
            quote!(compile_error!("a struct with a required key has no defaults");)
        }
        Role::Part(context) => quote!(let #name = <#ty>::defaults(#context);),
        Role::Fixed(value) => quote!(let #name: #ty = #value;),
        Role::Subsection { .. } => quote!(let #name = Self::KEY.#name;),
    });
    quote! {
        /// The options of a section in which no key is written.
        #[must_use]
        #[allow(unused_variables, clippy::vec_init_then_push, reason = "generated")]
        #vis const fn defaults(#context: #context_type) -> Self {
            #(#values)*
            Self { #(#names),* }
        }
    }
}

/// Generates `Default` for a struct whose defaults depend on no value.
fn by_default(Struct { name, head, .. }: &Struct) -> Option<TokenStream> {
    (head.context == "_context").then(|| {
        quote! {
            #[automatically_derived]
            impl ::std::default::Default for #name {
                fn default() -> Self { Self::defaults(()) }
            }
        }
    })
}

fn document(field: &OptionField) -> TokenStream {
    let OptionField { name, ty, role, .. } = field;
    let push = |key: TokenStream, default: TokenStream| {
        quote! { all.push(::shallop_options::KeyDoc { key: #key, default: #default }); }
    };
    match role {
        Role::Key { default: Some(_), shown: Some(Shown::Always(shown)), .. } => {
            push(quote!(Self::KEY.#name), quote!(Some(String::from(#shown))))
        }
        Role::Key { default: Some(default), shown, .. } => {
            let or = shown.as_ref().map(|shown| match shown {
                Shown::Always(text) | Shown::WithoutValue(text) => {
                    quote!(.or_else(|| Some(String::from(#text))))
                }
            });
            let push = push(quote!(Self::KEY.#name), quote!(::shallop_options::Value::show(&#name) #or));
            quote!(let #name: #ty = #default; #push)
        }
        Role::Key { default: None, .. } => push(quote!(Self::KEY.#name), quote!(None)),
        Role::Part(context) => {
            quote!(all.extend(<#ty as ::shallop_options::Options>::describe(#context));)
        }
        Role::Fixed(value) => quote!(let #name: #ty = #value;),
        Role::Subsection { .. } => push(quote!(Self::KEY.#name.key), quote!(None)),
    }
}

fn values(field: &OptionField) -> TokenStream {
    let OptionField { name, role, .. } = field;
    match role {
        Role::Key { shown, .. } => {
            let or = shown.as_ref().map(|shown| match shown {
                Shown::Always(text) | Shown::WithoutValue(text) => {
                    quote!(.or_else(|| Some(String::from(#text))))
                }
            });
            quote! {
                all.push((Self::KEY.#name, ::shallop_options::Value::show(&self.#name) #or));
            }
        }
        Role::Part(_) => quote!(all.extend(::shallop_options::Options::values(&self.#name));),
        Role::Fixed(_) => quote!(),
        // The compiler would call a field dead that nothing reads.
        Role::Subsection { .. } => quote!(let _ = self.#name;),
    }
}
