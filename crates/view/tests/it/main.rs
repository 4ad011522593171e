//! Tests of the public interface of shallop-view: one executable, one module per subject.

mod pages;
mod true_words;
