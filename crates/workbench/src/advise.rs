//! `shallop advise`: races the candidates of a scenario, and says which one to take. Decisions depend on the results of
//! runs and on the budget in runs. The budget in minutes is made a number of runs once; the number is stored in the
//! results folder, so that a race that is resumed makes equal decisions.

use crate::diagnostic::{Result, plain, study_error, with_help};
use crate::forecast::{Forecast, forecast};
use crate::identity::{Identity, digest};
use crate::jobs::{JobOptions, Progress, run_all};
use crate::printable::shell_word;
use crate::{RunArchive, TableForm, render};
use serde::{Deserialize, Serialize};
use shallop_core::Span;
use shallop_plan::Study;
use shallop_results::advice::{Advice, Candidate, Elsewhere};
use shallop_results::metrics::Figure;
use shallop_results::question::{Question, value};
use shallop_results::race::{Race, SHORT, Sample};
use shallop_results::{Estimate, Job, Shard, summary::Run};
use shallop_scenario::explain::rules;
use shallop_store::{read_text, write_file};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file in the results folder with the budget in runs.
const BUDGET: &str = "budget.json";
pub const ADVICE: &str = "advise.json";
/// Metrics that are kept of each run besides those of the question: the axes of the picture.
pub const AXES: [&str; 2] = ["loss_rate", "fct.all.p99_s"];
/// Candidates that are compared at other loads and round trips, and the seeds for that.
const FIRST: usize = 3;
const SEEDS: u64 = 3;
/// Seconds below which a forecast says no more than that it is short.
const SHORT_SECONDS: f64 = 5.0;

/// Reads the scenario with further keys set.
pub type Read<'a> = &'a dyn Fn(&[(String, String)]) -> Result<Study>;

/// What to advise on.
pub struct Adviser<'a> {
    pub read: Read<'a>,
    /// Names of changed settings, with the keys that change them.
    pub elsewhere: Vec<(&'static str, Vec<(String, String)>)>,
    /// The words of the command that name the scenario, with the options that change it.
    pub scenario: String,
    pub folder: Option<&'a Path>,
    pub jobs: usize,
    pub threads: usize,
    pub stop: &'a AtomicBool,
    /// Shows the progress of runs.
    pub progress: &'a dyn Fn(&Study) -> Box<dyn Progress>,
}

/// A candidate by its indices in the study.
#[derive(Clone, Debug)]
struct Place {
    point: usize,
    scheme: usize,
    name: String,
}

type Measured = BTreeMap<String, Figure>;

/// The stored budget.
#[derive(Debug, Serialize, Deserialize)]
struct Budget {
    /// A digest of the question and its candidates.
    question: String,
    runs: u64,
}

