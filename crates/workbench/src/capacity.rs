//! The link rate that this machine carries in real time, measured by `doctor --bench` and kept in the user's data
//! folder, and the scaling of a scenario to that rate.

use super::diagnostic::{Result, plain, study_error, with_help};
use super::{error::StudyError, rehearsal::RateTrial};
use serde::{Deserialize, Serialize};
use shallop_core::Share;
use shallop_plan::plan::Plan;
use shallop_plan::{ResolvedRun, Study};
use std::{path::PathBuf, time::Duration};

/// If a scaled buffer holds fewer frames than this, a note warns that the bursts of hosts decide what is lost.
const FEW_FRAMES: u64 = 10;
/// A machine with a load below this part of its processors is idle.
const IDLE: f64 = 0.2;

/// The factor for a scenario's rates and buffers in a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The largest factor at which this machine can rehearse the scenario in time.
    Auto,
    By(Share),
}

/// The fastest links that this machine rehearsed without being late, in bits per second (0: none), and the conditions
/// of the benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineCapacity {
    /// The kernel release during the benchmark.
    kernel: String,
    processors: usize,
    /// The highest link rate with hosts that send bursts (segmentation offload), in bits per second.
    bursts_bps: f64,
    /// The highest link rate with hosts that send single packets, in bits per second.
    packets_bps: f64,
    /// The programs that wanted a processor before the benchmark, as a mean over a minute; `None` if it is not known.
    #[serde(default)]
    load: Option<f64>,
}

