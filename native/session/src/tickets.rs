//! A fixed table of things that wait for an answer from elsewhere.

/// Rows that are named by number and generation: an answer that comes twice, or too late, finds nothing.
#[derive(Debug)]
pub struct Tickets<T> {
    rows: Vec<Row<T>>,
    free: Vec<u32>,
    rows_max: usize,
}

#[derive(Debug)]
struct Row<T> {
    generation: u32,
    content: Option<T>,
}

impl<T> Tickets<T> {
    /// An empty table that will hold `rows_max` rows at most.
    pub fn new(rows_max: usize) -> Self {
        Self { rows: Vec::new(), free: Vec::new(), rows_max }
    }

    /// How many rows are filed.
    pub fn count(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    /// Files a row and returns its ticket; a full table gives the content back.
    pub fn file(&mut self, content: T) -> Result<u64, T> {
        let row = match self.free.pop() {
            Some(row) => row,
            None if self.rows.len() < self.rows_max => {
                self.rows.push(Row { generation: 0, content: None });
                u32::try_from(self.rows.len() - 1).expect("the table is bounded far below 2^32 rows")
            }
            None => return Err(content),
        };
        let filed = &mut self.rows[row as usize];
        filed.content = Some(content);
        Ok(u64::from(filed.generation) << 32 | u64::from(row))
    }

    /// Takes the row of a ticket.
    pub fn redeem(&mut self, ticket: u64) -> Option<T> {
        let row = u32::try_from(ticket & u64::from(u32::MAX)).expect("masked to 32 bits");
        let filed = self.rows.get_mut(row as usize)?;
        if u64::from(filed.generation) != ticket >> 32 {
            return None;
        }
        let content = filed.content.take()?;
        filed.generation = filed.generation.wrapping_add(1);
        self.free.push(row);
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once() {
        let mut tickets = Tickets::new(2);
        assert_eq!(tickets.count(), 0);
        let first = tickets.file("first").expect("room");
        assert_eq!(tickets.count(), 1);
        assert_eq!(tickets.redeem(first), Some("first"));
        assert_eq!(tickets.count(), 0);
        assert_eq!(tickets.redeem(first), None);
        let second = tickets.file("second").expect("room");
        assert_ne!(first, second, "the row is reused under another generation");
        assert_eq!(tickets.redeem(first), None);
        assert_eq!(tickets.redeem(second), Some("second"));
    }

    #[test]
    fn a_full_table_gives_the_content_back() {
        let mut tickets = Tickets::new(1);
        assert!(tickets.file(1).is_ok());
        assert_eq!(tickets.file(2), Err(2));
    }

    #[test]
    fn a_ticket_nobody_issued_finds_nothing() {
        let mut tickets = Tickets::new(4);
        tickets.file(1).expect("room");
        for forged in [1, u64::MAX, 1 << 32] {
            assert_eq!(tickets.redeem(forged), None);
        }
    }
}
