//! Parses arbitrary text as a scenario. The text is read, or refused with an error at a place inside the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shallop_plan::files::FilesInMemory;
use shallop_scenario::{Options, read};
use std::sync::Arc;

fn files() -> FilesInMemory {
    FilesInMemory::from_texts([
        ("net.csv", "from,to,rate,delay\na,b,1Gbps,1ms\nb,c,1Gbps,1ms\n"),
        ("sizes.csv", "1000,0.5\n100000,1\n"),
        ("flows.csv", "start,source,destination,bytes\n0,s0,r0,1000\n0.1,s1,r0,2000\n"),
    ])
}

fuzz_target!(|text: &str| {
    let options = Options { files: Arc::new(files()), ..Options::default() };
    match read(text, &options) {
        Ok(study) => {
            assert!(!study.points.is_empty() && !study.seeds.is_empty());
            assert!(study.points.iter().all(|point| !point.plan.schemes.is_empty()));
        }
        Err(problem) => {
            assert!(!problem.message().is_empty(), "nothing is said: {problem:?}");
            if let Some(span) = problem.span {
                let shown = text.get(span.clone());
                assert!(shown.is_some(), "{span:?} is no part of {} bytes", text.len());
            }
        }
    }
});