/// The programs that want a processor, as a mean over the last minute (`/proc/loadavg`).
pub fn load() -> Option<f64> {
    let text = shallop_store::read_text("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// What to say of limits that were measured at this load; `None` on a machine that was otherwise idle.
pub fn under_load(load: Option<f64>) -> Option<String> {
    let load = load.filter(|&load| load > IDLE * processors() as f64)?;
    Some(format!(
        "measured under load: before, {load:.1} programs wanted one of {} processors; an idle machine carries more",
        processors()
    ))
}

#[cfg(target_os = "linux")]
fn machine() -> Option<(PathBuf, String)> {
    let file = shallop_kernel::installed::data_folder()?.join("machine.json");
    Some((file, shallop_linux::abilities::release()))
}

#[cfg(not(target_os = "linux"))]
fn machine() -> Option<(PathBuf, String)> {
    None
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl MachineCapacity {
    fn from_trials(carried: &[RateTrial], kernel: String, load: Option<f64>) -> Self {
        let best = |sends: &str| {
            let counts = |of: &&RateTrial| of.sends == sends && of.rehearsal.void.is_empty();
            carried.iter().filter(counts).map(|of| of.rate_bps).fold(0.0, f64::max)
        };
        let (bursts_bps, packets_bps) = (best("bursts"), best("packets"));
        Self { kernel, processors: processors(), bursts_bps, packets_bps, load }
    }

    /// The highest link rate (bit/s) for hosts that send as in this plan, in bursts or single packets; `None` if every
    /// rehearsal of the benchmark was late.
    fn rate(&self, plan: &Plan) -> Option<f64> {
        let packets = plan.kernel.gso_max_segs == Some(1);
        let rate = if packets { self.packets_bps } else { self.bursts_bps };
        (rate > 0.0).then_some(rate)
    }
}

/// Stores the result of a benchmark at this load, which replaces an earlier one. Returns the file.
pub fn store(carried: &[RateTrial], load: Option<f64>) -> Result<Option<PathBuf>> {
    let Some((file, kernel)) = machine() else { return Ok(None) };
    let limits = MachineCapacity::from_trials(carried, kernel, load);
    let text = serde_json::to_string_pretty(&limits).map_err(|why| plain(&why))? + "\n";
    if let Some(folder) = file.parent() {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|why| plain(&format!("{}: {why}", folder.display())))?;
    }
    shallop_store::write_file(&file, text.as_bytes()).map_err(|why| plain(&why))?;
    Ok(Some(file))
}

/// The stored capacity and its age; `None` if it was measured with another kernel or number of processors.
fn load_stored() -> Option<(MachineCapacity, Option<Duration>)> {
    let (file, kernel) = machine()?;
    let written = std::fs::metadata(&file).and_then(|of| of.modified()).ok();
    let age = written.and_then(|written| written.elapsed().ok());
    let text = shallop_store::read_text(file).ok()?;
    let limits: MachineCapacity = serde_json::from_str(&text).ok()?;
    let is_this = limits.kernel == kernel && limits.processors == processors();
    is_this.then_some((limits, age))
}

/// The smallest denominator n for which `demand / n` is at most `carried`, rounded up to a multiple of 5 above 10, and
/// of 50 above 100.
fn denominator(demand: f64, carried: f64) -> u64 {
    let least = (demand / carried * (1.0 - 1e-9)).ceil().clamp(1.0, 1e15) as u64;
    match least {
        0..=10 => least,
        11..=100 => least.next_multiple_of(5),
        _ => least.next_multiple_of(50),
    }
}

/// The largest rate at which real hosts of a plan may send together, over all its schemes, in bits per second.
fn demand(plan: &Plan) -> Result<f64> {
    #[cfg(target_os = "linux")]
    {
        use shallop_linux::{RehearsalError, rehearse};
        let mut most: f64 = 0.0;
        for scheme in 0..plan.schemes.len() {
            match rehearse::demand(plan, scheme) {
                Ok(demand) => most = most.max(demand),
                Err(RehearsalError::NoHosts) => {}
                Err(why) => return Err(study_error(&StudyError::from(why))),
            }
        }
        Ok(most)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = plan;
        Ok(0.0)
    }
}

/// The point of a study that needs the largest share of the machine's capacity. Rates are in bits per second.
#[derive(Clone, Copy, Debug)]
struct HeaviestPoint {
    /// The rate at which the real hosts of the point may send together.
    demand: f64,
    /// The rate that the machine carries if hosts send as they do at the point.
    carried: f64,
    /// The rate that the machine carries if hosts send single packets; `None` if the point's hosts do so already.
    packets: Option<f64>,
    /// The time since the benchmark was made.
    age: Option<Duration>,
    load: Option<f64>,
}

/// Finds the point of a study that needs the largest share of the machine's capacity; `None` without a benchmark.
fn heaviest(study: &Study) -> Result<Option<HeaviestPoint>> {
    let Some((limits, age)) = load_stored() else { return Ok(None) };
    let mut heaviest: Option<HeaviestPoint> = None;
    for point in &study.points {
        let Some(carried) = limits.rate(&point.plan) else { continue };
        let demand = demand(&point.plan)?;
        if heaviest.is_none_or(|most| demand / carried > most.demand / most.carried) {
            let sends_packets = point.plan.kernel.gso_max_segs == Some(1);
            let packets = (!sends_packets).then_some(limits.packets_bps);
            heaviest = Some(HeaviestPoint { demand, carried, packets, age, load: limits.load });
        }
    }
    Ok(heaviest)
}

/// Scales a study's rates and buffers, and checks that this machine carries the result. Returns the factor if it is
/// below 1, and the least factor by which time must be stretched: with [`Scale::Auto`], buffers that would hold few
/// frames are not scaled. Without a benchmark nothing is checked.
///
/// # Errors
/// If the study needs more than the machine carries: the message names the factor that fits.
pub fn scale_to_capacity(study: &mut Study, scale: Option<Scale>) -> Result<(Option<Share>, u32)> {
    let heaviest = heaviest(study)?;
    let least = heaviest.map(|of| denominator(of.demand, of.carried));
    let by = match (scale, least) {
        (None, _) => None,
        (Some(Scale::By(by)), _) => Some(by),
        (Some(Scale::Auto), Some(least)) if holds_few_frames(study, least)? => {
            return Ok((None, u32::try_from(least).unwrap_or(u32::MAX)));
        }
        (Some(Scale::Auto), least) => least.and_then(|least| Share::new(1, least)),
    };
    let by = by.filter(|by| by.parts().0 < by.parts().1);
    if let Some((of, least)) = heaviest.zip(least)
        && by.map_or(1.0, Share::as_f64) * least as f64 > 1.0 + 1e-9
    {
        return Err(study_error(&StudyError::NoKernel(over_capacity(of, by, least))));
    }
    if let Some(by) = by {
        scale_by(study, by)?;
    }
    Ok((by, 1))
}

/// Whether the shallowest buffer of a study would hold few frames with `1/whole` of its size.
fn holds_few_frames(study: &Study, whole: u64) -> Result<bool> {
    for point in &study.points {
        for scheme in 0..point.plan.schemes.len() {
            let setup = ResolvedRun::new(&point.plan, scheme, point.plan.seed);
            let buffer = setup.map_err(|why| plain(&why))?.shallowest_buffer();
            if buffer.is_some_and(|(all, frame, _)| all.get() / whole < FEW_FRAMES * frame.get()) {
                return Ok(whole > 1);
            }
        }
    }
    Ok(false)
}

/// The message for a study, scaled by `by`, that needs more than the machine carries.
fn over_capacity(of: HeaviestPoint, by: Option<Share>, least: u64) -> String {
    let demand = of.demand * by.map_or(1.0, Share::as_f64) / 1e6;
    let part = by.map_or_else(String::new, |by| {
        let (part, whole) = by.parts();
        format!("with --scale {part}/{whole} ")
    });
    let (carried, age) = (of.carried / 1e6, of.age.map_or_else(String::new, ago));
    let load = under_load(of.load).map_or_else(String::new, |load| format!(" ({load})"));
    let packets = of.packets.filter(|&packets| packets > of.carried);
    let packets = packets.map_or_else(String::new, |packets| {
        format!("; {:.0} Mb/s where hosts send packet by packet (kernel.gso_max_segs = 1)", packets / 1e6)
    });
    format!(
        "{part}real hosts would send up to {demand:.0} Mb/s, and this machine carries {carried:.0} Mb/s in real \
         time{packets}, as 'shallop doctor --bench' measured{age}{load}. --scale 1/{least} reduces rates and buffers \
         so that they fit; --stretch {least} slows time instead"
    )
}

fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0..=119 => format!(" {minutes} minutes ago"),
        120..=2_879 => format!(" {} hours ago", minutes / 60),
        _ => format!(" {} days ago", minutes / 1_440),
    }
}

