//! `ExpressPass`: the rate of credits, steered by how many of them come back as data. Two rules, by name: that of the
//! 2017 paper, and that of the public code, whose target, increase and decrease all differ from it.
//! State: the rate, the weight of the ceiling in an increase, and whether the last epoch allowed one. Units: fractions
//! of the maximum credit rate. Source: PROTOCOLS 7.3 (SIGCOMM'17) and 7.4 (kaist-ina/ns2-xpass f4e38bc, xpass.cc).

use crate::rate::{Epoch, Rate};

/// Constants of the public code's rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodeConfig {
    /// The rate a transfer starts at. The code's scripts moved from 1/16 to 1/2 in 2018.
    pub alpha: f64,
    /// The weight a transfer starts with.
    pub initial_weight: f64,
    /// The least weight.
    pub min_weight: f64,
    /// The largest weight.
    pub max_weight: f64,
    /// What each further increase in a row adds to the weight.
    pub weight_step: f64,
    /// The loss tolerated at rate zero; it falls linearly to none at the full rate.
    pub target_scale: f64,
    /// A transfer that asks for fewer packets than this starts in proportion below `alpha`. The code has 40; `None`
    /// starts every transfer at `alpha`.
    pub full_start: Option<u32>,
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self {
            alpha: 0.5,
            initial_weight: 0.5,
            min_weight: 0.01,
            max_weight: 0.5,
            weight_step: 0.05,
            target_scale: 0.125,
            full_start: None,
        }
    }
}

/// The public code's rule: a loss above the target lowers the rate to what was measured to come back.
#[derive(Clone, Copy, Debug)]
pub struct CodeRule {
    config: CodeConfig,
    rate: f64,
    weight: f64,
    /// The last epoch was no decrease, so another increase may weigh more.
    rising: bool,
}

impl CodeRule {
    /// A rule before its first transfer.
    #[must_use]
    pub fn new(config: CodeConfig) -> Self {
        Self { config, rate: config.alpha, weight: config.initial_weight, rising: false }
    }

    /// The weight of the ceiling in the next increase, for measuring.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.weight
    }
}

impl Rate for CodeRule {
    fn on_start(&mut self, demand: Option<u64>) {
        *self = Self::new(self.config);
        if let (Some(full), Some(demand)) = (self.config.full_start, demand) {
            self.rate *= (demand as f64 / f64::from(full)).min(1.0);
        }
    }

    fn on_epoch(&mut self, epoch: &Epoch) {
        let Self { config, rate: old, .. } = *self;
        let (loss, target) = (epoch.loss(), (1.0 - old) * config.target_scale);
        if loss > target {
            // Without a measurement the best guess of what came back is what was not lost.
            let kept =
                if epoch.returned_rate > 0.0 { epoch.returned_rate } else { old * (1.0 - loss) };
            self.rate = (kept * (1.0 + target)).min(old);
            self.weight = (self.weight / 2.0).max(config.min_weight);
            self.rising = false;
        } else {
            if self.rising {
                self.weight = (self.weight + config.weight_step).min(config.max_weight);
            }
            self.rising = true;
            self.rate = self.weight + (1.0 - self.weight) * old;
        }
        self.rate = self.rate.max(epoch.floor).min(1.0);
    }

    fn rate(&self) -> f64 {
        self.rate
    }
}

/// Constants of the paper's rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperConfig {
    /// The rate a transfer starts at.
    pub alpha: f64,
    /// The weight a transfer starts with.
    pub initial_weight: f64,
    /// The least weight.
    pub min_weight: f64,
    /// The largest weight.
    pub max_weight: f64,
    /// The loss tolerated at every rate. The ceiling lies above the maximum by this much, so that there is loss to see.
    pub target_loss: f64,
    /// A decrease scales the rate that the lost credits were sent at instead of the present one, which may have been
    /// lowered for the same congestion since. Not in the paper.
    pub attribute: bool,
}

impl Default for PaperConfig {
    fn default() -> Self {
        Self {
            alpha: 1.0 / 16.0,
            initial_weight: 1.0 / 16.0,
            min_weight: 0.01,
            max_weight: 0.5,
            target_loss: 0.1,
            attribute: false,
        }
    }
}

/// The 2017 paper's rule: a loss above the target scales the rate down, anything else moves it towards a ceiling.
#[derive(Clone, Copy, Debug)]
pub struct PaperRule {
    config: PaperConfig,
    rate: f64,
    weight: f64,
    /// The last epoch was an increase.
    rising: bool,
}

impl PaperRule {
    /// A rule before its first transfer.
    #[must_use]
    pub fn new(config: PaperConfig) -> Self {
        Self { config, rate: config.alpha, weight: config.initial_weight, rising: false }
    }

    /// The weight of the ceiling in the next increase, for measuring.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.weight
    }
}

impl Rate for PaperRule {
    fn on_start(&mut self, _demand: Option<u64>) {
        *self = Self::new(self.config);
    }

