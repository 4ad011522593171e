//! The attributes of a struct of options and of its fields.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Meta, Result, Token, Type, Visibility,
};

/// A parsed struct with `#[derive(Options)]`.
pub struct Struct {
    pub name: Ident,
    pub vis: Visibility,
    pub head: Head,
    pub fields: Vec<OptionField>,
}

/// Parsed arguments of `#[options(stack: HostStack, defaults, check)]` at a struct.
pub struct Head {
    /// Name and type of the value on which defaults depend, such as `stack: HostStack`.
    pub context: Ident,
    pub context_type: TokenStream,
    /// Whether the context is another value of the struct itself, whose fields are the defaults.
    pub preset: bool,
    /// Whether to generate `const fn defaults`.
    pub defaults: bool,
    /// Whether to call the struct's method `check` after all fields are read.
    pub check: bool,
}

/// A parsed field of a struct of options.
pub struct OptionField {
    pub name: Ident,
    pub ty: Type,
    /// Doc comment of the field, as an expression of type `&'static str`.
    pub about: TokenStream,
    pub role: Role,
}

/// What a field of a struct of options contributes to its section: a key, further keys, or none.
#[expect(clippy::large_enum_variant, reason = "one for each field, while the macro runs")]
pub enum Role {
    /// A key with a value: `#[key(TYPE, default = VALUE, shown = TEXT, or = TEXT, was = "old name", required)]`.
    Key { value_type: Option<Expr>, default: Option<Expr>, shown: Option<Shown>, required: bool, was: Vec<LitStr> },
    /// `#[part(CONTEXT)]`: another struct of options, whose keys are in the same section.
    Part(TokenStream),
    /// `#[fixed(VALUE)]`: a field that no key sets.
    Fixed(TokenStream),
    /// `#[section]` and `#[sections]`: a key with a section, or a list of sections, that another struct describes.
    Subsection { variant: Ident, required: bool, was: Vec<LitStr> },
}

/// Text that the docs show in place of a default.
pub enum Shown {
    Always(Expr),
    WithoutValue(Expr),
}

/// Parsed arguments of the attributes `key`, `section` and `sections`.
#[derive(Default)]
struct Arguments {
    value_type: Option<Expr>,
    default: Option<Expr>,
    shown: Option<Shown>,
    was: Vec<LitStr>,
    required: bool,
}

impl Parse for Head {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut head = Self::default();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            if input.peek(Token![:]) {
                input.parse::<Token![:]>()?;
                let ty: Type = input.parse()?;
                (head.context, head.context_type) = (word, quote!(#ty));
            } else {
                match word.to_string().as_str() {
                    "defaults" => head.defaults = true,
                    "check" => head.check = true,
                    "preset" => {
                        head.preset = true;
                        (head.context, head.context_type) = (word, quote!(Self));
                    }
                    _ => return Err(Error::new(word.span(), "unknown argument of `options`")),
                }
            }
            comma(input)?;
        }
        Ok(head)
    }
}

impl Default for Head {
    fn default() -> Self {
        let context = Ident::new("_context", proc_macro2::Span::call_site());
        Self { context, context_type: quote!(()), preset: false, defaults: false, check: false }
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                let word: Ident = input.parse()?;
                input.parse::<Token![=]>()?;
                match word.to_string().as_str() {
                    "default" => arguments.default = Some(input.parse()?),
                    "shown" => arguments.shown = Some(Shown::Always(input.parse()?)),
                    "or" => arguments.shown = Some(Shown::WithoutValue(input.parse()?)),
                    "was" => arguments.was.push(input.parse()?),
                    _ => return Err(Error::new(word.span(), "unknown argument of a key")),
                }
            } else {
                let expression: Expr = input.parse()?;
                match &expression {
                    Expr::Path(path) if path.path.is_ident("required") => arguments.required = true,
                    _ => arguments.value_type = Some(expression),
                }
            }
            comma(input)?;
        }
        Ok(arguments)
    }
}

fn comma(input: ParseStream<'_>) -> Result<()> {
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}

impl Struct {
    pub fn parse(input: &DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new(input.ident.span(), "options are a struct"));
        };
        let Fields::Named(fields) = &data.fields else {
            return Err(Error::new(input.ident.span(), "the fields of options have names"));
        };
        let head = input.attrs.iter().find(|attribute| attribute.path().is_ident("options"));
        let head = head.map_or_else(|| Ok(Head::default()), Attribute::parse_args)?;
        let fields = fields.named.iter().map(|field| OptionField::parse(field, &head));
        let fields = fields.collect::<Result<_>>()?;
        Ok(Self { name: input.ident.clone(), vis: input.vis.clone(), head, fields })
    }
}

impl OptionField {
    fn parse(field: &Field, head: &Head) -> Result<Self> {
        const ROLES: [&str; 5] = ["key", "part", "fixed", "section", "sections"];
        let Some(name) = field.ident.clone() else {
            return Err(Error::new(field.span(), "the fields of options have names"));
        };
        let attribute = field.attrs.iter().find_map(|attribute| {
            let role = ROLES.into_iter().find(|role| attribute.path().is_ident(role))?;
            Some((role, attribute))
        });
        let (role, attribute) = attribute.map_or(("key", None), |(role, of)| (role, Some(of)));
        let context = &head.context;
        let of_preset = quote_spanned!(name.span() => #context.#name);
        let role = match role {
            "key" => {
                let Arguments { value_type, mut default, shown, required, was } = arguments(attribute)?;
                if default.is_none() && head.preset {
                    default = Some(syn::parse2(of_preset)?);
                } else if default.is_none() && is_option(&field.ty) {
                    default = Some(syn::parse_quote!(None));
                }
                Role::Key { value_type, required: required || default.is_none(), default, shown, was }
            }
            "part" if head.preset => Role::Part(of_preset),
            "fixed" if head.preset => Role::Fixed(of_preset),
            "part" => Role::Part(expression(attribute)?.unwrap_or_else(|| quote!(()))),
            "fixed" => Role::Fixed(
                expression(attribute)?.ok_or_else(|| Error::new(attribute.span(), "write the value: #[fixed(...)]"))?,
            ),
            _ => {
                let Arguments { required, was, .. } = arguments(attribute)?;
                let variant = if role == "section" { "Section" } else { "Sections" };
                Role::Subsection { variant: Ident::new(variant, name.span()), required, was }
            }
        };
        Ok(Self { name, ty: field.ty.clone(), about: about(&field.attrs), role })
    }
}

fn arguments(attribute: Option<&Attribute>) -> Result<Arguments> {
    match attribute {
        Some(attribute) if !matches!(attribute.meta, Meta::Path(_)) => attribute.parse_args(),
        _ => Ok(Arguments::default()),
    }
}

fn expression(attribute: Option<&Attribute>) -> Result<Option<TokenStream>> {
    match attribute {
        Some(attribute) if !matches!(attribute.meta, Meta::Path(_)) => {
            attribute.parse_args::<Expr>().map(|expression| Some(quote!(#expression)))
        }
        _ => Ok(None),
    }
}

fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Option")
}

/// The doc comment, as an expression of type `&'static str`.
fn about(attributes: &[Attribute]) -> TokenStream {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(line) if line.path.is_ident("doc") => Some(&line.value),
        _ => None,
    });
    quote!(concat!(#(#lines),*))
}
