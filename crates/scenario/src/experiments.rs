//! The shipped experiments, compiled in. The folder `experiments` of this crate is a link to the one at the root of the
//! repository, so that the published package has the files.

use include_dir::{Dir, include_dir};

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/experiments");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// The name of the file without `.toml`, by which `shallop reproduce` knows the experiment.
    pub id: &'static str,
    /// The scenario as TOML.
    pub text: &'static str,
}

impl Shipped {
    /// Reads the title, what the experiment shows, how long it takes, and how long with `--quick`. The rest of the
    /// scenario is not read.
    pub fn heading(&self) -> [String; 4] {
        let root: String = self.text.split_inclusive('\n').take_while(|line| !line.starts_with('[')).collect();
        let root: toml::Table = root.parse().unwrap_or_default();
        let takes = |at: usize| root.get("takes").and_then(|takes| takes.get(at));
        let values = [root.get("title"), root.get("about"), takes(0), takes(1)];
        values.map(|value| value.and_then(toml::Value::as_str).unwrap_or_default().to_owned())
    }
}

/// All shipped experiments, sorted by name.
pub fn all() -> Vec<Shipped> {
    let shipped = |file: &'static include_dir::File<'static>| {
        let id = file.path().to_str()?.strip_suffix(".toml")?;
        Some(Shipped { id, text: file.contents_utf8()? })
    };
    let mut all: Vec<Shipped> = FILES.files().filter_map(shipped).collect();
    all.sort_by_key(|shipped| shipped.id);
    all
}

pub fn find(id: &str) -> Option<Shipped> {
    all().into_iter().find(|shipped| shipped.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, read};

    #[test]
    fn every_shipped_experiment_reads_in_full_and_quick() {
        assert!(find("fp-fig10a").is_some() && find("nothing").is_none());
        for Shipped { id, text } in all() {
            for quick in [false, true] {
                let study = read(text, &Options { quick, ..Options::default() });
                assert!(study.is_ok(), "{id}: {study:?}");
            }
        }
    }

    #[test]
    fn headings_are_what_the_whole_scenarios_say() {
        for shipped in all() {
            let study = read(shipped.text, &Options::default()).unwrap();
            let (full, quick) = study.takes;
            assert_eq!(shipped.heading(), [study.title, study.about, full, quick], "{}", shipped.id);
        }
    }
}
