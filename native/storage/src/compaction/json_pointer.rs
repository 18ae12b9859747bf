//! One value of a JSON text, found without reading the rest of it as values.
//!
//! The text is gone through as far as the value and no farther, so it need not be JSON behind it. What is not found, or is
//! an object, an array or null, is no value.

/// A value that a key can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar<'a> {
    /// A text as it stands between its quotes.
    Text(&'a [u8]),
    /// A number, `true` or `false`.
    Plain(&'a [u8]),
}

impl<'a> Scalar<'a> {
    /// The bytes that it stands for: a number is what it is written like, and a text of the same digits is the same.
    pub(crate) fn bytes(self, into: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        match self {
            Scalar::Text(raw) => unescape(raw, into),
            Scalar::Plain(bytes) => Some(bytes),
        }
    }
}

/// The value at a pointer (RFC 6901); of members with the same name it is the first.
pub(crate) fn find<'a>(json: &'a [u8], pointer: &str) -> Option<Scalar<'a>> {
    let mut rest = Text(json);
    let mut names = Vec::new();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        match rest.next()? {
            b'{' => rest.enter_member(token.as_bytes(), &mut names)?,
            b'[' => rest.enter_element(index(&token)?)?,
            _ => return None,
        }
    }
    rest.scalar()
}

/// The number of an element, without leading zeros.
fn index(token: &str) -> Option<usize> {
    let decimal = token.bytes().all(|byte| byte.is_ascii_digit());
    let number = decimal.then_some(token).filter(|token| *token == "0" || !token.starts_with('0'))?;
    number.parse().ok()
}

/// What is left to read.
struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        loop {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            if !matches!(first, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*first);
            }
        }
    }

    /// Goes to the value of a member, from behind the brace.
    fn enter_member(&mut self, wanted: &[u8], name: &mut Vec<u8>) -> Option<()> {
        loop {
            if self.next()? != b'"' {
                return None;
            }
            let found = unescape(self.string()?, name)? == wanted;
            if self.next()? != b':' {
                return None;
            }
            if found {
                return Some(());
            }
            self.skip_to_next()?;
        }
    }

    /// Goes to an element, from behind the bracket.
    fn enter_element(&mut self, number: usize) -> Option<()> {
        for _ in 0..number {
            self.skip_to_next()?;
        }
        Some(())
    }

    /// Goes behind the comma that ends a value of this level; `None` if it is the last one.
    fn skip_to_next(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                b',' if depth == 0 => return Some(()),
                _ => {}
            }
        }
    }

    /// The bytes up to the quote that ends a text, from behind the one that begins it.
    fn string(&mut self) -> Option<&'a [u8]> {
        let mut at = 0;
        loop {
            match self.0.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        let (text, rest) = self.0.split_at_checked(at)?;
        self.0 = &rest[1..];
        Some(text)
    }

    fn scalar(&mut self) -> Option<Scalar<'a>> {
        let mut from = Text(self.0);
        if from.next()? == b'"' {
            return from.string().map(Scalar::Text);
        }
        let start = self.0.len() - from.0.len() - 1;
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        let value = self.0.get(start..)?;
        let value = &value[..value.iter().position(ends).unwrap_or(value.len())];
        let number = value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let plain = (number && !value.is_empty()) || value == b"true" || value == b"false";
        plain.then_some(Scalar::Plain(value))
    }
}

/// The bytes that a text means; `into` is where they are put if they do not stand there as they are.
pub(crate) fn unescape<'a>(raw: &'a [u8], into: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    if !raw.contains(&b'\\') {
        return Some(raw);
    }
    into.clear();
    let mut rest = raw;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            into.push(*first);
            continue;
        }
        let (escape, behind) = rest.split_first()?;
        rest = behind;
        match escape {
            b'"' | b'\\' | b'/' => into.push(*escape),
            b'b' => into.push(8),
            b'f' => into.push(12),
            b'n' => into.push(b'\n'),
            b'r' => into.push(b'\r'),
            b't' => into.push(b'\t'),
            b'u' => {
                let found = character(&mut rest)?;
                into.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return None,
        }
    }
    Some(into)
}

/// A character by its number, or by two halves of one.
fn character(rest: &mut &[u8]) -> Option<char> {
    let first = unit(rest)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    *rest = rest.strip_prefix(b"\\u")?;
    let second = unit(rest)?.checked_sub(0xdc00).filter(|second| *second < 0x400)?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)
}

fn unit(rest: &mut &[u8]) -> Option<u32> {
    let (digits, behind) = rest.split_at_checked(4)?;
    *rest = behind;
    let digits =
        str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{Scalar, find, unescape};

    fn text(json: &str, pointer: &str) -> Option<String> {
        match find(json.as_bytes(), pointer)? {
            Scalar::Text(raw) => {
                let mut into = Vec::new();
                unescape(raw, &mut into).map(|text| String::from_utf8_lossy(text).into_owned())
            }
            Scalar::Plain(value) => Some(format!("={}", String::from_utf8_lossy(value))),
        }
    }

    #[test]
    fn values_are_found() {
        let json = r#" {"a":{"x":[1,{"y":"in"},[]],"b":"no"} , "b" : [10, "20" , -3.5e2],"c/d":true,"e~f":false,"n":null,"":7} "#;
        for (pointer, expected) in [
            ("/a/x/1/y", Some("in")),
            ("/a/x/0", Some("=1")),
            ("/b/0", Some("=10")),
            ("/b/1", Some("20")),
            ("/b/2", Some("=-3.5e2")),
            ("/c~1d", Some("=true")),
            ("/e~0f", Some("=false")),
            ("/", Some("=7")),
            ("/n", None),
            ("/a", None),
            ("/a/x", None),
            ("/b/3", None),
            ("/b/00", None),
            ("/b/-", None),
            ("/missing", None),
            ("/c~1d/deeper", None),
            ("", None),
        ] {
            assert_eq!(text(json, pointer).as_deref(), expected, "{pointer}");
        }
        assert_eq!(text("\"whole\"", ""), Some("whole".into()));
        assert_eq!(text("17", ""), Some("=17".into()));
    }

    #[test]
    fn texts_mean_what_their_escapes_say() {
        assert_eq!(
            text(r#"{"k":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}"#, "/k"),
            Some("a\"\\/\u{8}\u{c}\n\r\té😀".into())
        );
        assert_eq!(text(r#"{"\u006b":"v"}"#, "/k"), Some("v".into()));
        for broken in [
            r#"{"k":"\x"}"#,
            r#"{"k":"\u12"}"#,
            r#"{"k":"\ud83d"}"#,
            r#"{"k":"\ud83d\u0041"}"#,
            r#"{"k":"\u+123"}"#,
        ] {
            assert_eq!(text(broken, "/k"), None, "{broken}");
        }
    }

    #[test]
    fn what_is_no_json_has_no_value() {
        for broken in [
            "",
            "{",
            "{\"k\"",
            "{\"k\":",
            "{\"k\":\"",
            "{\"k\":\"\\",
            "{k:1}",
            "{\"a\":1}}",
            "[",
            "nul",
            "{\"k\":x}",
            "]",
        ] {
            assert_eq!(text(broken, "/k"), None, "{broken}");
        }
    }
}
