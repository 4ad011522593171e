//! Figures as files. The scripts that draw a page's figures run here in an embedded engine, without a browser, and give
//! SVG; PNG is made of that with a font that comes along. The same spec gives the same file.

use std::sync::Arc;

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Promise, Runtime};
use serde_json::Value;
use shallop_view::scripts::{VEGA, VEGA_LITE};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// Roboto, Regular (SIL Open Font License 1.1): `vendor/LICENSE.txt`. Taken as it is from the npm package
/// `@expo-google-fonts/roboto` 0.4.3.
const FONT: &[u8] = include_bytes!("../vendor/Roboto-Regular.ttf");
const SHIM: &str = include_str!("shim.js");
const DRAW: &str = include_str!("draw.js");
/// Pixels of a PNG for each of an SVG.
const SCALE: f32 = 2.0;

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The engine, or a script in it, gave up.
    #[error("a figure could not be drawn: {0}; report.html draws it in a browser")]
    Script(String),
    /// The font or the SVG could not be read.
    #[error("a figure could not be put as PNG: {0}; ask for svg")]
    Picture(String),
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// As SVG.
    pub svg: String,
    /// What the scripts warned of: nothing, for a spec that is right.
    pub warnings: Vec<String>,
}

/// The engine with the scripts in it, and the font.
pub struct Artist {
    context: Context,
    fonts: Arc<Database>,
}

impl Artist {
    /// Reads the scripts, which takes about a second.
    ///
    /// # Errors
    /// If the engine cannot be had.
    pub fn new() -> Result<Self, DrawError> {
        let engine = |why: rquickjs::Error| DrawError::Script(why.to_string());
        let runtime = Runtime::new().map_err(engine)?;
        // The scripts recurse deeply; the stack of this thread is what bounds them.
        runtime.set_max_stack_size(0);
        let context = Context::full(&runtime).map_err(engine)?;
        let scripts = [SHIM.to_owned(), VEGA.inline(), VEGA_LITE.inline()];
        context.with(|ctx| -> Result<(), DrawError> {
            for script in scripts {
                ctx.eval::<(), _>(script).catch(&ctx).map_err(|why| said(&why))?;
            }
            let measure = Function::new(ctx.clone(), |text: String| advance(&text));
            let measure = measure.catch(&ctx).map_err(|why| said(&why))?;
            ctx.globals().set("advance", measure).catch(&ctx).map_err(|why| said(&why))
        })?;
        let mut fonts = Database::new();
        fonts.load_font_data(FONT.to_vec());
        Ok(Self { context, fonts: Arc::new(fonts) })
    }

    /// Draws a spec that has its data in it.
    ///
    /// # Errors
    /// [`DrawError::Script`] if it is no spec.
    pub fn draw(&self, spec: &Value) -> Result<Drawing, DrawError> {
        let answer: String = self.context.with(|ctx| {
            let draw: Function<'_> = ctx.eval(DRAW).catch(&ctx).map_err(|why| said(&why))?;
            let promise: Promise<'_> =
                draw.call((spec.to_string(),)).catch(&ctx).map_err(|why| said(&why))?;
            settle(&ctx, &promise)
        })?;
        let answer: Value =
            serde_json::from_str(&answer).map_err(|why| DrawError::Script(why.to_string()))?;
        let warnings = answer["warnings"].as_array().into_iter().flatten();
        Ok(Drawing {
            svg: answer["svg"].as_str().unwrap_or_default().replace(is_no_xml, "\u{fffd}"),
            warnings: warnings.filter_map(|text| Some(text.as_str()?.to_owned())).collect(),
        })
    }

    /// The same as PNG, on white, with two pixels for each of the SVG.
    ///
    /// # Errors
    /// [`DrawError::Picture`] if it is no SVG, or too large.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, DrawError> {
        let options = Options {
            fontdb: Arc::clone(&self.fonts),
            font_family: "Roboto".to_owned(),
            ..Options::default()
        };
        let picture = |why: &dyn std::fmt::Display| DrawError::Picture(why.to_string());
        let tree = Tree::from_str(svg, &options).map_err(|why| picture(&why))?;
        let size = tree.size().to_int_size().scale_by(SCALE);
        let map = size.and_then(|size| Pixmap::new(size.width(), size.height()));
        let mut map = map.ok_or_else(|| picture(&"its size is nothing, or too much"))?;
        map.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut map.as_mut());
        map.encode_png().map_err(|why| picture(&why))
    }
}

/// Whether XML 1.0 has no place for this character, not even escaped.
fn is_no_xml(letter: char) -> bool {
    letter < ' ' && !matches!(letter, '\t' | '\n' | '\r')
        || matches!(letter, '\u{fffe}' | '\u{ffff}')
}

/// Runs what is waiting until the promise is kept.
fn settle<'js>(ctx: &Ctx<'js>, promise: &Promise<'js>) -> Result<String, DrawError> {
    promise.finish::<String>().catch(ctx).map_err(|why| said(&why))
}

fn said(why: &CaughtError<'_>) -> DrawError {
    DrawError::Script(why.to_string())
}

/// How wide a text is, as a multiple of the size of its letters.
fn advance(text: &str) -> f64 {
    let Ok(font) = FontRef::new(FONT) else { return 0.5 * text.chars().count() as f64 };
    let (letters, widths) =
        (font.charmap(), font.glyph_metrics(Size::new(1.0), LocationRef::default()));
    let width = |letter: char| {
        let glyph = letters.map(letter)?;
        widths.advance_width(glyph).map(f64::from)
    };
    text.chars().map(|letter| width(letter).unwrap_or(0.5)).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bars() -> Value {
        json!({
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "data": { "values": [{ "scheme": "<cubic>", "rate": 2.5 }, { "scheme": "flashpass", "rate": 9.1 }] },
            "mark": "bar",
            "encoding": {
                "x": { "field": "rate", "type": "quantitative", "title": "throughput (Gb/s)" },
                "y": { "field": "scheme", "type": "nominal" },
            },
        })
    }

    #[test]
    fn a_spec_becomes_the_same_picture_every_time() {
        let artist = Artist::new().unwrap();
        let drawing = artist.draw(&bars()).unwrap();
        assert!(
            drawing.svg.starts_with("<svg") && drawing.svg.contains("throughput (Gb/s)"),
            "{}",
            drawing.svg
        );
        assert!(
            drawing.svg.contains("&lt;cubic&gt;") && drawing.warnings.is_empty(),
            "{:?}",
            drawing.warnings
        );
        assert_eq!(Artist::new().unwrap().draw(&bars()).unwrap(), drawing);
        let png = artist.png(&drawing.svg).unwrap();
        assert!(png.starts_with(b"\x89PNG") && png.len() > 2000, "{}", png.len());
    }

    #[test]
    fn what_is_no_spec_is_an_error_and_what_is_odd_a_warning() {
        let artist = Artist::new().unwrap();
        assert!(matches!(artist.draw(&json!({ "mark": 7 })), Err(DrawError::Script(_))));
        let mut odd = bars();
        odd["encoding"]["x"]["scale"] = json!({ "exponent": 2 });
        assert!(!artist.draw(&odd).unwrap().warnings.is_empty());
        assert!(matches!(artist.png("no picture"), Err(DrawError::Picture(_))));
    }

    #[test]
    fn letters_have_their_widths() {
        assert!(advance("W") > 2.0 * advance("i") && advance("") == 0.0);
        assert!((advance("10") - 2.0 * advance("0")).abs() < 1e-6);
    }
}
