//! The dialogues of this folder: a sender and a receiver, or one of them with a peer whose messages and streams are
//! written by hand.

use super::{Numbers, Outcome, contents, part, plant, sources, token};
use crate::memory_link::MemoryLink;
use crate::peer::{Peer, sum};
use shallop_testing::dialogue::{self, Scope};
use shallop_transfer::limits::Limits;
use shallop_transfer::protocol::{Link, PART_SUFFIX, ReceiveOptions, SendOptions, SourcePaths, receive, send};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// The folders `from`, of a sender, and `around`, in which `to` is the folder of a receiver.
struct World {
    place: tempfile::TempDir,
    /// The sources of the next transfer, if they are not what is in `from` then.
    sources: Option<SourcePaths>,
    /// The peer of the side that runs in a thread.
    peer: Option<Peer>,
    thread: Option<JoinHandle<Outcome>>,
    heard: String,
    locked: Option<File>,
    /// The outcomes of the sender and the receiver.
    outcomes: BTreeMap<&'static str, Outcome>,
}

struct Options {
    receiving: ReceiveOptions,
    sending: SendOptions,
    limits: Limits,
    /// The name of the receiver's folder.
    into: String,
}

impl Options {
    fn new(words: &[&str]) -> Self {
        let hidden = ReceiveOptions { hidden: true, ..ReceiveOptions::default() };
        let sending = SendOptions { push: 0, token: Some(token(7)), ..SendOptions::default() };
        let mut all = Self { receiving: hidden, sending, limits: Limits::default(), into: "around/to".to_owned() };
        for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let number = || dialogue::number(value).unwrap();
            match key {
                "overwrite" => all.receiving.overwrite = value == "yes",
                "hidden" => all.receiving.hidden = value == "yes",
                "list_timeout" => all.receiving.list_timeout = Duration::from_secs_f64(number()),
                "stall_timeout" => {
                    all.receiving.stall_timeout = Duration::from_secs_f64(number());
                    all.sending.stall_timeout = all.receiving.stall_timeout;
                }
                "push" => all.sending.push = number() as u64,
                "threads" => all.limits = Limits::of_threads(number() as usize, number() as usize),
                "into" => value.clone_into(&mut all.into),
                _ => panic!("{key} is unknown"),
            }
        }
        all
    }
}

impl World {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("from")).unwrap();
        fs::create_dir_all(place.path().join("around/to")).unwrap();
        let (sources, peer, thread, locked) = (None, None, None, None);
        Self { place, sources, peer, thread, heard: String::new(), locked, outcomes: BTreeMap::new() }
    }

    /// A path of the dialogue; `NAME.part` stands for the name of the partial file.
    fn path(&self, name: &str) -> PathBuf {
        let name = name.strip_prefix("to/").map_or_else(|| name.to_owned(), |rest| format!("around/to/{rest}"));
        match name.strip_suffix(".part").map(Path::new) {
            Some(whole) => {
                let name = part(whole.file_name().unwrap().to_str().unwrap());
                self.place.path().join(whole.with_file_name(name))
            }
            None => self.place.path().join(name),
        }
    }

    fn sources(&mut self) -> SourcePaths {
        self.sources.take().unwrap_or_else(|| sources(&self.path("from")))
    }

    fn receiver(&self, link: MemoryLink, options: Options) -> JoinHandle<Outcome> {
        let to = self.path(&options.into);
        spawn(move || receive(&link, &to, options.receiving, &options.limits, &()))
    }

    /// Starts one side, whose peer the dialogue plays.
    fn start(&mut self, side: &str, options: Options) {
        let (here, there) = MemoryLink::pair(None);
        self.thread = Some(if side == "receive" {
            self.receiver(there, options)
        } else {
            let sources = self.sources();
            spawn(move || send(&there, &sources, options.sending, &()))
        });
        self.peer = Some(Peer::new(here));
    }

    fn transfer(&mut self, options: Options) {
        let (here, there) = MemoryLink::pair(None);
        let (sources, sending) = (self.sources(), options.sending);
        let receiver = self.receiver(there, options);
        self.outcomes.insert("sent", send(&here, &sources, sending, &()));
        self.outcomes.insert("got", receiver.join().unwrap());
    }

    fn peer(&mut self) -> &mut Peer {
        self.peer.as_mut().unwrap()
    }

    fn change_files(&mut self, words: &[&str]) {
        match *words {
            ["file", name, ref text @ ..] => fs::write(self.path(name), expanded(&text.join(" "))).unwrap(),
            ["folder", name] => fs::create_dir_all(self.path(name)).unwrap(),
            ["link", name, to] => std::os::unix::fs::symlink(self.path(to), self.path(name)).unwrap(),
            ["remove", name] => fs::remove_file(self.path(name)).unwrap(),
            ["lock", name] => {
                let file = File::create(self.path(name)).unwrap();
                file.lock().unwrap();
                self.locked = Some(file);
            }
            ["unlock"] => self.locked = None,
            ["plant", files] => {
                plant(&self.path("from"), &mut Numbers(1), dialogue::number(files).unwrap() as u64, 20_000);
            }
            ["collect"] => self.sources = Some(sources(&self.path("from"))),
            ["collect", path] => self.sources = Some(SourcePaths::collect(&[path.into()]).unwrap()),
            _ => panic!("not understood: {words:?}"),
        }
    }
}

