//! How values are spelt in Python so that its formatter leaves them alone.

use std::fmt;

const LINE_MAX: usize = 110;
const INDENT: &str = "    ";

/// An expression: a word, or a head with a list of expressions in parentheses (a tuple has an empty head).
pub(crate) enum Expression {
    Word(String),
    List { head: &'static str, items: Vec<Expression> },
}

/// A word that stands for itself.
pub(crate) fn word(word: impl fmt::Display) -> Expression {
    Expression::Word(word.to_string())
}

/// Text in quotes. Every text of the tables is printable and free of quotes and backslashes.
pub(crate) fn text(text: &str) -> Expression {
    assert!(!text.contains(['"', '\\', '\n']), "{text:?} would need an escape");
    Expression::Word(format!("\"{text}\""))
}

/// A call of `head`.
pub(crate) fn call(head: &'static str, items: impl IntoIterator<Item = Expression>) -> Expression {
    Expression::List { head, items: items.into_iter().collect() }
}

/// A tuple.
pub(crate) fn tuple(items: impl IntoIterator<Item = Expression>) -> Expression {
    call("", items)
}

/// A tuple of texts.
pub(crate) fn texts<'a>(items: impl IntoIterator<Item = &'a str>) -> Expression {
    tuple(items.into_iter().map(text))
}

impl fmt::Display for Expression {
    /// On one line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => formatter.write_str(word),
            Self::List { head, items } => {
                let items: Vec<_> = items.iter().map(Self::to_string).collect();
                let comma = if head.is_empty() && items.len() == 1 { "," } else { "" };
                write!(formatter, "{head}({}{comma})", items.join(", "))
            }
        }
    }
}

/// The name of a constant made of a name in camel or snake case.
pub(crate) fn constant(name: &str) -> String {
    let mut constant = String::new();
    for (at, letter) in name.chars().enumerate() {
        if at > 0 && letter.is_ascii_uppercase() {
            constant.push('_');
        }
        constant.push(letter.to_ascii_uppercase());
    }
    constant
}

/// Appends a tuple of rows under a name, a row per line or more.
pub(crate) fn put_rows(into: &mut String, name: &str, row: &str, rows: impl Iterator<Item = Expression>) {
    into.push_str(&format!("\n{name}: Final[tuple[{row}, ...]] = (\n"));
    for row in rows {
        put(into, &row, 1);
    }
    into.push_str(")\n");
}

/// Appends what the attribute above means, in lines that are short enough.
pub(crate) fn put_sentence(into: &mut String, sentence: &str) {
    let mut line = format!("{INDENT}\"\"\"");
    for word in sentence.split_whitespace() {
        // The quotes that end the sentence count too.
        if line.chars().count() + word.chars().count() + 4 > LINE_MAX {
            into.push_str(line.trim_end());
            into.push('\n');
            line = INDENT.to_owned();
        }
        line.push_str(word);
        line.push(' ');
    }
    into.push_str(&format!("{}\"\"\"\n", line.trim_end()));
}

/// Appends a text as an element of a list, in several pieces if it is long.
pub(crate) fn put_text(into: &mut String, long: &str, depth: usize) {
    let indent = INDENT.repeat(depth);
    let mut pieces = vec![String::new()];
    for word in long.split_inclusive(' ') {
        let last = pieces.last_mut().expect("one at least");
        // The two quotes count too, and the comma after the last piece.
        if indent.len() + last.chars().count() + word.chars().count() + 3 > LINE_MAX {
            pieces.push(word.to_owned());
        } else {
            last.push_str(word);
        }
    }
    let pieces: Vec<_> = pieces.iter().map(|piece| format!("{indent}{}", text(piece))).collect();
    into.push_str(&format!("{},\n", pieces.join("\n")));
}

/// Appends an expression as an element of a list: on one line if it fits, else an item per line.
pub(crate) fn put(into: &mut String, expression: &Expression, depth: usize) {
    let indent = INDENT.repeat(depth);
    let flat = format!("{indent}{expression},");
    match expression {
        Expression::List { head, items } if flat.chars().count() > LINE_MAX => {
            into.push_str(&format!("{indent}{head}(\n"));
            for item in items {
                put(into, item, depth + 1);
            }
            into.push_str(&format!("{indent}),\n"));
        }
        _ => {
            into.push_str(&flat);
            into.push('\n');
        }
    }
}
