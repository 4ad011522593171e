//! Pages and figures from outside: what is shown of which results, that nothing of a text is taken for HTML, that the
//! same results give the same bytes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use shallop_results::{Run, Summary};
use shallop_view::colours::colour;
use shallop_view::{Figure, FigureData, IndexEntry, Page, PageTable, PlotFlow, PlotSample, figures, page};
use std::{collections::BTreeSet, fmt::Write as _};

/// A summary of two schemes at one point, two seeds, with everything a figure can be of. `summary.json` has the fields
/// of each run beside its links.
fn summary() -> Value {
    let mut all: Value = serde_json::from_str(include_str!("summary.json")).unwrap();
    let fields = all["runs"].take();
    let run = |(scheme, seed): (&str, u64)| {
        let mut run = serde_json::to_value(Run::default()).unwrap();
        for (name, value) in fields.as_object().unwrap() {
            run[name] = value.clone();
        }
        (run["scheme"], run["seed"]) = (scheme.into(), seed.into());
        let link = |number: u64| {
            json!({ "place": format!("a{number}>b"), "rate_bps": 10_000_000_000_u64, "offered": 0.5,
                "utilization": 1.0 / (number + seed) as f64, "marks": 0,
                "loss_rate": if number == 14 { 0.11 } else { 0.0 },
                "max_queue_bytes": 1_000 * seed })
        };
        run["links"] = (1..=14).map(link).collect();
        run
    };
    all["runs"] = [("cubic", 1), ("cubic", 2), ("flashpass", 1), ("flashpass", 2)].into_iter().map(run).collect();
    all
}

fn read(summary: &Value) -> Summary {
    serde_json::from_value(summary.clone()).unwrap()
}

/// A flow under CUBIC that is not over.
fn cubic_flow(flow: u64) -> PlotFlow<'static> {
    let (size_bytes, slowdown) = (Some(flow + 1), Some(2.0));
    let (point, scheme, seed, start_s, fct_s, counted) = ("", "cubic", 1, 0.0, None, true);
    PlotFlow { point, scheme, seed, flow, start_s, size_bytes, fct_s, slowdown, counted }
}

/// The figures of these results, with a few flows and rows of each scheme.
fn drawn(summary: &Summary) -> Vec<Figure> {
    let mut input = FigureData::new(summary);
    let (scheme, point) = (["cubic", "flashpass"], "");
    for scheme in scheme {
        for flow in 0..3 {
            let fct_s = (flow < 2).then_some(0.25 * (flow + 1) as f64);
            let slowdown = fct_s.map(|fct| fct * 10.0);
            input.add_flow(&PlotFlow {
                scheme,
                size_bytes: Some(1000 * (flow + 1)),
                fct_s,
                slowdown,
                ..cubic_flow(flow)
            });
        }
    }
    for scheme in scheme {
        for (what, place, value) in [
            ("queue_bytes", "a to b data", 10_000.0),
            ("queue_peak_bytes", "a to b data", 30_000.0),
            ("queue_bytes", "c to d data", 1.0),
            ("rate_bps", "all", 1e9),
            ("rate_bps", "flow 0", 4e8),
            ("rate_bps", "flow 2", 6e8),
            ("cwnd_segments", "flow 2", 40.0),
            ("cwnd_segments", "flow 8", 80.0),
        ] {
            for time_s in [0.1, 0.2, 0.3] {
                input.add_sample(&PlotSample { point, scheme, seed: 1, time_s, what, place, value });
                input.add_sample(&PlotSample { point, scheme, seed: 2, time_s, what, place, value: 1e12 });
            }
        }
    }
    figures::all(summary, &input)
}

fn ids(figures: &[Figure]) -> Vec<&str> {
    figures.iter().map(|figure| figure.id.as_str()).collect()
}

fn find<'a>(figures: &'a [Figure], id: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id} in {:?}", ids(figures)))
}

/// What each figure shows, and in which order. Intervals end at what is possible, lower bounds have none; curves of
/// completion end where flows are open; the data queue is the longest of the first seed; a flow that is over (flow 0,
/// after 0.25 s) has no rate; links are means over seeds, those that lose and the busiest.
#[test]
fn figures_of_these_results_are_these() {
    let mut told = String::new();
    for Figure { id, title, caption, alt, rows, .. } in drawn(&read(&summary())) {
        writeln!(told, "{id}: {title}\n{caption}\n{alt}\n{}", rows.columns.join(", ")).unwrap();
        for row in &rows.rows {
            writeln!(told, "  {}", json!(row)).unwrap();
        }
    }
    insta::assert_snapshot!(told);
    let nothing = Summary::default();
    assert_eq!(figures::all(&nothing, &FigureData::new(&nothing)), []);
}