/// A text in which `<x*3>` stands for `xxx`.
fn expanded(text: &str) -> String {
    let parts = text.split_once('<').and_then(|(before, rest)| Some((before, rest.split_once('>')?)));
    let Some((before, (repeated, after))) = parts else { return text.to_owned() };
    let (what, times) = repeated.split_once('*').unwrap();
    [before, &what.repeat(times.parse().unwrap()), after].concat()
}

impl dialogue::World for World {
    fn act(&mut self, words: &[&str], _scope: &Scope) {
        match *words {
            ["transfer", ref options @ ..] => self.transfer(Options::new(options)),
            [side @ ("receive" | "send"), ref options @ ..] => self.start(side, Options::new(options)),
            ["says", ref words @ ..] => self.peer().say(&expanded(&words.join(" "))),
            ["hears"] => self.heard = self.peer().hear(),
            ["hears", ref words @ ..] => {
                self.heard = self.peer().hear();
                let expected = if words == ["nothing"] { String::new() } else { words.join(" ") };
                assert!(
                    self.heard.contains(&expected) && self.heard.is_empty() == expected.is_empty(),
                    "{}",
                    self.heard
                );
            }
            ["says_sum", of] => self.peer().say(&sum(of.as_bytes())),
            ["hears_the_end"] => while !self.peer().hear().is_empty() {},
            ["streams", mark, id, offset, bytes, summed] => {
                let (id, offset) = (id.parse().unwrap(), offset.parse().unwrap());
                self.peer().stream(mark.as_bytes()[0], id, offset, bytes.as_bytes(), summed.as_bytes());
            }
            ["begins_stream", id, bytes, count] => {
                self.peer().begin(id.parse().unwrap(), bytes.as_bytes(), count.parse().unwrap());
            }
            ["opens_streams_until_closed"] => while self.peer().link.open_uni().is_ok() {},
            ["takes_streams_until_closed"] => self.peer().take_streams(),
            ["waits_for", text] => assert!(shallop_testing::soon(|| self.there().contains(text))),
            [verb @ ("leaves" | "ends")] => {
                if verb == "leaves" {
                    self.peer().link.close("through");
                }
                let outcome = self.thread.take().unwrap().join().unwrap();
                self.outcomes = BTreeMap::from([("it", outcome)]);
            }
            _ => self.change_files(words),
        }
    }

    fn value(&mut self, name: &str) -> Option<String> {
        match name.split_once('.') {
            Some(("children", name)) => Some(self.path(name).read_dir().unwrap().count().to_string()),
            Some((side, name)) => of_outcome(self.outcomes.get(side)?, name),
            None if name == "heard" => Some(self.heard.trim_end().to_owned()),
            None if name == "there" => Some(self.there()),
            None if name == "same" => Some((contents(&self.path("from")) == contents(&self.path("to/"))).to_string()),
            None => None,
        }
    }
}

fn of_outcome(outcome: &Outcome, name: &str) -> Option<String> {
    let of = match (outcome, name) {
        (Ok(of), _) => of,
        (Err(why), "error") => return Some(format!("{why:?}: {why}")),
        (Err(why), _) => panic!("the outcome is {why:?}"),
    };
    let mut paths: Vec<&str> = of.failed.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    let reasons: BTreeSet<&str> = of.failed.iter().map(|it| it.reason.as_str()).collect();
    Some(match name {
        "failed" => of.failed.len().to_string(),
        "failed_files" => paths.join(" "),
        "reasons" => reasons.len().to_string(),
        "reason" => reasons.into_iter().collect::<Vec<_>>().join("; "),
        _ => serde_json::to_value(of).unwrap().get(name)?.to_string(),
    })
}

impl World {
    /// The files and folders around the receiver's folder, with what files have.
    fn there(&self) -> String {
        let shown = contents(&self.path("around")).into_iter().map(|(path, it)| {
            // A dot and 32 digits of the tag follow the name.
            let whole = path.strip_suffix(PART_SUFFIX).map(|whole| format!("{}.part", &whole[..whole.len() - 33]));
            let text = it.map(|(bytes, _)| format!("={}", String::from_utf8_lossy(&bytes)));
            whole.unwrap_or(path) + &text.unwrap_or_default()
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// A test for each file of dialogues.
macro_rules! dialogues {
    ($($name:ident)*) => {
        $(pub fn $name() {
            dialogue::run(include_str!(concat!("dialogues/", stringify!($name), ".txt")), World::new);
        })*
    };
}

dialogues! { hostile_senders hostile_receivers plain }