impl Adviser<'_> {
    pub fn advise(&self) -> Result<Advice> {
        let study = (self.read)(&[])?;
        let help = "write a section [advise] with `minimise` or `maximise`, or give --minimise or --maximise";
        let question = study.question.clone().ok_or_else(|| with_help(&"the scenario asks no question", &help))?;
        let places = candidates(&study);
        if places.len() < 2 {
            let help = "write several schemes, values in [advise.space], or --vary KEY=V1,V2,...";
            return Err(with_help(&"there is one candidate only", &help));
        }
        let short = self.short(&study);
        let budget = self.budget(&study, &question, &places)?;
        let kept = [SEEDS, 1].map(|seeds| seeds * (FIRST * self.elsewhere.len()) as u64);
        let kept = kept.into_iter().find(|kept| kept * 4 <= budget).unwrap_or(0);
        let race = Race::new(places.len(), question.maximise, short.is_some(), budget - kept);
        let Some(mut race) = race else {
            let what = format!("the budget of {budget} runs is too small for {} candidates", places.len());
            return Err(with_help(&what, &"more --minutes or --runs, or fewer candidates"));
        };
        let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); places.len()];
        let mut interrupted = false;
        while let Some(rung) = race.next() {
            let of = short.as_ref().filter(|_| rung.is_short).unwrap_or(&study);
            let wanted: Vec<&Place> = rung.candidates.iter().map(|&at| &places[at]).collect();
            let runs = self.run(of, &wanted, rung.seeds.clone().map(|seed| seed as u64), &question)?;
            for (&at, runs) in rung.candidates.iter().zip(runs) {
                interrupted |= runs.len() < rung.seeds.len();
                if runs.len() == rung.seeds.len() {
                    race.record(at, rung.is_short, runs.iter().map(|run| sample(&question, run)).collect());
                    measured[at].retain(|_| rung.is_short || rung.seeds.start > 0);
                    measured[at].extend(runs);
                }
            }
            if interrupted {
                break;
            }
            race.judge();
        }
        let ranking: Vec<usize> = race.ranking().into_iter().filter(|&at| !measured[at].is_empty()).collect();
        let Some(&best) = ranking.first() else {
            return Err(plain(&"interrupted before a candidate had run; finished runs are kept with --out"));
        };
        let first: Vec<&Place> = ranking.iter().take(FIRST).map(|&at| &places[at]).collect();
        let mut elsewhere = Vec::new();
        if kept > 0 && !interrupted {
            for (what, set) in &self.elsewhere {
                elsewhere.push(self.elsewhere(
                    what,
                    set,
                    &first,
                    kept / (FIRST * self.elsewhere.len()) as u64,
                    &question,
                )?);
            }
            interrupted = self.stop.load(Ordering::Relaxed);
        }
        let candidate = |&at: &usize| {
            let (place, runs) = (&places[at], race.entrants[at].runs());
            let excess = race.entrants[at].excess();
            Candidate {
                name: place.name.clone(),
                scheme: study.points[place.point].plan.schemes[place.scheme].name.clone(),
                point: study.points[place.point].set.clone(),
                standing: race.standing(at),
                metrics: means(&measured[at]),
                excess: excess.is_finite().then_some(excess),
                runs: runs.1 as u64,
                short_runs: runs.0 as u64,
            }
        };
        let keys: BTreeSet<String> = study.points.iter().flat_map(|point| point.set.keys().cloned()).collect();
        let keys: Vec<String> = keys.into_iter().collect();
        let place = &places[best];
        let mut advice = Advice {
            scenario: study.title.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            budget_runs: budget,
            short: short.map(|_| 1.0 / SHORT as f64),
            interrupted,
            finding: String::new(),
            candidates: ranking.iter().map(candidate).collect(),
            rules: rules(&study, (place.point, place.scheme), &keys).map_err(|why| plain(&why))?,
            elsewhere,
            next: self.next(&study, place),
            question,
        };
        advice.say();
        Ok(advice)
    }

    /// The scenario with a part of its duration; `None` if it then is no scenario, for example as flows would start
    /// after the end.
    fn short(&self, study: &Study) -> Option<Study> {
        let least = study.points.iter().map(|point| point.plan.duration).min()?;
        let same = study.points.iter().all(|point| point.plan.duration == least);
        let duration: Span = least / SHORT;
        let short = (self.read)(&[("duration".to_owned(), duration.to_string())]).ok().filter(|_| same)?;
        let like = short.points.len() == study.points.len();
        like.then_some(short)
    }

    /// The budget in runs of the full duration: as given, as an earlier command stored it, or from a forecast.
    fn budget(&self, study: &Study, question: &Question, places: &[Place]) -> Result<u64> {
        if let Some(runs) = question.runs {
            return Ok(runs);
        }
        let jobs: Vec<Job> = places.iter().map(|place| job(study, place)).collect();
        let of = |job: &Job| Identity::for_run(&study.points[job.point].plan, job.scheme, job.seed).to_string();
        let all: Vec<String> = jobs.iter().map(of).collect();
        let asked = digest(format!("{question:?} {all:?}").as_bytes());
        let stored = self.folder.map(|folder| folder.join(BUDGET));
        let read = |path: &std::path::PathBuf| serde_json::from_str::<Budget>(&read_text(path).ok()?).ok();
        if let Some(known) = stored.as_ref().and_then(read).filter(|known| known.question == asked) {
            return Ok(known.runs);
        }
        let seconds = match forecast(&[(study, jobs)], 1) {
            Forecast::Short => SHORT_SECONDS,
            Forecast::Takes(time) => time.as_secs_f64(),
            Forecast::Unknown(why) => {
                let what = format!("how long a run takes is not known: {why}");
                return Err(with_help(&what, &"give the budget in runs, with --runs"));
            }
        };
        let each = seconds / places.len() as f64;
        let budget = Budget { question: asked, runs: (question.minutes * 60.0 * self.threads as f64 / each) as u64 };
        if let Some(path) = stored {
            let text = serde_json::to_vec(&budget).map_err(|why| plain(&why))?;
            write_file(path, &text).map_err(|why| plain(&why))?;
        }
        Ok(budget.runs)
    }

    /// Runs candidates with these seeds, counted from the first one of the scenario. Results are in the order of the
    /// candidates, and of the seeds up to the first that was interrupted.
    fn run(
        &self, study: &Study, places: &[&Place], seeds: impl Iterator<Item = u64>, question: &Question,
    ) -> Result<Vec<Vec<Measured>>> {
        let first = study.seeds.first().copied().unwrap_or_default();
        let mut part = Study { points: Vec::new(), seeds: seeds.map(|seed| first + seed).collect(), ..study.clone() };
        let points: BTreeSet<usize> = places.iter().map(|place| place.point).collect();
        let mut order = Vec::new();
        for point in points {
            let mut at = study.points[point].clone();
            let here: BTreeSet<usize> = places.iter().filter(|it| it.point == point).map(|it| it.scheme).collect();
            at.plan.schemes = here.iter().map(|&scheme| at.plan.schemes[scheme].clone()).collect();
            order.push((point, here.into_iter().collect::<Vec<usize>>()));
            part.points.push(at);
        }
        let archive = self.folder.map(RunArchive::in_results);
        let progress = (self.progress)(&part);
        let options = JobOptions {
            jobs: self.jobs,
            cores: 1,
            archive: archive.as_ref(),
            resume: true,
            shard: Shard::WHOLE,
            stop: self.stop,
        };
        let done = if self.stop.load(Ordering::Relaxed) { Ok(Vec::new()) } else { run_all(&part, options, &*progress) };
        progress.close();
        let done = done.map_err(|why| study_error(&why))?;
        let of = |place: &&Place, seed: u64| {
            let found = done.iter().find(|run| {
                let (point, schemes) = &order[run.job.point];
                (*point, schemes[run.job.scheme], run.job.seed) == (place.point, place.scheme, seed)
            });
            found.map(|run| measure(question, &run.run))
        };
        let each = |place| part.seeds.iter().map_while(|&seed| of(place, seed)).collect();
        Ok(places.iter().map(each).collect())
    }

    /// The first candidates under a changed scenario.
    fn elsewhere(
        &self, what: &str, set: &[(String, String)], first: &[&Place], seeds: u64, question: &Question,
    ) -> Result<Elsewhere> {
        let mut row = Elsewhere {
            what: what.to_owned(),
            set: set.iter().cloned().collect(),
            objectives: Vec::new(),
            best: "the scenario has no such key".to_owned(),
        };
        if set.is_empty() {
            return Ok(row);
        }
        let changed = match (self.read)(set) {
            Ok(changed) => changed,
            Err(why) => {
                row.best = format!("not possible: {why}");
                return Ok(row);
            }
        };
        let runs = self.run(&changed, first, 0..seeds, question)?;
        let complete = |runs: &&Vec<Measured>| runs.len() as u64 == seeds;
        row.objectives =
            runs.iter().map(|runs| Some(means(Some(runs).filter(complete)?).get(&question.metric)?.mean)).collect();
        let mut race = Race::new(first.len(), question.maximise, false, seeds * first.len() as u64);
        if let Some(race) = race.as_mut().filter(|_| runs.iter().all(|runs| runs.len() as u64 == seeds)) {
            for (at, runs) in runs.iter().enumerate() {
                race.record(at, false, runs.iter().map(|run| sample(question, run)).collect());
            }
            let best = race.ranking()[0];
            let misses = if race.entrants[best].excess() > 0.0 { ", which misses a bound" } else { "" };
            row.best = format!("{}{misses}", first[best].name);
        }
        Ok(row)
    }

    /// The command that configures a switch for a candidate.
    fn next(&self, study: &Study, place: &Place) -> String {
        let point = &study.points[place.point];
        let word = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let set =
            point.set.iter().map(|(key, value)| format!(" --set {}", shell_word(&format!("{key}={}", word(value)))));
        let scheme = crate::choice::argument([point.plan.schemes[place.scheme].name.as_str()]);
        format!("shallop config {} --schemes {scheme}{} --os eos", self.scenario, set.collect::<String>())
    }
}