#[test]
fn links_that_lose_come_first_and_those_of_hosts_have_no_bar() {
    let mut summary = summary();
    for run in summary["runs"].as_array_mut().unwrap() {
        run["links"][0]["max_queue_bytes"] = json!(null);
    }
    let figures = drawn(&read(&summary));
    let links = find(&figures, "links");
    assert!(links.caption.contains("Links without a bar are of hosts"), "{}", links.caption);
    // The least busy of the fourteen is the only one that loses.
    let axis = &links.spec["hconcat"][0]["encoding"]["y"];
    assert_eq!((&axis["sort"][0], &axis["sort"][1]), (&json!("a14>b"), &json!("a1>b")));
    assert_eq!(axis["axis"]["labelOverlap"], json!(false));
}

/// Calls for each key of an object in a value.
fn visit(value: &Value, seen: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            seen(key, value);
            visit(value, seen);
        }),
        Value::Array(values) => values.iter().for_each(|value| visit(value, seen)),
        _ => {}
    }
}

#[test]
fn every_column_a_spec_names_has_values_and_every_axis_a_title() {
    for figure in drawn(&read(&summary())) {
        let columns: BTreeSet<&str> = figure.rows.columns.iter().map(String::as_str).collect();
        assert_eq!(columns.len(), figure.rows.columns.len(), "{}: a column twice", figure.id);
        assert!(figure.rows.rows.iter().all(|row| row.len() == columns.len()), "{}", figure.id);
        let mut axes = 0;
        visit(&figure.spec, &mut |key, value| {
            if let ("field", Value::String(field)) = (key, value) {
                assert!(columns.contains(field.as_str()), "{}: {field} of {columns:?}", figure.id);
            }
            let titled = |value: &Value| value["type"] == "quantitative" && value["title"].is_string();
            axes += usize::from(matches!(key, "x" | "y") && titled(value));
        });
        assert!(axes > 0, "{}", figure.id);
        assert!(figure.caption.ends_with('.') && !figure.title.is_empty(), "{}", figure.id);
        let whole = figure.whole();
        assert_eq!(whole["data"]["values"].as_array().unwrap().len(), figure.rows.rows.len());
        assert_eq!(whole["$schema"], "https://vega.github.io/schema/vega-lite/v6.json", "{}", figure.id);
    }
}

#[test]
fn a_spec_is_this() {
    let whole = find(&drawn(&read(&summary())), "goodput").whole();
    insta::assert_snapshot!(serde_json::to_string_pretty(&whole).unwrap());
}

#[test]
fn a_sweep_has_curves_with_bands_in_panels() {
    let mut summary = summary();
    let mut aggregates = Vec::new();
    for buffer in ["8pkt", "20KB"] {
        for senders in [2, 4, 8] {
            let mut aggregate = summary["aggregates"][0].clone();
            aggregate["point"] = json!({ "topology.senders": senders, "switch.default.buffer": buffer });
            aggregates.push(aggregate);
        }
    }
    summary["aggregates"] = aggregates.into();
    summary["points"] = json!([]);
    summary["runs"] = json!([]);
    let figures = drawn(&read(&summary));
    let figure = find(&figures, "goodput");
    assert_eq!(figure.title, "Goodput against topology senders");
    assert_eq!(figure.spec["facet"]["sort"], json!(["default buffer = 20KB", "default buffer = 8pkt"]));
    assert_eq!(figure.rows.rows.len(), 6);
    // Vega-Lite's schema has no channel without a value.
    visit(&figure.spec, &mut |key, value| {
        let empty = |(_, channel): (&String, &Value)| channel.is_null();
        assert!(key != "encoding" || !value.as_object().unwrap().iter().any(empty), "{value}");
    });
}

#[test]
fn a_million_flows_take_two_hundred_steps() {
    let summary = read(&summary());
    let mut input = FigureData::new(&summary);
    for flow in 0..100_000u64 {
        input.add_flow(&PlotFlow { fct_s: Some(0.001 * (flow % 9973 + 1) as f64), ..cubic_flow(flow) });
    }
    let figures = figures::all(&summary, &input);
    let times = find(&figures, "completion-times");
    assert_eq!(times.rows.rows.len(), 201);
    // In milliseconds, as the mean in the table.
    let ends: Vec<f64> = times.rows.numbers("completion_time_ms").collect();
    assert_eq!((ends[0], ends[200]), (1.0, 9973.0));
    let all = Page { summary: &summary, tables: &[], figures: &figures }.html();
    assert!(all.len() < 550_000, "{}", all.len());
}

#[test]
fn names_of_points_are_rows_above_those_of_their_schemes() {
    let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
    let table = PageTable {
        title: "Links".into(),
        header: cells(["point", "scheme", "link"]),
        rows: vec![cells(["x=1", "a", "p>q"]), cells(["x=1", "b", "p>q"]), cells(["x=2", "a", "p>q"])],
        words: 3,
        legend: "`links` has all.".into(),
        ..PageTable::default()
    };
    let html = Page { summary: &Summary::default(), tables: &[table], figures: &[] }.html();
    for (point, times) in [("x=1", 1), ("x=2", 1)] {
        assert_eq!(html.matches(&format!("<td class=\"words\" colspan=\"2\">{point}</td>")).count(), times);
    }
    assert!(!html.contains("<th scope=\"col\" class=\"words\">point</th>"));
    assert!(html.contains("<code>links</code> has all.") && html.contains("--c15:"));
}

