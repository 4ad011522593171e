//! Data as YAML, with paths whose parts are keys, `+` for a further entry of a list, or `name=X` and `id=N` for the
//! entry of a list that has this value.

use serde_json::{Map, Value, json};

/// Puts `value` at `path`. Sections are merged.
pub fn insert(data: &mut Value, path: &str, value: Value) {
    let mut at = data;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        at = match part.split_once('=') {
            Some((key, of)) => entry(at, key, of.parse::<u64>().map_or_else(|_| json!(of), |number| json!(number))),
            None if part == "+" => entry(at, "", Value::Null),
            None => section(at).entry(part).or_insert(Value::Null),
        };
    }
    merge(at, value);
}

fn merge(at: &mut Value, value: Value) {
    match value {
        Value::Object(new) if at.is_object() => {
            let old = section(at);
            new.into_iter().for_each(|(key, value)| merge(old.entry(key).or_insert(Value::Null), value));
        }
        new => *at = new,
    }
}

fn section(at: &mut Value) -> &mut Map<String, Value> {
    if !at.is_object() {
        *at = json!({});
    }
    at.as_object_mut().expect("just made")
}

/// The entry of a list in which `key` is `of`; a further entry if there is none.
fn entry<'a>(at: &'a mut Value, key: &str, of: Value) -> &'a mut Value {
    if !at.is_array() {
        *at = json!([]);
    }
    let list = at.as_array_mut().expect("just made");
    let found = list.iter().position(|entry| !key.is_empty() && entry.get(key) == Some(&of));
    let index = found.unwrap_or_else(|| {
        list.push(if key.is_empty() { Value::Null } else { json!({ key: of }) });
        list.len() - 1
    });
    &mut list[index]
}

/// Block style, as people write it.
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, indent: usize, text: &mut String) {
    let blanks = " ".repeat(indent);
    let inner = |value: &Value, text: &mut String| match value {
        Value::Object(_) | Value::Array(_) => {
            text.push('\n');
            block(value, indent + 2, text);
        }
        scalar => text.push_str(&format!(" {scalar}\n")),
    };
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                text.push_str(&format!("{blanks}{key}:"));
                inner(value, text);
            }
        }
        Value::Array(list) => {
            for value in list {
                let mut own = String::new();
                block(value, indent + 2, &mut own);
                let own = own.strip_prefix(&" ".repeat(indent + 2)).unwrap_or(&own);
                text.push_str(&format!("{blanks}- {own}"));
            }
        }
        scalar => text.push_str(&format!("{blanks}{scalar}\n")),
    }
}
