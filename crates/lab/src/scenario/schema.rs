//! The format as a JSON Schema, for editors. Written from the same keys that scenarios are read by.

use serde_json::{Map, Value, json};
use shallop_core::form::{Form, Key, Kinds, Part, all};

use super::format::SCENARIO;

/// JSON Schema (draft 2020-12) of a scenario.
#[must_use]
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), "A scenario of shallop".into());
    schema.extend(section(SCENARIO, None));
    Value::Object(schema)
}

/// A section; of the kind that its tag says, if it is one of several.
fn section(keys: &[Part], kind: Option<(&str, &str)>) -> Map<String, Value> {
    let property = |key: &'static Key| {
        let mut schema = match kind {
            Some((tag, kind)) if tag == key.name => json!({ "const": kind }),
            _ => form(&key.form),
        };
        schema["description"] = key.about.into();
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = all(keys).map(property).collect();
    let required: Vec<&str> = all(keys).filter(|key| key.needed).map(|key| key.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.into());
    schema.insert("additionalProperties".into(), false.into());
    schema
}

fn kinds(kinds: &Kinds) -> Value {
    let each = (kinds.all)()
        .into_iter()
        .map(|(kind, keys)| Value::Object(section(&keys, Some((kinds.tag, kind)))));
    json!({ "oneOf": each.collect::<Vec<_>>() })
}

/// Patterns of quantities: a number, then one of these units.
fn quantity(units: &str) -> String {
    format!("^\\s*[0-9][0-9_]*(\\.[0-9_]*[0-9])?\\s*({units})\\s*$")
}

const TIME: &str = "ps|ns|us|µs|ms|s|min";
const BYTES: &str = "B|KB|KiB|MB|MiB|GB|GiB|TB";
const RATE: &str = "bps|Kbps|Mbps|Gbps|Tbps";

fn form(form: &Form) -> Value {
    let text = |pattern: String| json!({ "type": "string", "pattern": pattern });
    match form {
        Form::Text => json!({ "type": "string", "minLength": 1 }),
        Form::Truth => json!({ "type": "boolean" }),
        Form::Count(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Form::Number(f64::MIN, f64::MAX) => json!({ "type": "number" }),
        Form::Number(low, high) => json!({ "type": "number", "minimum": low, "maximum": high }),
        Form::Below(low, high) => {
            json!({ "type": "number", "minimum": low, "exclusiveMaximum": high })
        }
        Form::Above(low, high) => {
            json!({ "type": "number", "exclusiveMinimum": low, "maximum": high })
        }
        Form::Time(..) => text(quantity(TIME)),
        Form::Between(..) => text("^.+\\.\\..+$".into()),
        Form::Rate(..) => text(quantity(RATE)),
        Form::Size(..) => text(quantity(BYTES)),
        Form::Buffer => text(quantity(&format!("({BYTES})(\\s*/\\s*Gbps)?|pkts?|packets"))),
        Form::Choice(words) => json!({ "enum": words }),
        Form::List(inner) => json!({ "type": "array", "items": self::form(inner), "minItems": 1 }),
        Form::Either(forms) => {
            json!({ "anyOf": forms.iter().map(self::form).collect::<Vec<_>>() })
        }
        Form::Table(keys) => Value::Object(section(keys, None)),
        Form::Tables(keys) => json!({ "type": "array", "items": section(keys, None) }),
        Form::Named(keys) => {
            json!({ "type": "object", "additionalProperties": section(keys, None) })
        }
        Form::Kinds(all) => kinds(all),
        Form::KindsTables(all) => json!({ "type": "array", "items": kinds(all), "minItems": 1 }),
        Form::Overrides => json!({ "type": "object" }),
    }
}