#[test]
fn the_same_results_give_the_same_bytes_and_nothing_of_a_text_is_html() {
    let evil = "</script><script>alert(1)</script><b a='\"'>&";
    let mut summary = summary();
    for field in ["scenario", "about", "version"] {
        summary[field] = evil.into();
    }
    summary["setup"][0]["value"] = evil.into();
    summary["claims"][0]["what"] = evil.into();
    summary["aggregates"][0]["scheme"] = evil.into();
    let summary = read(&summary);
    let figures = drawn(&summary);
    let table = PageTable {
        title: evil.into(),
        header: vec![evil.into()],
        rows: vec![vec![evil.into()]],
        words: 1,
        legend: evil.into(),
        warnings: vec![evil.into()],
    };
    let page = || Page { summary: &summary, tables: std::slice::from_ref(&table), figures: &figures }.html();
    let html = page();
    assert!(html == page());
    assert!(!html.contains("<script>alert") && !html.contains("<b a="), "a text got through");
    // The data, three libraries and the page's own script: nothing else opens or closes one.
    assert_eq!((html.matches("<script").count(), html.matches("</script").count()), (5, 5));
    let index = page::index(
        evil,
        evil,
        &[IndexEntry { folder: evil.into(), title: evil.into(), quick: true, claims: evil.into(), worst: "holds" }],
    );
    assert!(!index.contains("<script>alert") && !index.contains("<b a="), "{index}");
}

#[test]
fn a_page_starts_with_the_answer_and_its_figure() {
    let summary = read(&summary());
    let figures = drawn(&summary);
    let html = Page { summary: &summary, tables: &[], figures: &figures }.html();
    let places = [
        "<p class=\"headline\">", "class=\"tally", "<figure id=\"completion-times\"", "<details class=\"setup\">",
        "<h2>Figures</h2>", "<figure id=\"goodput\"",
    ];
    let places = places.map(|part| html.find(part).unwrap_or_else(|| panic!("{part}")));
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(html.matches("<figure id=\"completion-times\"").count(), 1);
    for figure in &figures {
        assert!(html.contains(&format!("<figure id=\"{}\"", figure.id)), "{}", figure.id);
        assert!(figure.alt.contains(|letter: char| letter.is_ascii_digit()), "{}: {}", figure.id, figure.alt);
    }
}

#[test]
fn a_scheme_has_its_colour_in_every_figure() {
    let figures = drawn(&read(&summary()));
    let mut scales = 0;
    for figure in &figures {
        visit(&figure.spec, &mut |key, value| {
            if key != "color" || value["field"] != "scheme" {
                return;
            }
            let scale = &value["scale"];
            assert_eq!(scale["domain"], json!(["cubic", "flashpass"]), "{}", figure.id);
            assert_eq!(scale["range"], json!([colour("cubic"), colour("flashpass")]), "{}", figure.id);
            scales += 1;
        });
    }
    assert!(scales >= 5, "{scales}");
}

#[test]
fn bars_of_one_colour_differ_in_strength() {
    let mut summary = summary();
    // Both names have the same colour by their letters.
    assert_eq!(colour("mine"), colour("vegas-15"));
    for (place, name) in ["mine", "vegas-15"].into_iter().enumerate() {
        summary["aggregates"][place]["scheme"] = name.into();
        let mut other = summary["aggregates"][place].clone();
        other["point"] = json!({ "nic": "fair" });
        summary["aggregates"].as_array_mut().unwrap().push(other);
    }
    summary["points"] = json!([]);
    let summary = read(&summary);
    let figures = figures::all(&summary, &FigureData::new(&summary));
    let bar = &find(&figures, "goodput").spec["layer"][0]["encoding"];
    assert_eq!(bar["fillOpacity"]["scale"]["range"], json!([1.0, 0.5]));
}

#[test]
fn a_page_fetches_nothing_and_admits_its_own_scripts_only() {
    let summary = read(&summary());
    let html = Page { summary: &summary, tables: &[], figures: &drawn(&summary) }.html();
    let policy = html.split("Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.matches("'sha256-").count() == 4, "{policy}");
    assert!(!policy.contains("script-src 'unsafe") && !policy.contains("eval"), "{policy}");
    // What the scripts themselves hold, their policy answers for.
    let page = html.split("<script").next().unwrap();
    assert!(!page.contains("src=\"") && !page.contains("href=\"http"), "an address");
    let bare = Page { summary: &summary, tables: &[], figures: &[] }.html();
    assert!(bare.len() < 40_000 && !bare.contains("class=\"library\""), "{}", bare.len());
}
