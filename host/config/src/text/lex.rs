use crate::diagnostic::Position;

/// A mistake in the text, at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub at: Position,
    pub message: String,
}

impl Mistake {
    pub fn new(at: Position, message: impl Into<String>) -> Mistake {
        Mistake { at, message: message.into() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub at: Position,
    pub kind: TokenKind<'a>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    Identifier(&'a str),
    /// Digits without their prefix.
    Integer {
        digits: &'a str,
        radix: u32,
    },
    /// Digits without the suffix `f`.
    Float(&'a str),
    /// The bytes that the quotes and escapes stand for.
    String(Vec<u8>),
    Symbol(char),
    End,
}

/// Cuts text protobuf into tokens as protobuf's own tokenizer does. More lenient only in that a byte order mark, which
/// some editors write, is passed over.
pub(super) struct Lexer<'a> {
    text: &'a str,
    offset: usize,
    at: Position,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lexer { text, offset: 0, at: Position { line: 1, column: 1 } }
    }

    pub fn token(&mut self) -> Result<Token<'a>, Mistake> {
        self.skip_blank();
        let at = self.at;
        let Some(first) = self.peek() else { return Ok(Token { at, kind: TokenKind::End }) };
        let kind = match first {
            'A'..='Z' | 'a'..='z' | '_' => {
                TokenKind::Identifier(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
            }
            '0'..='9' => self.number(at)?,
            '.' if self.peek_second().is_some_and(|c| c.is_ascii_digit()) => self.number(at)?,
            '"' | '\'' => TokenKind::String(self.string(first)?),
            c if c.is_ascii_graphic() => {
                self.bump();
                TokenKind::Symbol(c)
            }
            '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' => {
                return Err(Mistake::new(at, format!("{first} is a typographic quote; write \" or '")));
            }
            c => {
                let c = c.escape_debug();
                return Err(Mistake::new(at, format!("the character '{c}' may stand only inside a string")));
            }
        };
        Ok(Token { at, kind })
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.offset += c.len_utf8();
        if c == '\n' {
            self.at = Position { line: self.at.line.saturating_add(1), column: 1 };
        } else {
            self.at.column = self.at.column.saturating_add(1);
        }
        Some(c)
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let start = self.offset;
        while self.peek().is_some_and(&accept) {
            self.bump();
        }
        self.text.get(start..self.offset).unwrap_or_default()
    }

    fn take_if(&mut self, accept: impl Fn(char) -> bool) -> bool {
        let taken = self.peek().is_some_and(accept);
        if taken {
            self.bump();
        }
        taken
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{b}' | '\u{c}'));
            if self.peek() != Some('#') {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn number(&mut self, at: Position) -> Result<TokenKind<'a>, Mistake> {
        let number = self.digits(at)?;
        if self.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
            return Err(Mistake::new(self.at, "expected a space behind the number"));
        }
        Ok(number)
    }

    fn digits(&mut self, at: Position) -> Result<TokenKind<'a>, Mistake> {
        let start = self.offset;
        if self.peek() == Some('0') && matches!(self.peek_second(), Some('x' | 'X')) {
            self.bump();
            self.bump();
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            if digits.is_empty() {
                return Err(Mistake::new(at, "0x is followed by no hexadecimal digit"));
            }
            return Ok(TokenKind::Integer { digits, radix: 16 });
        }
        let digits = self.take_while(|c| c.is_ascii_digit());
        let mut float = false;
        if self.take_if(|c| c == '.') {
            float = true;
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.take_if(|c| matches!(c, 'e' | 'E')) {
            float = true;
            self.take_if(|c| matches!(c, '+' | '-'));
            if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                return Err(Mistake::new(at, "the exponent of this number has no digits"));
            }
        }
        let number = self.text.get(start..self.offset).unwrap_or_default();
        if self.take_if(|c| matches!(c, 'f' | 'F')) || float {
            if self.peek() == Some('.') {
                return Err(Mistake::new(at, "this number has two decimal points"));
            }
            return Ok(TokenKind::Float(number));
        }
        match digits.strip_prefix('0') {
            Some(octal) if !octal.is_empty() => {
                if octal.contains(['8', '9']) {
                    let message =
                        format!("{digits} begins with 0 and so is octal, where 8 and 9 are no digits");
                    return Err(Mistake::new(at, message));
                }
                Ok(TokenKind::Integer { digits: octal, radix: 8 })
            }
            _ => Ok(TokenKind::Integer { digits, radix: 10 }),
        }
    }

    fn string(&mut self, quote: char) -> Result<Vec<u8>, Mistake> {
        let start = self.at;
        let mut bytes = Vec::new();
        self.bump();
        loop {
            let at = self.at;
            match self.bump() {
                Some(c) if c == quote => return Ok(bytes),
                Some('\\') => self.escape(at, &mut bytes)?,
                None | Some('\n') => {
                    return Err(Mistake::new(
                        start,
                        format!("this string has no closing {quote} on its line"),
                    ));
                }
                Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, at: Position, bytes: &mut Vec<u8>) -> Result<(), Mistake> {
        let wrong =
            |what: String| Mistake::new(at, format!("{what} in a string; write \\\\ for a backslash"));
        let Some(c) = self.bump() else { return Err(wrong("a lone backslash".into())) };
        match c {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            't' => bytes.push(b'\t'),
            'n' => bytes.push(b'\n'),
            'v' => bytes.push(11),
            'f' => bytes.push(12),
            'r' => bytes.push(b'\r'),
            '?' | '\\' | '\'' | '"' => bytes.push(c as u8),
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
                    self.bump();
                    value = value * 8 + digit;
                }
                // As in C, what does not fit a byte loses its upper bits.
                bytes.push((value & 0xff) as u8);
            }
            'x' | 'X' => {
                let value = self.hexadecimal(1, 2).ok_or_else(|| wrong(format!("\\{c} without digits")))?;
                bytes.push((value & 0xff) as u8);
            }
            'u' | 'U' => {
                let digits = if c == 'u' { 4 } else { 8 };
                let code = self.hexadecimal(digits, digits).and_then(|code| self.surrogates(code));
                let c = code
                    .and_then(char::from_u32)
                    .ok_or_else(|| wrong(format!("\\{c} without the {digits} digits of a character")))?;
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            c => return Err(wrong(format!("\\{} is no escape", c.escape_debug()))),
        }
        Ok(())
    }

    /// The code that two escapes of UTF-16 halves stand for; any other as it is.
    fn surrogates(&mut self, code: u32) -> Option<u32> {
        let Some(high) = code.checked_sub(0xd800).filter(|&high| high < 0x400) else { return Some(code) };
        if !(self.take_if(|c| c == '\\') && self.take_if(|c| c == 'u')) {
            return None;
        }
        let low = self.hexadecimal(4, 4)?.checked_sub(0xdc00).filter(|&low| low < 0x400)?;
        Some(0x10000 + high * 0x400 + low)
    }

    fn hexadecimal(&mut self, least: usize, most: usize) -> Option<u32> {
        let mut value = 0_u32;
        let mut count = 0;
        while let Some(digit) = self.peek().filter(|_| count < most).and_then(|c| c.to_digit(16)) {
            self.bump();
            value = value.checked_mul(16)?.checked_add(digit)?;
            count += 1;
        }
        (count >= least).then_some(value)
    }
}