/// Scales a study's rates and buffers and says so in its title. Adds a note if a buffer then holds few frames.
///
/// # Errors
/// If a buffer would not hold a frame: the message names the smallest factor.
pub fn scale_by(study: &mut Study, by: Share) -> Result<()> {
    let by_text = format!("{}/{}", by.parts().0, by.parts().1);
    let mut fewest: Option<(u64, String)> = None;
    for point in &mut study.points {
        let scaled = point.plan.clone().scaled(by).map_err(|why| plain(&why))?;
        for scheme in 0..scaled.schemes.len() {
            let setup = ResolvedRun::new(&scaled, scheme, scaled.seed).map_err(|why| plain(&why))?;
            let Some((bytes, frame, port)) = setup.shallowest_buffer() else { continue };
            let (frames, place) = (bytes.get() / frame.get(), setup.network.port_name(port));
            if frames == 0 {
                let whole_setup = ResolvedRun::new(&point.plan, scheme, point.plan.seed);
                let of = whole_setup.map_err(|why| plain(&why))?.shallowest_buffer();
                let most = of.map_or(1, |(all, frame, _)| all.get() / frame.get()).max(1);
                let what = format!(
                    "with --scale {by_text} the buffer at port {place} holds {bytes}, which is less than a frame of \
                     {frame}"
                );
                let help = format!("--scale 1/{most} is the smallest that leaves room for a frame");
                return Err(with_help(&what, &help));
            }
            if fewest.as_ref().is_none_or(|(least, _)| frames < *least) {
                fewest = Some((frames, place));
            }
        }
        point.plan = scaled;
    }
    if let Some((frames, place)) = fewest.filter(|(frames, _)| *frames < FEW_FRAMES) {
        let frames = if frames == 1 { "1 frame".to_owned() } else { format!("{frames} frames") };
        study.notes.push(format!(
            "with {by_text} of the rates and buffers the buffer holds {frames} (port {place}): a burst decides"
        ));
    }
    study.title = format!("{}, with {by_text} of its rates and buffers", study.title);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_that_fits_is_a_simple_fraction() {
        for (demand, carried, expected) in
            [(1.0, 2.0, 1), (2.0, 2.0, 1), (10.0, 2.0, 5), (10.0, 0.9, 15), (100.0, 0.9, 150)]
        {
            assert_eq!(denominator(demand, carried), expected, "{demand} {carried}");
        }
    }

    #[test]
    fn the_refusal_has_the_demand_after_the_scale_and_the_age_of_the_benchmark() {
        let age = Some(Duration::from_secs(3 * 3_600));
        let of = HeaviestPoint { demand: 1e9, carried: 1e8, packets: Some(5e7), age, load: None };
        let told = over_capacity(of, Share::new(1, 2), 10);
        assert!(told.starts_with("with --scale 1/2 real hosts would send up to 500 Mb/s"), "{told}");
        assert!(told.contains("measured 3 hours ago. --scale 1/10"), "{told}");
        assert!(!told.contains("gso_max_segs"), "{told}");
        let packets = HeaviestPoint { packets: Some(2e8), ..of };
        assert!(over_capacity(packets, None, 10).contains("; 200 Mb/s where hosts send packet by packet"));
        assert_eq!(ago(Duration::from_secs(200_000)), " 2 days ago");
    }

    #[test]
    fn a_scale_that_leaves_no_frame_in_a_buffer_is_refused_and_one_that_leaves_few_is_noted() {
        let text = r#"
            title = "a"
            duration = "1s"
            topology = { kind = "dumbbell", senders = 1, rate = "1Gbps", delay = "1ms" }
            switch.default.buffer = "20KB"
            scheme = [{ transport = "cubic" }]
            group = [{ name = "all" }]
        "#;
        let study = shallop_scenario::read(text, &shallop_scenario::Options::default()).unwrap();
        let scaled = |whole| {
            let mut study = study.clone();
            scale_by(&mut study, Share::new(1, whole).unwrap()).map(|()| study.notes)
        };
        let why = scaled(14).unwrap_err();
        let help = why.help().map(|help| help.to_string()).unwrap_or_default();
        assert!(help.contains("--scale 1/13"), "{help}");
        assert!(why.to_string().contains("less than a frame"), "{why}");
        let notes = scaled(13).unwrap();
        assert!(notes[0].contains("holds 1 frame (port") && notes[0].ends_with("a burst decides"));
        assert_eq!(scaled(10).unwrap().len(), 1);
        let deep = text.replace("20KB", "2MB");
        let mut deep = shallop_scenario::read(&deep, &shallop_scenario::Options::default()).unwrap();
        scale_by(&mut deep, Share::new(1, 10).unwrap()).unwrap();
        assert_eq!(deep.notes, Vec::<String>::new());
    }

    #[test]
    fn the_capacity_is_the_rate_of_the_fastest_rehearsal_that_is_not_void() {
        let carried = |rate_bps, sends: &str, void: &[&str]| {
            let mut of = RateTrial { rate_bps, sends: sends.to_owned(), ..RateTrial::default() };
            of.rehearsal.void = void.iter().map(|why| (*why).to_owned()).collect();
            of
        };
        let all = [
            carried(5e8, "bursts", &["late"]),
            carried(1e9, "bursts", &[]),
            carried(2e9, "bursts", &["late"]),
            carried(5e8, "packets", &[]),
        ];
        let limits = MachineCapacity::from_trials(&all, String::new(), None);
        assert_eq!((limits.bursts_bps, limits.packets_bps), (1e9, 5e8));
    }
}
