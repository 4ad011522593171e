//! Figures and pages of results. The input is a summary, and rows of flows and time series. The output is Vega-Lite
//! specs with their data, and the text of one HTML page. The crate uses no files and no clock: equal results give equal
//! bytes, whichever driver made them.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod axis;
pub mod binned_series;
pub mod colours;
pub mod comparison;
pub mod figure;
pub mod figure_data;
pub mod figures;
pub mod headline;
pub mod page;
pub mod scripts;
pub mod spec_parts;
pub mod text;

pub use figure::Figure;
pub use figure_data::{FigureData, PlotFlow, PlotSample};
pub use headline::Headline;
pub use page::{IndexEntry, Page, PageTable};
