//! The results of runs: the schema of `summary.json`, verdicts on claims, means over seeds, tables of figures. The
//! crate depends on no other crate of the workspace, so that every driver and every reader of results uses the same
//! types.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

/// Gives an enum `ALL` in the order of its variants, and a method with the name of each.
macro_rules! names {
    ($type:ident::$method:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in results and tables.
            pub const fn $method(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

pub mod advice;
pub mod aggregate;
pub mod agreement;
pub mod claim;
pub mod claim_fields;
mod columns;
pub mod comparison;
pub mod completion;
pub mod contrast;
pub mod design;
pub mod drops;
pub mod group_table;
mod host_summary;
pub mod judged;
pub mod legend;
mod link;
pub mod links;
pub mod machine;
mod measured;
pub mod metrics;
pub mod paired;
pub mod program_table;
pub mod question;
pub mod race;
pub mod recorded;
pub mod rehearsal_bound;
pub mod rehearsal_table;
pub mod reuse;
pub mod setup;
pub mod summary;
pub mod table;
pub mod tolerance;
pub mod units;
pub mod verdict;
pub mod void;
pub mod warning_lines;

pub use aggregate::{Aggregate, Estimate};
pub use claim::{Claim, Differs, Kind, Range, Seeds};
pub use design::{Design, Job, Point, Shard};
pub use judged::{Bound, JudgedClaim, Verdict};
pub use link::Link;
pub use recorded::{RecordedClaim, RecordedFigures, RecordedRun};
pub use reuse::Reuse;
pub use setup::{DerivedValue, SchemeInfo, SizeClasses};
pub use summary::{Run, Summary};
