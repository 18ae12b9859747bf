use std::borrow::Borrow;
use std::sync::Arc;

use ng_wire::primitive::Name;

/// The name of a stream, a topic or a user, 1 to 255 bytes, kept once for the row and for the index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowName(Arc<str>);

impl RowName {
    /// `text` as a name, unless it is empty or longer than 255 bytes.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Name::new(text).map(|name| Self(name.as_str().into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as replies and rows carry it.
    #[must_use]
    pub fn as_name(&self) -> Name<'_> {
        Name::new(&self.0).expect("the length was held against the bounds when the name was made")
    }
}

impl Borrow<str> for RowName {
    fn borrow(&self) -> &str {
        &self.0
    }
}
