//! The list of fabrics, from which the choice at run time is generated. A new fabric needs one line at the end of this
//! file.

use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, SwitchNames};
use shallop_core::Seed;
use shallop_options::{Problem, Section, SectionKind, section_kind};

/// Generates `AnyFabric`, an enum with one variant for each listed fabric.
macro_rules! fabrics {
    ($($(#[$about:meta])+ $name:ident($fabric:ty),)+) => {
        /// A fabric of any kind, as `[topology]` of a scenario chooses it.
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
            /// Kinds of fabrics in scenarios, with the keys of each.
            pub fn kinds() -> Vec<SectionKind> {
                vec![$(section_kind::<$fabric>(<$fabric>::KIND, <$fabric>::ABOUT)),+]
            }

            /// Reads the fabric `kind` from a section; `None` if there is no such fabric.
            ///
            /// # Errors
            /// The errors of `Options::read`, and if options do not go together or name a switch that is not described.
            pub fn read(
                kind: &str,
                section: &Section<'_>,
                switches: &SwitchNames<'_>,
            ) -> Option<Result<Self, Problem>> {
                $(if kind == <$fabric>::KIND {
                    return Some(read::<$fabric>(section, switches).map(Self::$name));
                })+
                None
            }

            /// Name of the fabric in results, for readers.
            pub const fn label(&self) -> &'static str {
                match self { $(Self::$name(_) => <$fabric>::LABEL,)+ }
            }

            pub fn size(&self) -> (u64, u64) {
                match self { $(Self::$name(fabric) => fabric.size(),)+ }
            }

            pub fn build(&self, seed: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder {
                match self { $(Self::$name(fabric) => fabric.build(seed, switches),)+ }
            }

            pub fn is_random(&self) -> bool {
                match self { $(Self::$name(fabric) => fabric.is_random(),)+ }
            }
        }
    };
}

fn read<F: Fabric>(section: &Section<'_>, switches: &SwitchNames<'_>) -> Result<F, Problem> {
    let fabric = F::read(section, ())?;
    switches.check::<F>(section)?;
    Ok(fabric)
}

fabrics! {
    /// Hosts on both sides of one bottleneck.
    Dumbbell(crate::dumbbell::Dumbbell),
    /// Switches in a row with hosts at each.
    ParkingLot(crate::parking_lot::ParkingLot),
    /// Three data centres, joined pairwise.
    ThreeDc(crate::three_dc::ThreeDc),
    /// Two tiers of switches: every leaf is joined to every spine.
    LeafSpine(crate::leaf_spine::LeafSpine),
    /// Three tiers of switches: top-of-rack and aggregation switches in pods, and core switches.
    FatTree(crate::fat_tree::FatTree),
    /// Two data centres and one link between them.
    CrossDc(crate::cross_dc::CrossDc),
    /// A path from hosts in the cloud over a campus network to stations at Wi-Fi access points.
    Campus(crate::campus::Campus),
}