fn job(study: &Study, place: &Place) -> Job {
    Job { point: place.point, scheme: place.scheme, seed: study.seeds.first().copied().unwrap_or_default() }
}

/// Every scheme at every point, runs that cannot differ once.
fn candidates(study: &Study) -> Vec<Place> {
    let mut seen: BTreeMap<Identity, Place> = BTreeMap::new();
    let mut order = Vec::new();
    let several = study.points[0].plan.schemes.len() > 1;
    for (point, at) in study.points.iter().enumerate() {
        for (scheme, of) in at.plan.schemes.iter().enumerate() {
            let words = [of.name.as_str(), at.name.as_str()].into_iter().skip(usize::from(!several));
            let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
            let place = Place { point, scheme, name };
            let Job { seed, .. } = job(study, &place);
            let identity = Identity::for_run(&at.plan, scheme, seed);
            match seen.get_mut(&identity) {
                // The keys that differ change nothing here.
                Some(known) if several => known.name.clone_from(&of.name),
                Some(_) => {}
                None => {
                    order.push(identity.clone());
                    seen.insert(identity, place);
                }
            }
        }
    }
    order.iter().filter_map(|identity| seen.remove(identity)).collect()
}

/// The metrics of a run that the advice is about.
fn measure(question: &Question, run: &Run) -> Measured {
    let bounds = question.bounds.iter().map(|bound| bound.metric.as_str());
    let paths = bounds.chain([question.metric.as_str()]).chain(AXES);
    paths.filter_map(|path| Some((path.to_owned(), value(run, path)?))).collect()
}

