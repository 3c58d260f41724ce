use std::{borrow::Cow, str};

use nacre_domain::{Error, Result, Value};

use super::Number;

/// Arrays and objects inside one another that are read; Triton's limit, too.
const MAX_DEPTH: usize = 100;

/// A key of an object.
pub type Key<'a> = Cow<'a, str>;

/// Reads JSON from front to back, without building a tree.
///
/// Strict as RFC 8259 asks, but that `NaN`, `Infinity`, `Inf` and their negatives are numbers: Python's clients write
/// them, and Triton reads them.
#[derive(Debug)]
pub struct Reader<'a> {
    input: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// A reader of the whole text.
    ///
    /// # Errors
    /// Invalid argument if it is not UTF-8.
    pub fn new(input: &'a [u8]) -> Result<Reader<'a>> {
        // Checked once as a whole, which is fast, so that strings need no check of their own.
        let text = str::from_utf8(input).map_err(|e| {
            Error::invalid_argument(format!(
                "the request's JSON is not UTF-8: the byte at offset {} is not part of a character",
                e.valid_up_to()
            ))
        })?;
        Ok(Reader { input: text, at: 0, depth: 0 })
    }

    /// Another reader of the same text that starts at `offset`.
    pub fn at(&self, offset: usize) -> Reader<'a> {
        Reader { input: self.input, at: offset, depth: self.depth }
    }

    /// Offset of the next value.
    pub fn offset(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// Bytes that are left.
    pub fn remaining(&self) -> usize {
        self.input.len().saturating_sub(self.at)
    }

    /// The next byte that is not white space.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.rest().first().copied();
            match byte {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Takes the next byte that is not white space if it is the given one.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// Reads an object, calling `member` with each key; it has to read the value.
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, Key<'a>) -> Result<()>) -> Result<()> {
        self.open(b'{', "an object")?;
        if self.take(b'}') {
            self.close();
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.syntax("a key in quotation marks"));
            }
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.syntax("':' after a key"));
            }
            member(self, key)?;
            if self.take(b'}') {
                self.close();
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.syntax("',' or '}' in an object"));
            }
        }
    }

    /// Reads an array, calling `element` before each element; it has to read it.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.open(b'[', "an array")?;
        if self.take(b']') {
            self.close();
            return Ok(());
        }
        loop {
            element(self)?;
            if self.take(b']') {
                self.close();
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.syntax("',' or ']' in an array"));
            }
        }
    }

    /// Reads a string.
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        if !self.take(b'"') {
            return Err(self.syntax("a string"));
        }
        let start = self.at;
        let length = self.plain_length();
        self.at += length;
        if self.rest().first() == Some(&b'"') {
            let text = self.input.get(start..self.at).unwrap_or_default();
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        let mut text = self.input.get(start..self.at).unwrap_or_default().to_owned();
        loop {
            match self.rest().first() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                Some(_) => return Err(self.syntax("a string without control characters")),
                None => return Err(self.syntax("'\"' at the end of a string")),
            }
            let start = self.at;
            self.at += self.plain_length();
            text.push_str(self.input.get(start..self.at).unwrap_or_default());
        }
    }

    /// Reads a number; `None` if something else comes next.
    #[inline]
    pub fn number(&mut self) -> Option<Number<'a>> {
        self.peek();
        let number = Number::scan(self.input.get(self.at..)?)?;
        self.at += number.text.len();
        Some(number)
    }

    /// Reads `NaN`, `Infinity` or `Inf`, with a sign or without; `None` if something else comes next.
    pub fn non_finite(&mut self) -> Option<f64> {
        let negative = self.take(b'-');
        let value = if self.word("NaN") {
            f64::NAN
        } else if self.word("Infinity") || self.word("Inf") {
            f64::INFINITY
        } else {
            self.at -= usize::from(negative);
            return None;
        };
        Some(if negative { -value } else { value })
    }

    /// Reads `true` or `false`; `None` if something else comes next.
    #[inline]
    pub fn boolean(&mut self) -> Option<bool> {
        if self.word("true") {
            Some(true)
        } else if self.word("false") {
            Some(false)
        } else {
            None
        }
    }

    /// Takes `null` if it comes next.
    pub fn null(&mut self) -> bool {
        self.word("null")
    }

    /// Reads a parameter's value: a string, a boolean or a number. `None`, with the reader where it was, if it is
    /// something else.
    pub fn scalar(&mut self) -> Result<Option<Value>> {
        if self.peek() == Some(b'"') {
            return Ok(Some(Value::String(self.string()?.into_owned())));
        }
        if let Some(flag) = self.boolean() {
            return Ok(Some(Value::Bool(flag)));
        }
        Ok(self.number().map(|number| {
            let whole = number.as_integer().and_then(|whole| i64::try_from(whole).ok());
            whole.map_or_else(|| Value::Double(number.as_f64()), Value::Int)
        }))
    }

    /// Reads past a value of any kind.
    pub fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'{') => self.object(|reader, _| reader.skip()),
            Some(b'[') => self.array(Reader::skip),
            Some(b'"') => self.string().map(drop),
            _ if self.number().is_some()
                || self.boolean().is_some()
                || self.null()
                || self.non_finite().is_some() =>
            {
                Ok(())
            }
            _ => Err(self.syntax("a value")),
        }
    }

    /// Whether nothing but white space is left.
    pub fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.syntax("nothing after the end of the JSON")),
        }
    }

    /// Goes one level down.
    ///
    /// # Errors
    /// Another byte comes next, or it is one level too many.
    pub fn open(&mut self, byte: u8, what: &str) -> Result<()> {
        if !self.take(byte) {
            return Err(self.syntax(what));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::invalid_argument(format!(
                "the request's JSON nests deeper than the {MAX_DEPTH} levels that are allowed, at {}",
                self.position()
            )));
        }
        Ok(())
    }

    /// Goes one level up.
    pub fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// An error that says what was expected at this place and what is there instead.
    pub fn syntax(&self, expected: &str) -> Error {
        let found = match self.rest().first() {
            None => "the end of the text".to_owned(),
            Some(_) => {
                let next = self.input.get(self.at..).and_then(|rest| rest.chars().next());
                next.map_or_else(|| "something else".to_owned(), |c| format!("'{}'", c.escape_debug()))
            }
        };
        Error::invalid_argument(format!(
            "the request's JSON is malformed at {}: expected {expected}, got {found}",
            self.position()
        ))
    }

    /// What comes next, as far as it is worth showing in a message.
    pub fn excerpt(&mut self) -> String {
        const LONGEST: usize = 40;
        match self.peek() {
            None => return "nothing".to_owned(),
            Some(b'[') => return "an array".to_owned(),
            Some(b'{') => return "an object".to_owned(),
            Some(_) => {}
        }
        let rest = self.input.get(self.at..).unwrap_or_default();
        let mut inside_string = false;
        let text: String = rest
            .chars()
            .enumerate()
            .take_while(|&(i, c)| {
                inside_string ^= c == '"';
                i < LONGEST
                    && (inside_string || c == '"' || !matches!(c, ',' | ']' | '}' | ' ' | '\n' | '\r' | '\t'))
            })
            .map(|(_, c)| c)
            .collect();
        if text.is_empty() { rest.chars().take(1).collect() } else { text.replace(char::is_control, " ") }
    }

    /// `line 1 column 7` of the next byte, both from 1; columns are characters.
    pub fn position(&self) -> String {
        let before = self.input.get(..self.at).unwrap_or(self.input);
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line} column {column}")
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.input.as_bytes().get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn word(&mut self, word: &str) -> bool {
        self.peek();
        let found = self.rest().starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    /// Bytes from here that stand for themselves in a string.
    fn plain_length(&self) -> usize {
        let rest = self.rest();
        rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(rest.len())
    }

    /// The character of an escape sequence, behind its backslash.
    fn escape(&mut self) -> Result<char> {
        let letter = self.rest().first().copied();
        let plain = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.syntax("an escape sequence that JSON knows")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char> {
        let first = self.hex()?;
        let code = match first {
            0xd800..=0xdbff => {
                let paired = self.rest().starts_with(b"\\u");
                if paired {
                    self.at += 2;
                }
                match if paired { self.hex()? } else { 0 } {
                    second @ 0xdc00..=0xdfff => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    _ => return Err(self.syntax("the second half of a surrogate pair")),
                }
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| self.syntax("the first half of a surrogate pair"))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits =
            self.input.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => Err(self.syntax("four hexadecimal digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(text: &str) -> Reader<'_> {
        Reader::new(text.as_bytes()).unwrap()
    }

    #[test]
    fn strings_are_borrowed_unless_escaped() {
        assert!(matches!(reader(r#" "plain é""#).string().unwrap(), Cow::Borrowed("plain é")));
        assert_eq!(
            reader(r#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00z""#).string().unwrap(),
            "a\"\\/\u{8}\u{c}\n\r\té😀z"
        );
    }

    #[test]
    fn broken_strings_are_refused_with_their_place() {
        for (text, place) in [
            ("\"abc", "column 5: expected '\"' at the end of a string, got the end"),
            ("\"a\nb\"", "column 3: expected a string without control characters"),
            (r#""\x""#, "column 3: expected an escape sequence"),
            (r#""\u12g4""#, "column 4: expected four hexadecimal digits"),
            (r#""\ud800""#, "the second half of a surrogate pair"),
            (r#""\ud800\u0041""#, "the second half of a surrogate pair"),
            (r#""\udc00""#, "the first half of a surrogate pair"),
        ] {
            let error = reader(text).string().unwrap_err();
            assert!(error.message().contains(place), "{text}: {error}");
        }
    }

    #[test]
    fn skips_every_kind_of_value() {
        let mut reader =
            reader(r#" {"a":[1,-2.5e3,"x",{"b":null}],"c":[],"d":{},"e":[true,false,NaN,-Infinity,Inf]} 1"#);
        reader.skip().unwrap();
        assert_eq!(reader.number().unwrap().text, "1");
        reader.end().unwrap();
    }

    #[test]
    fn malformed_text_is_refused_with_line_and_column() {
        for (text, message) in [
            ("{\n \"a\" 1}", "line 2 column 6: expected ':' after a key, got '1'"),
            ("[1 2]", "line 1 column 4: expected ',' or ']' in an array, got '2'"),
            ("{\"a\":1,}", "column 8: expected a key in quotation marks, got '}'"),
            ("[1,]", "column 4: expected a value, got ']'"),
            ("[tru]", "column 2: expected a value, got 't'"),
            ("{", "column 2: expected a key in quotation marks, got the end of the text"),
            ("", "column 1: expected a value, got the end of the text"),
        ] {
            let error = reader(text).skip().unwrap_err();
            assert!(error.message().contains(message), "{text}: {error}");
        }
        assert!(Reader::new(b"[\xff]").unwrap_err().message().contains("offset 1"));
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        reader(&deep(MAX_DEPTH)).skip().unwrap();
        let error = reader(&deep(MAX_DEPTH + 1)).skip().unwrap_err();
        assert!(error.message().contains("deeper than the 100 levels"), "{error}");
        assert!(reader(&"[".repeat(1_000_000)).skip().is_err());
    }
}
