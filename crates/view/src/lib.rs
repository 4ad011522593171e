//! Figures and pages of results. What a summary says and the rows of flows and series go in; Vega-Lite specs with their
//! data and the text of one HTML page come out. No files, no clock: the same results give the same bytes. Who simulated
//! and how is not known here.

pub mod axis;
pub mod cases;
pub mod figure;
pub mod figures;
pub mod gather;
pub mod marks;
pub mod page;
pub mod scripts;
pub mod series;
pub mod summary;
pub mod text;
pub mod units;

pub use figure::Figure;
pub use gather::{FlowRow, Gather, SeriesRow};
pub use page::{Entry, Page, Table};
pub use summary::Summary;