    fn on_epoch(&mut self, epoch: &Epoch) {
        let Self { config, rate: old, .. } = *self;
        let (loss, ceiling) = (epoch.loss(), 1.0 + config.target_loss);
        if loss > config.target_loss {
            let base = if config.attribute { epoch.rate } else { old };
            self.rate = (base * (1.0 - loss) * ceiling).min(old);
            self.weight = (self.weight / 2.0).max(config.min_weight);
            self.rising = false;
        } else {
            if self.rising {
                self.weight = f64::midpoint(self.weight, config.max_weight);
            }
            self.rising = true;
            self.rate = (1.0 - self.weight) * old + self.weight * ceiling;
        }
        self.rate = self.rate.max(epoch.floor).min(ceiling);
    }

    fn rate(&self) -> f64 {
        self.rate
    }
}

/// One of the two rules, chosen at run time.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// The public code's.
    Code(CodeRule),
    /// The 2017 paper's.
    Paper(PaperRule),
}

impl Rule {
    /// The weight of the ceiling in the next increase, for measuring.
    #[must_use]
    pub fn weight(&self) -> f64 {
        match self {
            Self::Code(rule) => rule.weight(),
            Self::Paper(rule) => rule.weight(),
        }
    }
}

impl Rate for Rule {
    fn on_start(&mut self, demand: Option<u64>) {
        match self {
            Self::Code(rule) => rule.on_start(demand),
            Self::Paper(rule) => rule.on_start(demand),
        }
    }

    fn on_epoch(&mut self, epoch: &Epoch) {
        match self {
            Self::Code(rule) => rule.on_epoch(epoch),
            Self::Paper(rule) => rule.on_epoch(epoch),
        }
    }

