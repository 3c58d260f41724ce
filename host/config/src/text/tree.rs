use std::fmt;

use super::lex::{Lexer, Mistake, Token, TokenKind};
use crate::diagnostic::Position;

/// Messages inside one another; ModelConfig itself needs seven.
const MAX_DEPTH: usize = 64;

/// `name: value`, not yet compared with any message type.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub at: Position,
    pub name: &'a str,
    /// Only scalars need the colon, and which fields are scalars the syntax does not know.
    pub colon: bool,
    pub value: Value<'a>,
}

#[derive(Clone, Debug)]
pub(super) struct Value<'a> {
    pub at: Position,
    pub kind: ValueKind<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum ValueKind<'a> {
    Identifier { negative: bool, name: &'a str },
    Integer { negative: bool, digits: &'a str, radix: u32 },
    Float { negative: bool, digits: &'a str },
    String(Vec<u8>),
    Message(Vec<Field<'a>>),
    List(Vec<Value<'a>>),
}

/// Names the value in a sentence: `5`, `a string`, `a message`.
impl fmt::Display for ValueKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |negative: &bool| if *negative { "-" } else { "" };
        match self {
            ValueKind::Identifier { negative, name } => write!(f, "{}{name}", sign(negative)),
            ValueKind::Integer { negative, digits, radix } => {
                let prefix = match radix {
                    16 => "0x",
                    8 => "0",
                    _ => "",
                };
                write!(f, "{}{prefix}{digits}", sign(negative))
            }
            ValueKind::Float { negative, digits } => write!(f, "{}{digits}", sign(negative)),
            ValueKind::String(bytes) => write!(f, "the string \"{}\"", bytes.escape_ascii()),
            ValueKind::Message(_) => f.write_str("a message { … }"),
            ValueKind::List(_) => f.write_str("a list [ … ]"),
        }
    }
}

/// Parses the text of one message. With a mistake comes what stood before it, so that the rest of its mistakes can
/// be reported too.
pub(super) fn parse(text: &str) -> (Vec<Field<'_>>, Option<Mistake>) {
    let mut parser = Parser { lexer: Lexer::new(text), token: None, depth: 0, mistake: None };
    let fields = parser.fields(None);
    (fields, parser.mistake)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Option<Token<'a>>,
    depth: usize,
    mistake: Option<Mistake>,
}

/// The brackets of a message or list: who opened it and where.
#[derive(Clone, Copy)]
struct Opening<'a> {
    at: Position,
    close: char,
    field: &'a str,
}

impl<'a> Parser<'a> {
    /// Fields up to the closing bracket, which is taken too, or to the end of the text.
    fn fields(&mut self, opening: Option<Opening<'a>>) -> Vec<Field<'a>> {
        let mut fields = Vec::new();
        while let Some(token) = self.peek() {
            match (token.kind, opening) {
                (TokenKind::Symbol(c), Some(opening)) if c == opening.close => {
                    self.token = None;
                    break;
                }
                (TokenKind::End, None) => break,
                (TokenKind::End, Some(opening)) => self.unclosed(opening),
                (TokenKind::Identifier(name), _) => {
                    self.token = None;
                    fields.extend(self.field(token.at, name));
                }
                (TokenKind::Symbol(':'), _) if ends_with_identifier(&fields) => {
                    let Some(Field { at, name, value, .. }) = fields.pop() else { break };
                    self.fail(at, format!("'{name}' has no value; '{}' behind it is the next field", value.kind));
                }
                (TokenKind::String(bytes), _) => {
                    let name = String::from_utf8_lossy(&bytes).into_owned();
                    self.fail(token.at, format!("names of fields have no quotes: write {name}, not \"{name}\""));
                }
                (TokenKind::Symbol(c @ ('}' | '>' | ']')), None) => {
                    self.fail(token.at, format!("'{c}' closes nothing that is open"));
                }
                (TokenKind::Symbol('['), _) => self.fail(
                    token.at,
                    "expected the name of a field, found '['; extensions and Any in square brackets are not known",
                ),
                (kind, Some(opening)) => {
                    let message = format!(
                        "expected a field of '{}' or the '{}' of line {}'s '{}', found {}",
                        opening.field,
                        opening.close,
                        opening.at.line,
                        opposite(opening.close),
                        describe(&kind)
                    );
                    self.fail(token.at, message);
                }
                (kind, None) => {
                    self.fail(token.at, format!("expected the name of a field, found {}", describe(&kind)));
                }
            }
        }
        fields
    }

    fn field(&mut self, at: Position, name: &'a str) -> Option<Field<'a>> {
        let colon = self.take(':');
        let token = self.peek()?;
        if !colon && !matches!(token.kind, TokenKind::Symbol('{' | '<' | '[')) {
            let hint = match token.kind {
                TokenKind::Symbol('=') => format!("; write {name}: …"),
                _ => String::new(),
            };
            self.fail(
                token.at,
                format!("expected ':' after '{name}', found {}{hint}", describe(&token.kind)),
            );
            return None;
        }
        let value = if self.take('[') {
            Value { at: token.at, kind: ValueKind::List(self.list(token.at, name)) }
        } else {
            self.value(name)?
        };
        if !self.take(',') {
            self.take(';');
        }
        Some(Field { at, name, colon, value })
    }

    fn list(&mut self, at: Position, field: &'a str) -> Vec<Value<'a>> {
        let opening = Opening { at, close: ']', field };
        let mut values = Vec::new();
        if self.take(']') {
            return values;
        }
        while self.mistake.is_none() {
            let Some(token) = self.peek() else { break };
            match token.kind {
                TokenKind::Symbol(']') => {
                    self.fail(
                        token.at,
                        format!("the list of '{field}' has a comma before its ']'; leave it out"),
                    );
                    break;
                }
                TokenKind::Symbol('[') => {
                    self.fail(token.at, format!("the list of '{field}' has another list in it"));
                    break;
                }
                TokenKind::End => {
                    self.unclosed(opening);
                    break;
                }
                _ => values.extend(self.value(field)),
            }
            if self.take(']') {
                break;
            }
            if !self.take(',') {
                let Some(token) = self.peek() else { break };
                match token.kind {
                    TokenKind::End => self.unclosed(opening),
                    kind => self.fail(
                        token.at,
                        format!("expected ',' or ']' in the list of '{field}', found {}", describe(&kind)),
                    ),
                }
            }
        }
        values
    }

    /// A scalar or a message.
    fn value(&mut self, field: &'a str) -> Option<Value<'a>> {
        let first = self.peek()?;
        let at = first.at;
        if let TokenKind::Symbol(open @ ('{' | '<')) = first.kind {
            self.token = None;
            if self.depth == MAX_DEPTH {
                self.fail(at, format!("more than {MAX_DEPTH} messages inside one another"));
                return None;
            }
            self.depth += 1;
            let fields = self.fields(Some(Opening { at, close: opposite(open), field }));
            self.depth -= 1;
            return Some(Value { at, kind: ValueKind::Message(fields) });
        }
        let negative = self.take('-');
        let token = self.peek()?;
        let kind = match token.kind {
            TokenKind::Identifier(name) => ValueKind::Identifier { negative, name },
            TokenKind::Integer { digits, radix } => ValueKind::Integer { negative, digits, radix },
            TokenKind::Float(digits) => ValueKind::Float { negative, digits },
            TokenKind::String(mut bytes) if !negative => {
                self.token = None;
                // Strings behind one another are one.
                while let Some(Token { kind: TokenKind::String(more), .. }) = self.peek() {
                    self.token = None;
                    bytes.extend(more);
                }
                return Some(Value { at, kind: ValueKind::String(bytes) });
            }
            kind => {
                self.fail(token.at, format!("expected a value of '{field}', found {}", describe(&kind)));
                return None;
            }
        };
        self.token = None;
        Some(Value { at, kind })
    }

    /// The next token; `None` after a mistake.
    fn peek(&mut self) -> Option<Token<'a>> {
        if self.mistake.is_some() {
            return None;
        }
        if self.token.is_none() {
            match self.lexer.token() {
                Ok(token) => self.token = Some(token),
                Err(mistake) => self.mistake = Some(mistake),
            }
        }
        self.token.clone()
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == TokenKind::Symbol(symbol));
        if found {
            self.token = None;
        }
        found
    }

    fn fail(&mut self, at: Position, message: impl Into<String>) {
        self.mistake = Some(Mistake::new(at, message));
        self.token = None;
    }

    fn unclosed(&mut self, opening: Opening<'_>) {
        let Opening { at, close, field } = opening;
        self.fail(
            at,
            format!("the '{}' of '{field}' is never closed; '{close}' is missing", opposite(close)),
        );
    }
}

/// Whether the value of the last field may be the name of the next one.
fn ends_with_identifier(fields: &[Field<'_>]) -> bool {
    fields
        .last()
        .is_some_and(|field| matches!(field.value.kind, ValueKind::Identifier { negative: false, .. }))
}

fn opposite(bracket: char) -> char {
    match bracket {
        '{' => '}',
        '}' => '{',
        '<' => '>',
        '>' => '<',
        ']' => '[',
        other => other,
    }
}

fn describe(kind: &TokenKind<'_>) -> String {
    match kind {
        TokenKind::Identifier(name) => format!("'{name}'"),
        TokenKind::Integer { digits, .. } => format!("the number {digits}"),
        TokenKind::Float(digits) => format!("the number {digits}"),
        TokenKind::String(bytes) => format!("the string \"{}\"", bytes.escape_ascii()),
        TokenKind::Symbol(symbol) => format!("'{symbol}'"),
        TokenKind::End => "the end of the text".to_owned(),
    }
}
