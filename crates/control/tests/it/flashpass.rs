//! Emulation feedback control of `FlashPass`: Algorithm 1 of the paper (Zeng et al., ICNP 2021) computed by hand, and
//! the fixed point of the alternative with additive increase.

use shallop_control::flashpass::{Aimd, AimdConfig, Law, Mimd, MimdConfig};
use shallop_control::{Epoch, Rate};
use shallop_core::{Span, Time};

const PACKETS: u64 = 1_000_000;

/// An epoch that was sent at `rate` and lost the fraction `loss`.
fn epoch(rate: f64, loss: f64, min_rate: f64) -> Epoch {
    Epoch {
        now: Time::ZERO,
        rate,
        sent: PACKETS,
        returned: PACKETS - (PACKETS as f64 * loss).round() as u64,
        elapsed: Span::from_ms(1),
        returned_rate: 0.0,
        min_rate,
    }
}

/// The new rate after an epoch that was sent at `rate` and lost the fraction `loss`.
fn after(law: &mut impl Rate, rate: f64, loss: f64) -> f64 {
    law.on_epoch(&epoch(rate, loss, 1e-6));
    law.rate()
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} instead of {expected}");
}

#[test]
fn algorithm_1_scales_the_rate_of_the_epoch_that_lost() {
    let mut law = Mimd::new(MimdConfig::default(), 1.0);
    near(law.rate(), 1.0);
    // Loss above 10 %: (1 - loss) x 1.01. Below 1 %: x 1.1. Between, bounds included: unchanged.
    for (rate, loss, expected) in [
        (1.0, 0.5, 0.505),
        (0.4, 0.2, 0.3232),
        (0.4, 0.100_001, 0.363_599_596),
        (0.4, 0.1, 0.4),
        (0.4, 0.05, 0.4),
        (0.4, 0.01, 0.4),
        (0.4, 0.009_999, 0.44),
        (0.4, 0.0, 0.44),
        (0.95, 0.0, 1.0),
        (0.5, 1.0, 1e-6),
    ] {
        near(after(&mut law, rate, loss), expected);
    }
}

#[test]
fn a_sample_shows_a_loss_at_the_largest_target() {
    for (max_target_loss, sample) in [(0.1, 10), (0.2, 5), (0.05, 20), (0.025, 40), (0.3, 4), (1.0, 1), (0.0, 100_000)]
    {
        assert_eq!(MimdConfig { max_target_loss, ..MimdConfig::default() }.min_sample(), sample, "{max_target_loss}");
    }
    assert_eq!(MimdConfig { min_sample: Some(3), ..MimdConfig::default() }.min_sample(), 3);
}

#[test]
fn without_feedback_the_rate_stays() {
    let mut law = Law::Fixed(0.5);
    law.on_epoch(&epoch(0.5, 0.9, 1e-6));
    near(law.rate(), 0.5);
}

#[test]
fn algorithm_1_uses_the_configured_target_losses() {
    let mut law = Mimd::new(MimdConfig { min_target_loss: 0.02, max_target_loss: 0.4, ..MimdConfig::default() }, 1.0);
    near(after(&mut law, 0.5, 0.3), 0.5);
    near(after(&mut law, 0.5, 0.5), 0.255);
    near(after(&mut law, 0.5, 0.01), 0.7);
}

#[test]
fn rates_stay_between_the_minimum_and_the_maximum_rate() {
    let laws = [
        Law::Mimd(Mimd::new(MimdConfig::default(), 1.0)),
        Law::Aimd(Aimd::new(AimdConfig { increase: 0.0, ..AimdConfig::default() }, 1.0)),
    ];
    for mut law in laws {
        law.on_epoch(&epoch(1.0, 1.0, 0.03));
        near(law.rate(), 0.03);
        law.on_epoch(&epoch(1.0, 0.0, 3.0));
        near(law.rate(), 1.0);
    }
}

#[test]
fn an_epoch_without_packets_counts_as_loss_free() {
    let empty = Epoch { sent: 0, returned: 0, ..epoch(0.5, 0.0, 1e-6) };
    let mut law = Mimd::new(MimdConfig::default(), 1.0);
    law.on_epoch(&empty);
    near(law.rate(), 0.55);
}

/// Rates of flows that share a bottleneck, after `epochs` epochs. All flows have one loss rate in each epoch.
fn settle(mut flows: Vec<(f64, Law)>, capacity: f64, epochs: u32) -> Vec<f64> {
    for _ in 0..epochs {
        let load: f64 = flows.iter().map(|(rate, _)| rate).sum();
        let loss = (1.0 - capacity / load).max(0.0);
        for (rate, law) in &mut flows {
            *rate = after(law, *rate, loss);
        }
    }
    flows.into_iter().map(|(rate, _)| rate).collect()
}

#[test]
fn additive_increase_settles_where_the_step_equals_the_lost_rate_from_any_initial_rate() {
    let config = AimdConfig::default();
    for flows in [2, 20, 200] {
        let start = |number| if number % 2 == 0 { 1.0 } else { 0.001 };
        let all = (0..flows).map(|number| (start(number), Law::Aimd(Aimd::new(config, 1.0))));
        let rates = settle(all.collect(), 1.0, 3_000);
        let total: f64 = rates.iter().sum();
        let loss = 1.0 - 1.0 / total;
        // rate * loss = step * exp(-loss / decay)
        let expected = config.increase * libm::exp(-loss / config.decay) / loss;
        for rate in &rates {
            assert!((rate / expected - 1.0).abs() < 0.01, "{flows} flows: {rate}, {expected}");
        }
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let jain = total * total / (squares * f64::from(flows));
        assert!(jain > 0.9999, "{flows} flows: {jain}");
    }
}

#[test]
fn the_loss_rate_with_additive_increase_is_the_root_of_its_equation() {
    // N * step * exp(-min(loss, most) / decay) * (1 - loss) = loss, by bisection.
    let config = AimdConfig::default();
    let root = |flows: f64| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let loss = f64::midpoint(low, high);
            let step = config.increase * libm::exp(-loss.min(config.max_loss) / config.decay);
            if flows * step * (1.0 - loss) > loss { low = loss } else { high = loss }
        }
        low
    };
    // Near 300 flows the loss rate reaches `most`: the step is constant from there, and the loss rate grows with the
    // number of flows.
    for (flows, known) in [(2, 0.0353), (20, 0.0926), (200, 0.1662), (2_000, 0.5944)] {
        let all = (0..flows).map(|_| (1.0, Law::Aimd(Aimd::new(config, 1.0))));
        let rates = settle(all.collect(), 1.0, 3_000);
        let loss = 1.0 - 1.0 / rates.iter().sum::<f64>();
        assert!((loss - root(f64::from(flows))).abs() < 0.002, "{flows} flows: {loss}");
        assert!((loss - known).abs() < 0.002, "{flows} flows: {loss}");
    }
}