    fn rate(&self) -> f64 {
        match self {
            Self::Code(rule) => rule.rate(),
            Self::Paper(rule) => rule.rate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallop_core::{Span, Time};
    use std::fmt::Write;

    const FLOOR: f64 = 0.01;

    fn epoch(rate: f64, loss: f64, returned_rate: f64) -> Epoch {
        let (sent, floor) = (1_000_000, FLOOR);
        let returned = sent - (loss * sent as f64).round() as u64;
        let elapsed = Span::from_ms(1);
        Epoch { now: Time::ZERO, rate, sent, returned, elapsed, returned_rate, floor }
    }

    fn code(alpha: f64, initial_weight: f64) -> Rule {
        Rule::Code(CodeRule::new(CodeConfig { alpha, initial_weight, ..CodeConfig::default() }))
    }

    fn paper(alpha: f64, initial_weight: f64) -> Rule {
        Rule::Paper(PaperRule::new(PaperConfig { alpha, initial_weight, ..PaperConfig::default() }))
    }

    /// The rows of a vector file, without comments and header.
    fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .skip(1)
            .map(|line| line.split(',').collect())
    }

    /// Agreement to all digits that are written down.
    fn agree(written: &str, value: f64) -> bool {
        let digits = written.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let tolerance = 0.5 / (0..digits).fold(1.0, |scale, _| scale * 10.0) + 1e-9;
        written.is_empty() || (written.parse::<f64>().unwrap() - value).abs() <= tolerance
    }

    fn check(vectors: &str, new: fn(f64, f64) -> Rule) {
        let mut rule = new(0.0, 0.0);
        for row in rows(vectors) {
            let &[_, step, loss, returned_rate, rate, weight] = &row[..] else { panic!("{row:?}") };
            if step == "0" {
                rule = new(rate.parse().unwrap(), weight.parse().unwrap());
            } else {
                let measured = returned_rate.parse().unwrap_or(0.0);
                rule.on_epoch(&epoch(rule.rate(), loss.parse().unwrap(), measured));
            }
            assert!(agree(rate, rule.rate()) && agree(weight, rule.weight()), "{row:?} {rule:?}");
        }
    }

    #[test]
    fn the_code_rule_gives_its_known_answers() {
        check(include_str!("../vectors/expresspass_code.csv"), code);
    }

    #[test]
    fn the_paper_rule_gives_its_known_answers() {
        check(include_str!("../vectors/expresspass_paper.csv"), paper);
    }

    /// Lets flows of one rate share a link for so many updates. Gives the last sums of their rates, with the weight.
    fn synchronised(rule: &mut Rule, flows: f64, updates: usize) -> Vec<(f64, f64)> {
        let history = (0..updates).map(|_| {
            let sum = rule.rate() * flows;
            let loss = (1.0 - 1.0 / sum).max(0.0);
            rule.on_epoch(&epoch(rule.rate(), loss, rule.rate() * (1.0 - loss)));
            (rule.rate() * flows, rule.weight())
        });
        history.collect()
    }

    #[test]
    fn flows_in_step_alternate_between_two_sums() {
        for row in rows(include_str!("../vectors/expresspass_synchronised.csv")) {
            let &[name, flows, low, high] = &row[..] else { panic!("{row:?}") };
            let mut rule = if name == "code" { code(0.5, 0.5) } else { paper(0.0625, 0.0625) };
            let history = synchronised(&mut rule, flows.parse().unwrap(), 500);
            let mut last: Vec<f64> = history[498..].iter().map(|(sum, _)| *sum).collect();
            last.sort_by(f64::total_cmp);
            let close =
                |written: &str, sum: f64| (written.parse::<f64>().unwrap() - sum).abs() < 6e-4;
            assert!(close(low, last[0]) && close(high, last[1]), "{row:?}: {last:?}");
        }
    }

    #[test]
    fn two_flows_in_step_under_the_paper_rule_find_no_rest_at_the_least_weight() {
        let history = synchronised(&mut paper(0.0625, 0.0625), 2.0, 500);
        let weights = history[400..].iter().map(|(_, weight)| *weight);
        let (low, high) = weights.fold((1.0f64, 0.0f64), |(l, h), w| (l.min(w), h.max(w)));
        assert!(low <= 0.011 && high > 0.2, "the weight stays within {low} and {high}");
    }

    #[test]
    fn a_small_demand_starts_in_proportion_if_asked_to() {
        let config =
            CodeConfig { initial_weight: 0.0625, full_start: Some(40), ..CodeConfig::default() };
        let mut rule = CodeRule::new(config);
        for (demand, rate) in [(Some(10), 0.125), (Some(40), 0.5), (Some(1000), 0.5), (None, 0.5)] {
            rule.on_start(demand);
            assert!((rule.rate() - rate).abs() < 1e-12, "{demand:?}: {}", rule.rate());
        }
        rule.on_start(Some(10));
        rule.on_epoch(&epoch(0.125, 0.0, 0.125));
        assert!((rule.rate() - 0.1797).abs() < 5e-5, "{}", rule.rate());
    }

    #[test]
    fn an_attributed_loss_lowers_no_rate_that_was_lowered_for_it_already() {
        for (attribute, expected) in [(false, 0.22), (true, 0.4)] {
            let config = PaperConfig { alpha: 0.4, attribute, ..PaperConfig::default() };
            let mut rule = PaperRule::new(config);
            rule.on_epoch(&epoch(0.8, 0.5, 0.4));
            assert!((rule.rate() - expected).abs() < 1e-12, "{}", rule.rate());
        }
    }

    #[test]
    fn rates_over_a_standard_loss_script() {
        let script =
            [0.0, 0.0, 0.0, 0.0, 0.2, 0.2, 0.05, 0.0, 0.0, 0.12, 0.0, 0.6, 1.0, 0.0, 0.0, 0.0];
        let (mut code, mut paper) = (code(0.5, 0.5), paper(0.0625, 0.0625));
        let mut table = "loss   code rate weight   paper rate weight\n".to_owned();
        for loss in script {
            for rule in [&mut code, &mut paper] {
                rule.on_epoch(&epoch(rule.rate(), loss, rule.rate() * (1.0 - loss)));
            }
            let (a, b) = ((code.rate(), code.weight()), (paper.rate(), paper.weight()));
            writeln!(table, "{loss:.2}      {:.4} {:.4}       {:.4} {:.4}", a.0, a.1, b.0, b.1)
                .unwrap();
        }
        insta::assert_snapshot!(table, @r"
        loss   code rate weight   paper rate weight
        0.00      0.7500 0.5000       0.1273 0.0625
        0.00      0.8750 0.5000       0.4009 0.2812
        0.00      0.9375 0.5000       0.6740 0.3906
        0.00      0.9688 0.5000       0.8637 0.4453
        0.20      0.7780 0.2500       0.7601 0.2227
        0.20      0.6397 0.1250       0.6688 0.1113
        0.05      0.6351 0.0625       0.7168 0.1113
        0.00      0.6579 0.0625       0.8340 0.3057
        0.00      0.6964 0.1125       0.9411 0.4028
        0.12      0.6361 0.0563       0.9110 0.2014
        0.00      0.6565 0.0563       0.9491 0.2014
        0.60      0.2739 0.0281       0.4176 0.1007
        1.00      0.0100 0.0141       0.0100 0.0504
        0.00      0.0239 0.0141       0.0649 0.0504
        0.00      0.0865 0.0641       0.3497 0.2752
        0.00      0.1907 0.1141       0.6405 0.3876
        ");
    }

    proptest! {
        #[test]
        fn no_history_leaves_the_floor_and_the_ceiling(
            history in prop::collection::vec((0.0..=1.0f64, 0.0..2.0f64), 1..100),
            paper_rule in any::<bool>(),
        ) {
            let (mut rule, ceiling) =
                if paper_rule { (paper(0.0625, 0.0625), 1.1) } else { (code(0.5, 0.5), 1.0) };
            for (loss, measured) in history {
                rule.on_epoch(&epoch(rule.rate(), loss, measured));
                prop_assert!((FLOOR..=ceiling + 1e-12).contains(&rule.rate()), "{rule:?}");
                prop_assert!((0.01..=0.5).contains(&rule.weight()), "{rule:?}");
            }
        }
    }
}
