//! Values on their way to the server and back, in PostgreSQL's binary form.

use super::fault::Problem;
use std::ops::Range;

/// The types of elements, by the numbers that PostgreSQL gives them.
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const TEXT: u32 = 25;

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int4(i32),
    Int8(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Column(&'a Column),
}

impl Value<'_> {
    /// Appends its length and its bytes.
    pub(super) fn push_onto(self, out: &mut Vec<u8>) {
        match self {
            Value::Int4(number) => push_counted(&number.to_be_bytes(), out),
            Value::Int8(number) => push_counted(&number.to_be_bytes(), out),
            Value::Text(text) => push_counted(text.as_bytes(), out),
            Value::Bytes(bytes) => push_counted(bytes, out),
            Value::Column(column) => {
                let header = [1, i32::from(column.has_null), column.element.cast_signed(), column.count, 1];
                let length = header.len() * 4 + column.bytes.len();
                out.extend_from_slice(&i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes());
                header.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
                out.extend_from_slice(&column.bytes);
            }
        }
    }
}

/// One column of many rows, as an array.
#[derive(Debug)]
pub(crate) struct Column {
    element: u32,
    count: i32,
    has_null: bool,
    bytes: Vec<u8>,
}

impl Column {
    fn of(element: u32) -> Column {
        Column { element, count: 0, has_null: false, bytes: Vec::new() }
    }

    /// Of bytes.
    pub(crate) fn bytes() -> Column {
        Column::of(BYTEA)
    }

    /// Of integers with 64 bits.
    pub(crate) fn integers() -> Column {
        Column::of(INT8)
    }

    /// Of texts.
    pub(crate) fn texts() -> Column {
        Column::of(TEXT)
    }

    /// Appends an element of any type.
    pub(crate) fn push(&mut self, element: &[u8]) {
        self.count = self.count.saturating_add(1);
        push_counted(element, &mut self.bytes);
    }

    /// Appends nothing in place of an element.
    pub(crate) fn push_null(&mut self) {
        self.count = self.count.saturating_add(1);
        self.has_null = true;
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    /// Appends an integer, or nothing in its place.
    pub(crate) fn push_integer(&mut self, element: Option<i64>) {
        match element {
            Some(number) => self.push(&number.to_be_bytes()),
            None => self.push_null(),
        }
    }

    /// Whether there is no element.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes it takes on the way.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

fn push_counted(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(bytes.len()).unwrap_or(i32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// A row that a statement found.
#[derive(Debug)]
pub(crate) struct Found {
    body: Vec<u8>,
    columns: Vec<Option<Range<usize>>>,
}

impl Found {
    /// Of the body of a message; `None` if it is none.
    pub(super) fn read(body: Vec<u8>) -> Option<Found> {
        let count = u16::from_be_bytes(*body.first_chunk::<2>()?);
        let (mut columns, mut at) = (Vec::with_capacity(usize::from(count)), 2_usize);
        for _ in 0..count {
            let length = i32::from_be_bytes(body.get(at..at.checked_add(4)?)?.try_into().ok()?);
            at = at.checked_add(4)?;
            let Ok(length) = usize::try_from(length) else {
                columns.push(None);
                continue;
            };
            let end = at.checked_add(length).filter(|end| *end <= body.len())?;
            columns.push(Some(at..end));
            at = end;
        }
        Some(Found { body, columns })
    }

    /// The bytes of a column; `None` where there is nothing.
    pub(crate) fn bytes(&self, column: usize) -> Option<&[u8]> {
        self.body.get(self.columns.get(column)?.clone()?)
    }

    /// The text of a column.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Problem> {
        let text = self.bytes(column).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.ok_or_else(|| unlike("text"))
    }

    /// The integer of a column.
    pub(crate) fn integer(&self, column: usize) -> Result<i64, Problem> {
        self.optional(column)?.ok_or_else(|| unlike("an integer"))
    }

    /// The integer of a column, where there is one.
    pub(crate) fn optional(&self, column: usize) -> Result<Option<i64>, Problem> {
        let Some(bytes) = self.bytes(column) else { return Ok(None) };
        let long = bytes.try_into().map(i64::from_be_bytes).ok();
        let number = long.or_else(|| bytes.try_into().map(|short| i64::from(i32::from_be_bytes(short))).ok());
        number.map(Some).ok_or_else(|| unlike("an integer"))
    }
}

fn unlike(what: &str) -> Problem {
    Problem::Unreadable(format!("a column does not hold {what}"))
}
