//! Figures and pages of results. The input is a summary with the rows of flows and time series; the output is Vega-Lite
//! specs with their data, and the text of one HTML page. There are no files and no clock: the same results give the
//! same bytes, whichever driver made them.

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
