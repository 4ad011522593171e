//! Runs steps through the programs' arithmetic in C and compares the results with Rust's. `SHALLOP_STEPS` is the number
//! of random steps of each test.

use shallop_control::{Ack, Start};
use shallop_core::{BitsPerSec, Bytes, Span, Stream};
use shallop_testing::{Outcome, Stop, programs};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempPath;

pub const IN: usize = 13;
pub const OUT: usize = 6;
/// The segment length of the compared connections, bytes.
pub const MSS: u64 = 1_448;

/// The inputs of a step, and the results of the simulator's arithmetic.
pub type Step = ([u64; IN], [u64; OUT]);

pub fn step(what: u64, inputs: &[u64], results: &[u64]) -> Step {
    let (mut input, mut output) = ([0; IN], [0; OUT]);
    input[0] = what;
    input[1..=inputs.len()].copy_from_slice(inputs);
    output[..results.len()].copy_from_slice(results);
    (input, output)
}

/// Compiles `tests/c/NAME.c` with the sanitizers for addresses and undefined behaviour.
pub fn compile(name: &str) -> Result<TempPath, Stop> {
    programs(&["cc"])?;
    let program = tempfile::NamedTempFile::new()?.into_temp_path();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-fno-sanitize-recover=all"]);
    cc.args(["-fsanitize=address,undefined", "-o"]).arg(&program);
    cc.arg("-I").arg(here.join("c"));
    assert!(cc.arg(here.join(format!("tests/c/{name}.c"))).status()?.success());
    Ok(program)
}

/// Runs steps in C and compares the results.
pub fn compare(steps: impl Iterator<Item = Step> + Send) -> Outcome {
    let program = compile("twins")?;
    let mut command = Command::new(&program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = std::io::BufWriter::new(child.stdin.take().unwrap());
    let output = std::io::BufReader::new(child.stdout.take().unwrap());
    let (send, wanted) = std::sync::mpsc::sync_channel::<Step>(1 << 16);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for step in steps {
                let bytes: Vec<u8> = step.0.iter().flat_map(|word| word.to_ne_bytes()).collect();
                if input.write_all(&bytes).is_err() || send.send(step).is_err() {
                    return;
                }
            }
        });
        // A failed comparison ends both the writer and the child.
        let mut output = output;
        for (number, (inputs, wanted)) in wanted.into_iter().enumerate() {
            let mut bytes = [0; 8 * OUT];
            output.read_exact(&mut bytes).unwrap();
            let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
            assert!(words.eq(wanted), "step {number}: {inputs:?} is to be {wanted:?}");
        }
    });
    assert!(child.wait()?.success());
    Ok(())
}

pub fn steps() -> usize {
    std::env::var("SHALLOP_STEPS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

/// The rows of a table, without comments and the line of names.
pub fn table(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.skip(1).map(|row| row.split(',').collect())
}

pub fn whole(field: &str) -> u64 {
    if field.is_empty() { 0 } else { field.parse().unwrap() }
}

/// A random number from 1 to `most`, with a uniformly distributed number of bits.
pub fn spread(random: &mut Stream, most: u64) -> u64 {
    let bits = random.below(u64::from(most.ilog2()) + 1);
    random.below((2 << bits).min(most)) + 1
}

/// A new connection with an initial window of this many segments.
pub fn start(initial: u64, initial_ssthresh: Bytes) -> Start {
    Start {
        mss: Bytes::new(MSS),
        initial_window: Bytes::new(initial * MSS),
        initial_ssthresh,
        link_rate: BitsPerSec::gbps(1),
        seed: 1,
    }
}

pub fn ack(snd_una: u64, snd_nxt: u64, rtt: Span, segment: Bytes) -> Ack {
    Ack {
        acked_sacked: segment,
        delivered: Bytes::new(snd_una),
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        prior_in_flight: segment,
        in_flight: segment,
        is_cwnd_limited: true,
        snd_una_advance: segment,
        snd_una,
        snd_nxt,
        ..Ack::default()
    }
}
