//! `new`: writes a first scenario. On a terminal the command asks for missing arguments; otherwise it uses defaults and
//! says which.

use crate::args;
use crate::{print, run};
use shallop_core::Span;
use shallop_plan::ResolvedRun;
use shallop_scenario::Options;
use shallop_scenario::template::{self, Choice, DEFAULT_TOPOLOGY, DEFAULT_TRAFFIC, DEFAULT_TRANSPORTS, Item};
use shallop_workbench::diagnostic::{Result, name, plain, with_help};
use shallop_workbench::printable::{printable, shell_word};
use shallop_workbench::run_study::{check_setups, notes, parse_scenario};
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal};
use std::path::Path;

pub fn new(args: &args::New) -> Result<()> {
    if !args.force && args.out.exists() {
        let what = format!("{} is there already", name(&args.out));
        return Err(with_help(&what, &"name another file with --out, or add --force"));
    }
    let mut choice = choose(args)?;
    // The written scenario is valid; the user's network file may not be.
    let read = |choice: &Choice| {
        let text = template::write(choice).map_err(|why| plain(&why))?;
        let options = Options { files: run::files(&args.out), ..Options::default() };
        let study = parse_scenario(&name(&args.out), &text, &options)?;
        check_setups(&study)?;
        Result::Ok((text, study))
    };
    if let Some(network) = &choice.network {
        choice.switches = template::switches(&*run::files(&args.out), network);
        choice.load = PROBE;
    }
    let (_, study) = read(&choice)?;
    print::notes(&notes(&study));
    // The durations depend on the longest round trip of the network.
    let setup = ResolvedRun::new(&study.points[0].plan, 0, study.seeds[0]).map_err(|why| plain(&why))?;
    if choice.network.is_some() {
        let rate = |port: usize| setup.network.graph.link_of(port as u32).rate.get() as f64;
        let relative =
            |offered: Vec<f64>| offered.iter().enumerate().map(|(port, bits)| bits / rate(port)).fold(0.0, f64::max);
        choice.load = setup.offered_load().map(relative).map_or(template::LOAD, fitting_load);
    }
    choice.longest_rtt = setup.traffic_paths.longest.map_or(Span::ZERO, |longest| longest.base_rtt);
    let (text, _) = read(&choice)?;
    shallop_workbench::write_file(&args.out, text.as_bytes()).map_err(|why| plain(&why))?;
    let file = name(&args.out);
    print::line(&format!(
        "{file}: {}, {} traffic, {}\nRun it with `shallop run {}`, in small with --quick.",
        choice.topology,
        choice.traffic,
        choice.transports.join(", "),
        shell_word(&file),
    ))
}

/// The load with which a network is tried whose busiest link is not known.
const PROBE: f64 = 1e-4;

/// The load at which the busiest link carries at most 80 %, by what [`PROBE`] offers to it; with one digit.
fn fitting_load(most: f64) -> f64 {
    let fits = PROBE * 0.8 / most;
    let digit = 10_f64.powf(fits.log10().floor());
    // Rounded to billionths, so that one digit is printed.
    template::LOAD.min(((fits / digit).floor() * digit * 1e9).round() / 1e9)
}

/// Combines the arguments with the answers to questions, or with defaults.
fn choose(args: &args::New) -> Result<Choice> {
    let network = args.network.as_deref().map(|file| relative_path(file, &args.out)).transpose()?;
    let topology = match (&args.topology, &network) {
        (Some(kind), Some(_)) if kind != "file" => {
            let help = "leave out --topology, or write --topology file";
            return Err(with_help(&format!("--network does not go with --topology {kind}"), &help));
        }
        (Some(kind), None) if kind == "file" => {
            let help = "add --network FILE: .graphml, .gml, or .csv with a link a line";
            return Err(with_help(&"--topology file needs the file", &help));
        }
        (_, Some(_)) => Some("file".to_owned()),
        (kind, None) => kind.clone(),
    };
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let given = Some(&args.transport).filter(|given| !given.is_empty()).cloned();
    let mut guessed = Vec::new();
    let topology = match topology {
        Some(topology) => topology,
        None if asks => ask_one("Which network?", &without_file(), DEFAULT_TOPOLOGY)?,
        None => {
            guessed.push("--topology");
            DEFAULT_TOPOLOGY.to_owned()
        }
    };
    let traffic = match &args.traffic {
        Some(traffic) => traffic.clone(),
        None if asks => ask_one("Which traffic?", template::traffics(), DEFAULT_TRAFFIC)?,
        None => {
            guessed.push("--traffic");
            DEFAULT_TRAFFIC.to_owned()
        }
    };
    let mut transports = match given {
        Some(given) => given,
        None if asks => {
            let question = "Which transports? One or several, separated by blanks.";
            ask(&mut std::io::stdin().lock(), question, &template::transports(), &DEFAULT_TRANSPORTS)?
        }
        None => {
            guessed.push("--transport");
            DEFAULT_TRANSPORTS.map(str::to_owned).to_vec()
        }
    };
    let mut seen = BTreeSet::new();
    transports.retain(|name| seen.insert(name.clone()));
    if !guessed.is_empty() {
        print::stderr(&format!("Defaults are used for {}\n", guessed.join(", ")));
    }
    let chip = args.chip.clone();
    let (switches, load) = (Vec::new(), template::LOAD);
    Ok(Choice { topology, transports, traffic, network, chip, switches, load, longest_rtt: Span::ZERO })
}

