//! Feedback control of `ExpressPass`: the credit rate follows the credit loss rate, the fraction of the credits that
//! did not return as data. Two rules: the rule of the paper of 2017, and the rule of the authors' ns-2 code, which has
//! a different target loss, increase and decrease. State: the credit rate `cur_rate`, the aggressiveness factor `w`,
//! and whether the last update was an increase. Units: fractions of the maximum credit rate. Sources: Cho, Jang and
//! Han, Credit-Scheduled Delay-Bounded Congestion Control for Datacenters (SIGCOMM 2017), Algorithm 1;
//! kaist-ina/ns2-xpass f4e38bc, `xpass/xpass.cc`.

use crate::rate::{Epoch, Rate};
use shallop_options::{Key, Options, Problem, Section};

/// Parameters of the rule in the authors' ns-2 code. Rates are fractions of the maximum credit rate.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults, check)]
pub struct CodeConfig {
    /// The initial credit rate of a transfer (the code's scripts changed it from 1/16 to 1/2 in 2018).
    #[key(Above(0.0, 1.0), default = 0.5)]
    pub alpha: f64,
    /// The initial aggressiveness factor w, the weight of the maximum rate in an increase.
    #[key(Above(0.0, 1.0), default = 0.5)]
    pub w_init: f64,
    /// The least aggressiveness factor.
    #[key(Above(0.0, 1.0), default = 0.01)]
    pub w_min: f64,
    /// The largest aggressiveness factor.
    #[key(Above(0.0, 1.0), default = 0.5)]
    pub w_max: f64,
    /// The increment of the aggressiveness factor at each consecutive increase.
    #[key(Number(0.0, 1.0), default = 0.05)]
    pub w_step: f64,
    /// The target credit loss at rate zero; it falls linearly to zero at the full rate.
    #[key(Number(0.0, 1.0), default = 0.125)]
    pub target_scale: f64,
    /// A transfer of fewer packets than this starts at a rate proportionally below `alpha` (40 in the code).
    #[key(Integer(1, 1_000_000), shown = "none: every transfer starts at `alpha`")]
    pub full_start: Option<u32>,
}

impl CodeConfig {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let keys = [Self::KEY.w_init, Self::KEY.w_min, Self::KEY.w_max];
        check_order(keys, self.w_min, self.w_init, self.w_max, section)
    }
}

/// Checks `w_min <= w_init <= w_max`.
fn check_order(
    keys: [&'static Key; 3], least: f64, first: f64, most: f64, section: &Section<'_>,
) -> Result<(), Problem> {
    if least <= first && first <= most {
        return Ok(());
    }
    let key = keys.into_iter().find(|key| section.is_written(*key)).unwrap_or(keys[0]);
    let message = format!("weights are out of order: {least}, {first}, {most}");
    Err(section.reject(key, message).with_help("w_min must not be above w_init, nor w_init above w_max"))
}

/// Parameters of the paper's rule. Rates are fractions of the maximum credit rate.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults, check)]
pub struct PaperConfig {
    /// The initial credit rate of a transfer.
    #[key(Above(0.0, 1.0), default = 1.0 / 16.0)]
    pub alpha: f64,
    /// The initial aggressiveness factor w, the weight of the maximum rate in an increase.
    #[key(Above(0.0, 1.0), default = 1.0 / 16.0)]
    pub w_init: f64,
    /// The least aggressiveness factor.
    #[key(Above(0.0, 1.0), default = 0.01)]
    pub w_min: f64,
    /// The largest aggressiveness factor.
    #[key(Above(0.0, 1.0), default = 0.5)]
    pub w_max: f64,
    /// The target credit loss, at every rate. The maximum rate is exceeded by as much, so that there is loss to
    /// measure.
    #[key(Above(0.0, 1.0), default = 0.1)]
    pub target_loss: f64,
    /// Whether a decrease scales the rate at which the lost credits were sent, instead of the present rate, which
    /// may have been decreased for the same congestion since. Not in the paper.
    #[key(default = false)]
    pub attribute: bool,
}

impl PaperConfig {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let keys = [Self::KEY.w_init, Self::KEY.w_min, Self::KEY.w_max];
        check_order(keys, self.w_min, self.w_init, self.w_max, section)
    }
}

/// Choice of a feedback rule of `ExpressPass`, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RuleConfig {
    /// The ns-2 code's rule: if the loss exceeds the target loss, the rate becomes the measured rate of returned
    /// credits.
    Code(CodeConfig),
    /// The paper's rule: if the loss exceeds the target loss, the rate is multiplied by (1 - loss) (1 + target loss);
    /// otherwise it moves towards the maximum, (1 + target loss) times the maximum credit rate.
    Paper(PaperConfig),
}