fn sample(question: &Question, run: &Measured) -> Sample {
    let value = |path: &str| run.get(path).map(|figure| figure.value);
    let none = if question.maximise { f64::NEG_INFINITY } else { f64::INFINITY };
    let excess = question.bounds.iter().map(|bound| bound.excess(value(&bound.metric))).collect();
    Sample { objective: value(&question.metric).unwrap_or(none), excess }
}

fn means(runs: &[Measured]) -> BTreeMap<String, Estimate> {
    let paths: BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    let mean = |path: &String| {
        let figures: Vec<Figure> = runs.iter().filter_map(|run| run.get(path).copied()).collect();
        Estimate::from_figures(&figures, (0.0, f64::INFINITY))
    };
    paths.into_iter().filter_map(|path| Some((path.clone(), mean(path)?))).collect()
}

/// Writes `advise.json` and the page to a results folder.
pub fn publish(folder: &Path, advice: &Advice) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(advice).map_err(|why| plain(&why))?;
    text.push(b'\n');
    write_file(folder.join(ADVICE), &text).map_err(|why| plain(&why))?;
    Ok(())
}

/// The advice as text: the ranking, the finding, the tables and the next command.
pub fn text(advice: &Advice, form: TableForm) -> String {
    let mut parts = vec![render(&advice.ranking(), form), advice.finding.clone()];
    for grid in [advice.rules(), advice.elsewhere()] {
        if !grid.rows.is_empty() {
            parts.push(render(&grid, form));
        }
    }
    parts.push(format!("Next: {}", advice.next));
    parts.join("\n\n")
}