fn without_file() -> Vec<Item> {
    template::topologies().into_iter().filter(|item| item.name != "file").collect()
}

fn ask_one(question: &str, items: &[Item], usual: &str) -> Result<String> {
    Ok(ask(&mut std::io::stdin().lock(), question, items, &[usual])?.swap_remove(0))
}

/// Asks until every word of the answer is a number or name of the list. Several answers are allowed if `usual` has
/// several. An empty line means `usual`.
fn ask(input: &mut impl BufRead, question: &str, items: &[Item], usual: &[&str]) -> Result<Vec<String>> {
    print::stderr(&format!("{question}\n{}", lines(items)));
    loop {
        print::stderr(&format!("Number or name [{}]: ", usual.join(" ")));
        let mut line = String::new();
        let read = input.read_line(&mut line);
        if read.map_err(|why| plain(&format!("no answer: {why}")))? == 0 {
            return Err(no_answer());
        }
        let words: Vec<&str> = line.split([' ', ',', '\t', '\n', '\r']).filter(|it| !it.is_empty()).collect();
        let words = if words.is_empty() { usual.to_vec() } else { words };
        let chosen: std::result::Result<Vec<String>, &str> =
            words.iter().map(|word| find(items, word).ok_or(*word)).collect();
        match chosen {
            Ok(chosen) if usual.len() > 1 || chosen.len() == 1 => return Ok(chosen),
            Ok(_) => print::stderr("One answer is needed.\n"),
            Err(word) => print::stderr(&format!("{} is not in the list.\n", printable(word))),
        }
    }
}

fn find(items: &[Item], word: &str) -> Option<String> {
    let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let item = number.map_or_else(|| items.iter().find(|item| item.name == word), |at| items.get(at));
    item.map(|item| item.name.to_owned())
}

fn no_answer() -> miette::Report {
    with_help(&"nothing was chosen, and nothing written", &"choose, or say it with --topology, --transport, --traffic")
}

fn lines(items: &[Item]) -> String {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let line = |(place, item): (usize, &Item)| format!("{:>4}  {:<width$}  {}\n", place + 1, item.name, item.about);
    items.iter().enumerate().map(line).collect()
}

/// The path of a file relative to the scenario's folder; absolute if it lies elsewhere.
fn relative_path(file: &Path, scenario: &Path) -> Result<String> {
    let folder = scenario.parent().filter(|folder| !folder.as_os_str().is_empty());
    let relative = match folder {
        None => file.to_owned(),
        Some(folder) => match file.strip_prefix(folder) {
            Ok(inside) => inside.to_owned(),
            Err(_) => std::path::absolute(file).map_err(|why| plain(&why))?,
        },
    };
    relative
        .to_str()
        .map(str::to_owned)
        .ok_or_else(|| plain(&format!("{}: the name is no text that a scenario could hold", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(mut typed: &[u8], usual: &[&str]) -> Option<Vec<String>> {
        ask(&mut typed, "Which?", &template::transports(), usual).ok()
    }

    #[test]
    fn an_answer_is_a_number_a_name_or_an_empty_line() {
        let items = template::transports();
        let (first, second) = (items[0].name, items[1].name);
        for (typed, chosen) in [("2\n", second), (first, first), ("\r\n", "cubic")] {
            assert_eq!(answer(typed.as_bytes(), &["cubic"]), Some(vec![chosen.to_owned()]));
        }
        let both = format!("{second}, 1\n");
        assert_eq!(answer(both.as_bytes(), &DEFAULT_TRANSPORTS).unwrap(), [second, first]);
        assert_eq!(answer(b"\n", &DEFAULT_TRANSPORTS).unwrap(), DEFAULT_TRANSPORTS);
    }

    #[test]
    fn the_busiest_link_carries_the_load() {
        for (most, load) in [(0.0, 0.4), (1e-4, 0.4), (PROBE * 3.59 / 0.4, 0.08), (PROBE * 90.0, 0.008)] {
            assert_eq!(fitting_load(most).to_string(), load.to_string());
        }
    }

    #[test]
    fn a_wrong_answer_is_asked_again_until_input_ends() {
        for typed in ["0\n1 2\nnothing\n999\n1\n", "-1\n1\n"] {
            let first = template::transports()[0].name;
            assert_eq!(answer(typed.as_bytes(), &["cubic"]), Some(vec![first.to_owned()]));
        }
        assert_eq!(answer(b"nothing\n", &["cubic"]), None);
    }
}