/// Feedback control of the credits of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    config: RuleConfig,
    cur_rate: f64,
    /// Aggressiveness factor: the weight of the maximum rate in an increase, from `w_min` to `w_max`.
    pub w: f64,
    /// Whether the last update was an increase: if so, the next increase also increases `w`.
    increasing: bool,
}

impl Rule {
    /// A rule before the first transfer of its connection.
    pub fn new(config: RuleConfig) -> Self {
        let (cur_rate, w) = match config {
            RuleConfig::Code(config) => (config.alpha, config.w_init),
            RuleConfig::Paper(config) => (config.alpha, config.w_init),
        };
        Self { config, cur_rate, w, increasing: false }
    }

    /// The rule of the authors' ns-2 code, before the first transfer of its connection.
    pub fn code(config: CodeConfig) -> Self {
        Self::new(RuleConfig::Code(config))
    }

    /// The rule of the paper, before the first transfer of its connection.
    pub fn paper(config: PaperConfig) -> Self {
        Self::new(RuleConfig::Paper(config))
    }

    /// Decreases the rate to `rate`, unless the rate is lower already, and halves `w`.
    fn decrease(&mut self, rate: f64, w_min: f64) {
        self.cur_rate = rate.min(self.cur_rate);
        self.w = (self.w / 2.0).max(w_min);
        self.increasing = false;
    }

    /// Moves the rate towards `max_rate` by the fraction `w`. `larger_w` becomes the new `w` if the last update was an
    /// increase as well.
    fn increase(&mut self, max_rate: f64, larger_w: f64) {
        if self.increasing {
            self.w = larger_w;
        }
        self.increasing = true;
        self.cur_rate = (1.0 - self.w) * self.cur_rate + self.w * max_rate;
    }

    fn on_epoch_by_code(&mut self, config: &CodeConfig, epoch: &Epoch) {
        let (loss, target_loss) = (epoch.loss(), (1.0 - self.cur_rate) * config.target_scale);
        if loss > target_loss {
            // If the rate of returned credits was not measured, the loss gives an estimate.
            let returned_rate =
                if epoch.returned_rate > 0.0 { epoch.returned_rate } else { self.cur_rate * (1.0 - loss) };
            self.decrease(returned_rate * (1.0 + target_loss), config.w_min);
        } else {
            self.increase(1.0, (self.w + config.w_step).min(config.w_max));
        }
        self.cur_rate = self.cur_rate.max(epoch.min_rate).min(1.0);
    }

    fn on_epoch_by_paper(&mut self, config: &PaperConfig, epoch: &Epoch) {
        let (loss, max_rate) = (epoch.loss(), 1.0 + config.target_loss);
        if loss > config.target_loss {
            let lossy_rate = if config.attribute { epoch.rate } else { self.cur_rate };
            self.decrease(lossy_rate * (1.0 - loss) * max_rate, config.w_min);
        } else {
            self.increase(max_rate, f64::midpoint(self.w, config.w_max));
        }
        self.cur_rate = self.cur_rate.max(epoch.min_rate).min(max_rate);
    }
}

impl Rate for Rule {
    fn on_start(&mut self, demand: Option<u64>) {
        *self = Self::new(self.config);
        if let (RuleConfig::Code(CodeConfig { full_start: Some(full), .. }), Some(demand)) = (self.config, demand) {
            self.cur_rate *= (demand as f64 / f64::from(full)).min(1.0);
        }
    }

    fn on_epoch(&mut self, epoch: &Epoch) {
        match self.config {
            RuleConfig::Code(config) => self.on_epoch_by_code(&config, epoch),
            RuleConfig::Paper(config) => self.on_epoch_by_paper(&config, epoch),
        }
    }

