//! Reads scenarios from a file or from standard input.

use serde::Deserialize;
use shallop_plan::Study;
use shallop_plan::files::{Files, FilesInMemory};
use shallop_scenario::{Changes, Options, Programs, variants};
use shallop_workbench::diagnostic::{Result, in_text, name, plain};
use shallop_workbench::fault::in_scenario;
use shallop_workbench::run_study::{parse_scenario, programs_of_file, scenario_text};
use shallop_workbench::{FolderFiles, RecordingFiles};
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file name that means standard input.
const STDIN: &str = "-";

/// The text of a scenario, with keys to set and vary.
pub struct Input {
    name: String,
    text: String,
    /// The file of the text, which decides whether its programs may run.
    file: Option<PathBuf>,
    files: Arc<RecordingFiles>,
    set: Vec<(String, String)>,
    vary: Vec<(String, Vec<String>)>,
}

/// A scenario from a program: a line of JSON (docs/messages.md).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    text: String,
    #[serde(default = "standard_input")]
    name: String,
    /// The file that holds the text.
    file: Option<PathBuf>,
    /// The folder of the files that the scenario names; default: the working directory.
    #[serde(default)]
    folder: PathBuf,
    /// The texts of the files that the scenario names, by name. If present, no file is read.
    files: Option<BTreeMap<String, String>>,
    /// Keys to set, with values in TOML; strings may lack quotes.
    #[serde(default)]
    set: Vec<(String, String)>,
    #[serde(default)]
    vary: Vec<(String, Varied)>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Varied {
    Each(Vec<String>),
    /// Values of a key in TOML as the user typed them, separated by commas.
    Typed(String),
}

fn standard_input() -> String {
    "standard input".to_owned()
}

impl Input {
    /// Reads a scenario from a file, or from standard input if the path is `-`. Standard input is either one line of
    /// JSON or TOML up to its end.
    pub fn read(path: &Path) -> Result<Self> {
        if path.as_os_str() != STDIN {
            let text = scenario_text(path)?;
            let files = Arc::new(FolderFiles::beside(path));
            return Ok(Self { file: Some(path.to_owned()), ..Self::of(name(path), text, files) });
        }
        let unread =
            |why: std::io::Error| in_scenario(plain(&format!("standard input: could not read the scenario: {why}")));
        let (mut text, mut stdin) = (String::new(), std::io::stdin().lock());
        stdin.read_line(&mut text).map_err(unread)?;
        if text.starts_with('{') {
            return Self::requested(&text);
        }
        stdin.read_to_string(&mut text).map_err(unread)?;
        Ok(Self::of(standard_input(), text, Arc::new(FolderFiles::default())))
    }

    fn of(name: String, text: String, files: Arc<dyn Files>) -> Self {
        let files = Arc::new(RecordingFiles::new(files));
        Self { name, text, file: None, files, set: Vec::new(), vary: Vec::new() }
    }

    fn requested(line: &str) -> Result<Self> {
        let request: Request = serde_json::from_str(line)
            .map_err(|why| in_scenario(plain(&format!("standard input: not a request: {why}"))))?;
        let Request { text, name, file, folder, files, set, vary } = request;
        let values = |(key, values): (String, Varied)| match values {
            Varied::Each(values) => Ok((key, values)),
            Varied::Typed(text) => shallop_scenario::values(&text)
                .map(|values| (key.clone(), values))
                .map_err(|why| in_scenario(plain(&format!("{key}: {why}")))),
        };
        let vary = vary.into_iter().map(values).collect::<Result<_>>()?;
        let files: Arc<dyn Files> = match files {
            Some(files) => Arc::new(FilesInMemory(files)),
            None => Arc::new(FolderFiles::new(folder)),
        };
        Ok(Self { file, set, vary, ..Self::of(name, text, files) })
    }

    /// Makes the study of the scenario. Changes in `options` follow those that came with the scenario.
    pub fn study(&self, options: Options) -> Result<Study> {
        let set = self.set.iter().cloned().chain(options.set).collect();
        let vary = self.vary.iter().cloned().chain(options.vary).collect();
        let programs = match &self.file {
            Some(file) => programs_of_file(file, &self.text, &options.programs),
            None if options.programs == Programs::OfOwnFile => {
                Programs::Refused(format!("{} was not read from a file, so its owner is not known", self.name))
            }
            None => options.programs,
        };
        let files = self.files.clone();
        parse_scenario(&self.name, &self.text, &Options { set, vary, files, programs, ..options })
    }

    /// The changes that make the scenario shorter, and those that double its load and its delays.
    pub fn variants(&self, options: &Options, factor: u64) -> Result<[Changes; 3]> {
        let set = self.set.iter().chain(&options.set).cloned().collect();
        let vary = self.vary.iter().chain(&options.vary).cloned().collect();
        variants(&self.text, &Options { set, vary, ..options.clone() }, factor)
            .map_err(|problem| in_scenario(in_text(&self.name, &self.text, problem)))
    }

    /// The names of the files that [`Input::study`] opened.
    pub fn named_files(&self) -> Vec<String> {
        self.files.names()
    }
}
