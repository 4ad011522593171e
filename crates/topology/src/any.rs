//! The fabrics there are, one line each: the choice at run time follows from them. A new fabric adds a line at the end
//! of this file.

use shallop_core::Seed;
use shallop_core::form::Kind;
use shallop_core::options::{Options, Source, kind};

use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Section};

/// Makes the choice among these fabrics.
macro_rules! fabrics {
    ($($(#[$about:meta])+ $name:ident($fabric:ty),)+) => {
        /// One of the fabrics, as it is to be built.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyFabric {
            $($(#[$about])+ $name($fabric),)+
        }

        $(impl From<$fabric> for AnyFabric {
            fn from(fabric: $fabric) -> Self {
                Self::$name(fabric)
            }
        })+

        impl AnyFabric {
            /// The names that scenarios have for fabrics, with the keys of each.
            #[must_use]
            pub fn kinds() -> Vec<Kind> {
                vec![$(kind::<<$fabric as Fabric>::Options>(<$fabric>::KIND, <$fabric>::ABOUT)),+]
            }

            /// The fabric of this name, by its options; `None` if there is none.
            ///
            /// # Errors
            /// As [`Options::read`] and [`Fabric::new`].
            pub fn read<S: Source>(
                kind: &str,
                section: &Section<'_, S>,
            ) -> Option<Result<Self, S::Error>> {
                $(if kind == <$fabric>::KIND {
                    let options = <$fabric as Fabric>::Options::read(section.source, ());
                    let fabric = options.and_then(|options| <$fabric>::new(options, section));
                    return Some(fabric.map(Self::$name));
                })+
                None
            }

            /// What results call it.
            #[must_use]
            pub const fn label(&self) -> &'static str {
                match self { $(Self::$name(_) => <$fabric>::LABEL,)+ }
            }

            /// See [`Fabric::size`].
            #[must_use]
            pub fn size(&self) -> (u64, u64) {
                match self { $(Self::$name(fabric) => fabric.size(),)+ }
            }

            /// See [`Fabric::build`].
            #[must_use]
            pub fn build(&self, seed: Seed) -> NetworkBuilder {
                match self { $(Self::$name(fabric) => fabric.build(seed),)+ }
            }

            /// See [`Fabric::is_random`].
            #[must_use]
            pub fn is_random(&self) -> bool {
                match self { $(Self::$name(fabric) => fabric.is_random(),)+ }
            }
        }
    };
}

fabrics! {
    /// Hosts, one bottleneck, hosts.
    Dumbbell(crate::dumbbell::Dumbbell),
    /// Switches in a row with hosts at each.
    ParkingLot(crate::parking_lot::ParkingLot),
    /// Three data centres, joined pairwise.
    ThreeDc(crate::three_dc::ThreeDc),
    /// Two tiers of switches.
    LeafSpine(crate::leaf_spine::LeafSpine),
    /// Three tiers of switches.
    FatTree(crate::fat_tree::FatTree),
    /// Two data centres and one link between them.
    CrossDc(crate::cross_dc::CrossDc),
    /// From the cloud to the stations of access points.
    Campus(crate::campus::Campus),
}
