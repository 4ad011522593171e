//! The macro that declares options: a struct whose fields are keys of a section.

/// Declares a struct of options, each field with its doc comment, what it takes and its default, and implements
/// [`Options`](crate::options::Options) for it. `Config::KEY.scale` is the key of the field `scale`.
///
/// ```
/// # use shallop_core::options;
/// # use shallop_core::options::HostStack;
/// options! {
///     /// Parameters of a controller.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub struct Config(const stack: HostStack) {
///         /// The fraction of the window given up on congestion.
///         key decrease: f64 [Above(0.0, 0.99)] = match stack {
///             HostStack::Ns2 => 0.5,
///             _ => 0.3,
///         };
///         /// The capacity of the network, in bit/s.
///         key capacity: Option<u64> [Integer(1, 1_000_000)] = None, "that of the sender's link";
///     }
/// }
/// assert_eq!(Config::of(HostStack::LinuxIdeal).decrease, 0.3);
/// assert_eq!(Config::KEY.decrease.name, "decrease");
/// ```
///
/// After the name of the struct stands what its defaults depend on, if they depend on anything. With `const` there is
/// a `const fn of`, which makes the struct of its defaults. A field is one of
///
/// - `key NAME: TYPE [FORM] = DEFAULT;`: the default may refer to fields above and to what the struct depends on. The
///   form is a variant of [`Form`](crate::form::Form); a type that has one of its own ([`Natural`]) needs none. Behind
///   the default may stand what the docs call it, in place of its value: `, "that of the link"`, or as an expression
///   `, text format!(...)`; or only where it is `None`: `, or "unlimited"`;
/// - `required NAME: TYPE [FORM];`: a section without it is refused;
/// - `part NAME: TYPE = CONTEXT;`: the keys of another struct of options, which depends on this;
/// - `fixed NAME: TYPE = VALUE;`: no key;
/// - `section NAME: TYPE;` and `sections NAME: TYPE;`: a key whose section, or list of sections, another struct
///   describes, which is read by itself. The struct has no such field;
/// - `other NAME [FORM];`: a key that is read by hand. The struct has no such field. `, required` may follow these
///   three.
///
/// A name that a key had before stands in `#[was("old")]` behind its doc comment. `check FUNCTION;` behind the struct
/// names what is called when all fields are read, with the struct and a function that says whether a key is written.
///
/// [`Natural`]: crate::options::Natural
#[macro_export]
macro_rules! options {
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident (const $context:ident: $depends:ty) { $($body:tt)* }
        $(check $check:expr;)?
    ) => {
        $crate::options! { @field
            ([$(#[$meta])*] [$vis] $name $context [$depends] constant [$($check)?]) [] [] [] [] $($body)*
        }
    };
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident ($context:ident: $depends:ty) { $($body:tt)* }
        $(check $check:expr;)?
    ) => {
        $crate::options! { @field
            ([$(#[$meta])*] [$vis] $name $context [$depends] plain [$($check)?]) [] [] [] [] $($body)*
        }
    };
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident (const) { $($body:tt)* } $(check $check:expr;)?
    ) => {
        $crate::options! { @field
            ([$(#[$meta])*] [$vis] $name _nothing [()] constant [$($check)?]) [] [] [] [] $($body)*
        }
    };
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident { $($body:tt)* } $(check $check:expr;)?
    ) => {
        $crate::options! { @field
            ([$(#[$meta])*] [$vis] $name _nothing [()] plain [$($check)?]) [] [] [] [] $($body)*
        }
    };

    // One field after the other, from the front. Lists: fields of the struct, their names, keys, everything.
    (@field $head:tt [$($fields:tt)*] [$($names:tt)*] [$($keys:tt)*] [$($entries:tt)*]
        $(#[doc = $doc:literal])+ $(#[was($($old:literal),+)])?
        key $field:ident: $type:ty $([$($form:tt)+])? = $default:expr
            $(, $words:literal)? $(, or $or:literal)? $(, text $text:expr)?; $($rest:tt)*
    ) => {
        $crate::options! { @words $head
            [$($fields)* $(#[doc = $doc])+ pub $field: $type,] [$($names)* $field]
            [$($keys)* { $field [&'static $crate::form::Key] [
                $crate::options!(@key $field [$($doc)+] [$($($old)+)?] []
                    [$crate::options!(@form $type; $($($form)+)?)])
            ] }]
            [$($entries)*] [$field [$type] [$default]] [$($words)? $(or $or)? $(text $text)?] $($rest)*
        }
    };
    (@words $head:tt $fields:tt $names:tt $keys:tt [$($entries:tt)*] [$($entry:tt)*] [] $($rest:tt)*) => {
        $crate::options! { @field $head $fields $names $keys [$($entries)* { key $($entry)* }] $($rest)* }
    };
    (@words $head:tt $fields:tt $names:tt $keys:tt [$($entries:tt)*] [$($entry:tt)*] [or $words:literal]
        $($rest:tt)*) => {
        $crate::options! { @field $head $fields $names $keys
            [$($entries)* { or $($entry)* [$words] }] $($rest)*
        }
    };
    (@words $head:tt $fields:tt $names:tt $keys:tt [$($entries:tt)*] [$($entry:tt)*] [text $words:expr]
        $($rest:tt)*) => {
        $crate::options! { @field $head $fields $names $keys
            [$($entries)* { said $($entry)* [$words] }] $($rest)*
        }
    };
    (@words $head:tt $fields:tt $names:tt $keys:tt [$($entries:tt)*] [$($entry:tt)*] [$words:literal]
        $($rest:tt)*) => {
        $crate::options! { @field $head $fields $names $keys
            [$($entries)* { said $($entry)* [$words] }] $($rest)*
        }
    };
    (@field $head:tt [$($fields:tt)*] [$($names:tt)*] [$($keys:tt)*] [$($entries:tt)*]
        $(#[doc = $doc:literal])+ $(#[was($($old:literal),+)])?
        required $field:ident: $type:ty $([$($form:tt)+])?; $($rest:tt)*
    ) => {
        $crate::options! { @field $head
            [$($fields)* $(#[doc = $doc])+ pub $field: $type,] [$($names)* $field]
            [$($keys)* { $field [&'static $crate::form::Key] [
                $crate::options!(@key $field [$($doc)+] [$($($old)+)?] [required]
                    [$crate::options!(@form $type; $($($form)+)?)])
            ] }]
            [$($entries)* { required $field [$type] }] $($rest)*
        }
    };
    (@field $head:tt [$($fields:tt)*] [$($names:tt)*] $keys:tt [$($entries:tt)*]
        $(#[doc = $doc:literal])+ part $field:ident: $type:ty = $context:expr; $($rest:tt)*
    ) => {
        $crate::options! { @field $head
            [$($fields)* $(#[doc = $doc])+ pub $field: $type,] [$($names)* $field] $keys
            [$($entries)* { part $field [$type] [$context] }] $($rest)*
        }
    };
    (@field $head:tt [$($fields:tt)*] [$($names:tt)*] $keys:tt [$($entries:tt)*]
        $(#[doc = $doc:literal])+ fixed $field:ident: $type:ty = $value:expr; $($rest:tt)*
    ) => {
        $crate::options! { @field $head
            [$($fields)* $(#[doc = $doc])+ pub $field: $type,] [$($names)* $field] $keys
            [$($entries)* { fixed $field [$type] [$value] }] $($rest)*
        }
    };
    (@field $head:tt $fields:tt $names:tt [$($keys:tt)*] [$($entries:tt)*]
        $(#[doc = $doc:literal])+ $(#[was($($old:literal),+)])?
        section $field:ident: $type:ty $(, $required:ident)?; $($rest:tt)*
    ) => {
        $crate::options! { @field $head $fields $names
            [$($keys)* { $field [$crate::options::Nested<$type>] [
                $crate::options::Nested {
                    key: $crate::options!(
                        @key $field [$($doc)+] [$($($old)+)?] [$($required)?]
                        [$crate::form::Form::Section($crate::options::keys::<$type>())]
                    ),
                    of: ::std::marker::PhantomData,
                }
            ] }]
            [$($entries)* { nested $field }] $($rest)*
        }
    };
    (@field $head:tt $fields:tt $names:tt [$($keys:tt)*] [$($entries:tt)*]
        $(#[doc = $doc:literal])+ $(#[was($($old:literal),+)])?
        sections $field:ident: $type:ty $(, $required:ident)?; $($rest:tt)*
    ) => {
        $crate::options! { @field $head $fields $names
            [$($keys)* { $field [$crate::options::Nested<$type>] [
                $crate::options::Nested {
                    key: $crate::options!(
                        @key $field [$($doc)+] [$($($old)+)?] [$($required)?]
                        [$crate::form::Form::Sections($crate::options::keys::<$type>())]
                    ),
                    of: ::std::marker::PhantomData,
                }
            ] }]
            [$($entries)* { nested $field }] $($rest)*
        }
    };
    (@field $head:tt $fields:tt $names:tt [$($keys:tt)*] [$($entries:tt)*]
        $(#[doc = $doc:literal])+ $(#[was($($old:literal),+)])?
        other $field:ident [$($form:tt)+] $(, $required:ident)? $(, $words:literal)?; $($rest:tt)*
    ) => {
        $crate::options! { @field $head $fields $names
            [$($keys)* { $field [&'static $crate::form::Key] [
                $crate::options!(@key $field [$($doc)+] [$($($old)+)?] [$($required)?]
                    [$crate::options!(@variant $($form)+)])
            ] }]
            [$($entries)* { other $field [$($words)?] }] $($rest)*
        }
    };

    // All fields are taken apart.
    (@field
        ([$($meta:tt)*] [$vis:vis] $name:ident $context:ident [$depends:ty] $mode:ident [$($check:expr)?])
        [$($fields:tt)*] [$($names:ident)*] [$({ $key:ident [$handle:ty] [$value:expr] })*]
        [$({ $($entry:tt)* })*]
    ) => {
        $($meta)*
        $vis struct $name { $($fields)* }
        const _: () = {
            /// The keys by the names of their fields.
            #[derive(Clone, Copy, Debug)]
            #[allow(missing_docs, reason = "the fields of the struct say it")]
            pub struct FieldKeys { $(pub $key: $handle,)* }

            #[allow(dead_code, reason = "not every struct is asked for its keys")]
            impl $name {
                /// Its keys.
                $vis const KEY: FieldKeys = FieldKeys { $($key: $value,)* };
            }

            $crate::options! { @of $mode $vis $name $context [$depends] [$($names)*] $({ $($entry)* })* }

            #[allow(unused_variables, reason = "a default need not depend on anything")]
            #[allow(clippy::vec_init_then_push, reason = "each field adds its part in its own way")]
            impl $crate::options::Options for $name {
                type Context = $depends;

                fn keys() -> Vec<&'static $crate::form::Key> {
                    let mut all = Vec::new();
                    $($crate::options! { @keys all $($entry)* })*
                    all
                }

                fn read<S: $crate::options::Source>(
                    source: &S,
                    $context: $depends,
                ) -> Result<Self, S::Error> {
                    $($crate::options! { @read source $($entry)* })*
                    let this = Self { $($names),* };
                    $(
                        let checked: Result<(), $crate::options::Refused> =
                            $check(&this, &|key| source.is_written(key));
                        checked.map_err(|refused| source.refuse(refused))?;
                    )?
                    Ok(this)
                }

                fn describe($context: $depends) -> Vec<$crate::form::Described> {
                    let mut all = Vec::new();
                    $($crate::options! { @describe all $($entry)* })*
                    all
                }

                fn values(&self) -> Vec<(&'static $crate::form::Key, Option<String>)> {
                    let mut all = Vec::new();
                    $($crate::options! { @values all self $($entry)* })*
                    all
                }
            }
        };
    };

    // A key.
    (@key $field:ident [$($doc:literal)+] [$($old:literal)*] [$($required:ident)?] [$form:expr]) => {
        &$crate::form::Key {
            name: stringify!($field),
            form: $form,
            about: concat!($($doc),+),
            required: $crate::options!(@is $($required)?),
            formerly: &[$($old),*],
        }
    };
    (@is) => { false };
    (@is required) => { true };
    (@form $type:ty;) => { <$type as $crate::options::Natural>::FORM };
    (@form $type:ty; $($form:tt)+) => {{
        let form = $crate::options!(@variant $($form)+);
        assert!(form.fits(<$type as $crate::options::Value>::READS), "another type reads this form");
        form
    }};
    (@variant = $form:expr) => { $form };
    (@variant $variant:ident $($bounds:tt)*) => { $crate::form::Form::$variant $($bounds)* };

    // The struct of defaults.
    (@of plain $($rest:tt)*) => {};
    (@of constant $vis:vis $name:ident $context:ident [$depends:ty] [$($names:ident)*] $({ $($entry:tt)* })*) => {
        #[allow(dead_code, unused_variables, reason = "not every struct is asked for its defaults")]
        impl $name {
            /// Its defaults.
            #[must_use]
            $vis const fn of($context: $depends) -> Self {
                $($crate::options! { @default $($entry)* })*
                Self { $($names),* }
            }
        }
    };
    (@default part $field:ident [$type:ty] [$context:expr]) => { let $field = <$type>::of($context); };
    (@default nested $($rest:tt)*) => {};
    (@default other $($rest:tt)*) => {};
    (@default $kind:ident $field:ident [$type:ty] [$default:expr] $($rest:tt)*) => {
        let $field: $type = $default;
    };

    (@keys $all:ident part $field:ident [$type:ty] $($rest:tt)*) => {
        $all.extend(<$type as $crate::options::Options>::keys());
    };
    (@keys $all:ident fixed $($rest:tt)*) => {};
    (@keys $all:ident nested $field:ident) => { $all.push(Self::KEY.$field.key); };
    (@keys $all:ident $kind:ident $field:ident $($rest:tt)*) => { $all.push(Self::KEY.$field); };

    (@read $source:ident required $field:ident [$type:ty]) => {
        let $field = $source.required::<$type>(Self::KEY.$field)?;
    };
    (@read $source:ident part $field:ident [$type:ty] [$context:expr]) => {
        let $field = <$type as $crate::options::Options>::read($source, $context)?;
    };
    (@read $source:ident fixed $field:ident [$type:ty] [$value:expr]) => {
        let $field: $type = $value;
    };
    (@read $source:ident nested $($rest:tt)*) => {};
    (@read $source:ident other $($rest:tt)*) => {};
    (@read $source:ident $kind:ident $field:ident [$type:ty] [$default:expr] $($rest:tt)*) => {
        let $field = match $source.value::<$type>(Self::KEY.$field)? {
            Some(written) => written,
            None => $default,
        };
    };

    (@describe $all:ident key $field:ident [$type:ty] [$default:expr]) => {
        let $field: $type = $default;
        let default = $crate::options::Value::show(&$field);
        $all.push($crate::form::Described { key: Self::KEY.$field, default });
    };
    (@describe $all:ident or $field:ident [$type:ty] [$default:expr] [$words:literal]) => {
        let $field: $type = $default;
        let default = $crate::options::Value::show(&$field).or_else(|| Some($words.to_owned()));
        $all.push($crate::form::Described { key: Self::KEY.$field, default });
    };
    (@describe $all:ident said $field:ident [$type:ty] [$default:expr] [$words:expr]) => {
        let default = Some(String::from($words));
        $all.push($crate::form::Described { key: Self::KEY.$field, default });
    };
    (@describe $all:ident required $field:ident $($rest:tt)*) => {
        $all.push($crate::form::Described { key: Self::KEY.$field, default: None });
    };
    (@describe $all:ident part $field:ident [$type:ty] [$context:expr]) => {
        $all.extend(<$type as $crate::options::Options>::describe($context));
    };
    (@describe $all:ident fixed $field:ident [$type:ty] [$value:expr]) => {
        let $field: $type = $value;
    };
    (@describe $all:ident nested $field:ident) => {
        $all.push($crate::form::Described { key: Self::KEY.$field.key, default: None });
    };
    (@describe $all:ident other $field:ident []) => {
        $all.push($crate::form::Described { key: Self::KEY.$field, default: None });
    };
    (@describe $all:ident other $field:ident [$words:literal]) => {
        $all.push($crate::form::Described { key: Self::KEY.$field, default: Some($words.to_owned()) });
    };

    (@values $all:ident $this:ident part $field:ident $($rest:tt)*) => {
        $all.extend($crate::options::Options::values(&$this.$field));
    };
    (@values $all:ident $this:ident fixed $($rest:tt)*) => {};
    (@values $all:ident $this:ident nested $($rest:tt)*) => {};
    (@values $all:ident $this:ident other $($rest:tt)*) => {};
    (@values $all:ident $this:ident or $field:ident [$type:ty] [$default:expr] [$words:expr]) => {
        $crate::options! { @values $all $this said $field [$type] [$default] [$words] }
    };
    (@values $all:ident $this:ident said $field:ident [$type:ty] [$default:expr] [$words:expr]) => {
        let value = $crate::options::Value::show(&$this.$field);
        $all.push((Self::KEY.$field, value.or_else(|| Some(String::from($words)))));
    };
    (@values $all:ident $this:ident $kind:ident $field:ident $($rest:tt)*) => {
        $all.push((Self::KEY.$field, $crate::options::Value::show(&$this.$field)));
    };
}

#[cfg(test)]
mod tests {
    use crate::form::{Form, Key};
    use crate::options::{HostStack, Options, Refused};
    use crate::units::Span;

    options! {
        /// What two structs have in common.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Common(const first: u32) {
            /// The first window, in segments.
            #[was("begin")]
            key initial_window: u32 [Integer(1, 100)] = first;
            /// The least window, in segments.
            key least_window: u32 [Integer(1, 100)] = initial_window / 2;
        }
    }

    options! {
        /// One of the two.
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct Config(const stack: HostStack) {
            /// The part.
            part common: Common = match stack {
                HostStack::Ns2 => 2,
                _ => 10,
            };
            /// No key.
            fixed old: bool = matches!(stack, HostStack::Ns2);
            /// A time.
            key limit: Option<Span> [Time(Span::ZERO, Span::MAX)] = match stack {
                HostStack::Ns3 => Some(Span::from_ms(1)),
                _ => None,
            }, or "no limit";
            /// A switch.
            key on: bool = false, text format!("{} or {}", true, false);
        }
        check Config::check;
    }

    impl Config {
        fn check(&self, is_written: &dyn Fn(&'static Key) -> bool) -> Result<(), Refused> {
            let refused = self.on && is_written(Self::KEY.limit);
            if refused { Err(Refused::new(Self::KEY.limit, "not with `on`", "")) } else { Ok(()) }
        }
    }

    #[test]
    fn defaults_depend_on_the_stack_and_on_fields_above() {
        let common = |initial_window| Common { initial_window, least_window: initial_window / 2 };
        let ns2 = Config { common: common(2), old: true, limit: None, on: false };
        assert_eq!(Config::of(HostStack::Ns2), ns2);
        let limit = Some(Span::from_ms(1));
        let ns3 = Config { common: common(10), old: false, limit, on: false };
        assert_eq!(Config::of(HostStack::Ns3), ns3);
    }

    #[test]
    fn keys_are_described_in_their_order_with_the_defaults_of_the_stack() {
        let described = |stack| {
            let all = Config::describe(stack).into_iter();
            all.map(|it| (it.key.name, it.default.unwrap())).collect::<Vec<_>>()
        };
        let own = |values: [&str; 4]| {
            let names = ["initial_window", "least_window", "limit", "on"];
            names.into_iter().zip(values.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(described(HostStack::Ns2), own(["2", "1", "no limit", "true or false"]));
        assert_eq!(described(HostStack::Ns3), own(["10", "5", "\"1ms\"", "true or false"]));
        let values = Config::of(HostStack::Ns3).values();
        let values: Vec<_> = values.into_iter().map(|(key, value)| (key.name, value)).collect();
        assert_eq!(values[2..], [("limit", Some("\"1ms\"".into())), ("on", Some("false".into()))]);
    }

    #[test]
    fn a_key_knows_its_name_its_form_and_what_it_was_called() {
        let key = Common::KEY.initial_window;
        assert_eq!((key.name, key.formerly), ("initial_window", &["begin"][..]));
        assert!(matches!(key.form, Form::Integer(1, 100)) && !key.required);
        assert_eq!(key.about.trim(), "The first window, in segments.");
    }
}