    fn rate(&self) -> f64 {
        self.cur_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallop_core::{Span, Time};

    const MIN_RATE: f64 = 0.01;

    fn epoch(rate: f64, loss: f64, returned_rate: f64) -> Epoch {
        let (sent, min_rate) = (1_000_000, MIN_RATE);
        let returned = sent - (loss * sent as f64).round() as u64;
        let elapsed = Span::from_ms(1);
        Epoch { now: Time::ZERO, rate, sent, returned, elapsed, returned_rate, min_rate }
    }

    fn code(alpha: f64, w_init: f64) -> Rule {
        Rule::code(CodeConfig { alpha, w_init, ..CodeConfig::default() })
    }

    fn paper(alpha: f64, w_init: f64) -> Rule {
        Rule::paper(PaperConfig { alpha, w_init, ..PaperConfig::default() })
    }

    /// Rows of a table of known answers, without comments and header.
    fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
        text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split(',').collect())
    }

    /// Whether `value` rounds to `expected`, with as many decimals as `expected` has, or `expected` is empty.
    fn agree(expected: &str, value: f64) -> bool {
        let digits = expected.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let tolerance = 0.5 / (0..digits).fold(1.0, |scale, _| scale * 10.0) + 1e-9;
        expected.is_empty() || (expected.parse::<f64>().unwrap() - value).abs() <= tolerance
    }

    fn check(vectors: &str, new: fn(f64, f64) -> Rule) {
        let mut rule = new(0.0, 0.0);
        for row in rows(vectors) {
            let &[_, step, loss, returned_rate, rate, w] = &row[..] else { panic!("{row:?}") };
            if step == "0" {
                rule = new(rate.parse().unwrap(), w.parse().unwrap());
            } else {
                let measured = returned_rate.parse().unwrap_or(0.0);
                rule.on_epoch(&epoch(rule.rate(), loss.parse().unwrap(), measured));
            }
            assert!(agree(rate, rule.rate()) && agree(w, rule.w), "{row:?} {rule:?}");
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

    /// Runs flows of equal rate that share a link and update simultaneously. Returns the sum of their rates and `w`
    /// after each update.
    fn synchronised(rule: &mut Rule, flows: f64, updates: usize) -> Vec<(f64, f64)> {
        let history = (0..updates).map(|_| {
            let sum = rule.rate() * flows;
            let loss = (1.0 - 1.0 / sum).max(0.0);
            rule.on_epoch(&epoch(rule.rate(), loss, rule.rate() * (1.0 - loss)));
            (rule.rate() * flows, rule.w)
        });
        history.collect()
    }

    #[test]
    fn synchronised_flows_alternate_between_two_total_rates() {
        for row in rows(include_str!("../vectors/expresspass_synchronised.csv")) {
            let &[name, flows, low, high] = &row[..] else { panic!("{row:?}") };
            let mut rule = if name == "code" { code(0.5, 0.5) } else { paper(0.0625, 0.0625) };
            let history = synchronised(&mut rule, flows.parse().unwrap(), 500);
            let mut last: Vec<f64> = history[498..].iter().map(|(sum, _)| *sum).collect();
            last.sort_by(f64::total_cmp);
            let close = |expected: &str, sum: f64| (expected.parse::<f64>().unwrap() - sum).abs() < 6e-4;
            assert!(close(low, last[0]) && close(high, last[1]), "{row:?}: {last:?}");
        }
    }

    #[test]
    fn w_of_two_synchronised_flows_does_not_stay_at_w_min_with_the_paper_rule() {
        let history = synchronised(&mut paper(0.0625, 0.0625), 2.0, 500);
        let all_w = history[400..].iter().map(|(_, w)| *w);
        let (low, high) = all_w.fold((1.0f64, 0.0f64), |(l, h), w| (l.min(w), h.max(w)));
        assert!(low <= 0.011 && high > 0.2, "w is from {low} to {high}");
    }

    #[test]
    fn a_small_request_starts_at_a_proportionally_lower_rate_with_full_start() {
        let config = CodeConfig { w_init: 0.0625, full_start: Some(40), ..CodeConfig::default() };
        let mut rule = Rule::code(config);
        for (demand, rate) in [(Some(10), 0.125), (Some(40), 0.5), (Some(1000), 0.5), (None, 0.5)] {
            rule.on_start(demand);
            assert!((rule.rate() - rate).abs() < 1e-12, "{demand:?}: {}", rule.rate());
        }
        rule.on_start(Some(10));
        rule.on_epoch(&epoch(0.125, 0.0, 0.125));
        assert!((rule.rate() - 0.1797).abs() < 5e-5, "{}", rule.rate());
    }

    #[test]
    fn an_attributed_loss_does_not_decrease_a_rate_that_was_decreased_for_it_before() {
        for (attribute, expected) in [(false, 0.22), (true, 0.4)] {
            let config = PaperConfig { alpha: 0.4, attribute, ..PaperConfig::default() };
            let mut rule = Rule::paper(config);
            rule.on_epoch(&epoch(0.8, 0.5, 0.4));
            assert!((rule.rate() - expected).abs() < 1e-12, "{}", rule.rate());
        }
    }

    proptest! {
        #[test]
        fn the_rate_and_w_stay_within_their_bounds(
            history in prop::collection::vec((0.0..=1.0f64, 0.0..2.0f64), 1..100),
            paper_rule in any::<bool>(),
        ) {
            let (mut rule, max_rate) =
                if paper_rule { (paper(0.0625, 0.0625), 1.1) } else { (code(0.5, 0.5), 1.0) };
            for (loss, measured) in history {
                rule.on_epoch(&epoch(rule.rate(), loss, measured));
                prop_assert!((MIN_RATE..=max_rate + 1e-12).contains(&rule.rate()), "{rule:?}");
                prop_assert!((0.01..=0.5).contains(&rule.w), "{rule:?}");
            }
        }
    }
}
