//! From the names in requests to rows, and what each command answers without one.

use ng_catalog::{Absence, Catalog, Missing};
use ng_wire::request::{Identifier, Partitioning, TopicTarget};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;

use crate::written::{catalog, partition, stream, topic, user};

fn some() -> Catalog {
    let rows = [
        stream(1, "orders"),
        topic(1, 0, "events"),
        partition(1, 0, 0),
        partition(1, 0, 1),
        partition(1, 0, 2),
        topic(1, 7, "1"),
        user(0, "root"),
        user(3, "bob"),
    ];
    catalog(&rows)
}

fn target<'a>(stream: Identifier<'a>, topic: Identifier<'a>) -> TopicTarget<'a> {
    TopicTarget { stream, topic }
}

#[test]
fn by_number_and_by_name() {
    use Identifier::{Name, Number};
    let catalog = some();
    assert_eq!(catalog.find_stream(Number(1)), Ok(1));
    assert_eq!(catalog.find_stream(Name("orders")), Ok(1));
    assert_eq!(catalog.find_stream(Name("1")), Err(Missing::Stream), "a name of digits is a name");
    assert_eq!(catalog.find_stream(Number(0)), Err(Missing::Stream));
    let found = |stream, topic| {
        let found = catalog.find_topic(target(stream, topic));
        found.map(|topic| (topic.stream, topic.topic, topic.partitions, topic.row.name.as_str()))
    };
    assert_eq!(found(Name("orders"), Name("events")), Ok((1, 0, 3, "events")));
    assert_eq!(found(Number(1), Number(0)), Ok((1, 0, 3, "events")));
    assert_eq!(found(Number(1), Name("1")), Ok((1, 7, 0, "1")));
    assert_eq!(found(Number(1), Number(1)), Err(Missing::Topic));
    assert_eq!(found(Name("orders"), Name("Events")), Err(Missing::Topic));
    assert_eq!(found(Name("events"), Name("events")), Err(Missing::Stream));
    assert_eq!(catalog.find_user(Number(0)), Ok(0));
    assert_eq!(catalog.find_user(Name("bob")), Ok(3));
    assert_eq!(catalog.find_user(Name("orders")), Err(Missing::User));
    assert_eq!(catalog.find_user(Number(1)), Err(Missing::User));
}

#[test]
fn a_partition_is_chosen() {
    let catalog = some();
    let topic = catalog.find_topic(target(Identifier::Number(1), Identifier::Number(0))).expect("a topic");
    let mut turn = u32::MAX - 1;
    let mut chosen = |partitioning| {
        let chosen = catalog.choose_partition(&topic, partitioning, &mut turn);
        chosen.map(|(partition, row)| (partition, row.group))
    };
    let balanced: Vec<_> = (0..4).map(|_| chosen(Partitioning::Balanced).map(|(id, _)| id)).collect();
    assert_eq!(balanced, [2, 0, 0, 1].map(Ok), "the count of turns begins anew after its last");
    assert_eq!(chosen(Partitioning::Partition(2)), Ok((2, 4098)));
    assert_eq!(chosen(Partitioning::Partition(3)), Err(Missing::Partition));
    assert_eq!(chosen(Partitioning::Key(b"user-1")), Ok((0, 4096)));
    assert_eq!(chosen(Partitioning::Key(b"hello world")), Ok((1, 4097)));
    let empty = catalog.find_topic(target(Identifier::Number(1), Identifier::Number(7))).expect("a topic");
    for partitioning in [Partitioning::Balanced, Partitioning::Partition(0), Partitioning::Key(b"k")] {
        let chosen = catalog.choose_partition(&empty, partitioning, &mut 0).map(|(partition, _)| partition);
        assert_eq!(chosen, Err(Missing::Partition));
    }
}

#[test]
fn commands_answer_that_something_is_missing() {
    let error = |code| Absence::Error(code);
    let levels = [
        error(ErrorCode::StreamIdNotFound),
        error(ErrorCode::TopicIdNotFound),
        error(ErrorCode::PartitionNotFound),
    ];
    let unfound = [error(ErrorCode::ResourceNotFound); 3];
    let empty = Absence::EmptyBody;
    for (command, expected) in [
        (Command::GetStream, [empty; 3]),
        (Command::GetTopic, [empty; 3]),
        (Command::GetTopics, [Absence::EmptyList; 3]),
        (Command::GetConsumerOffset, [empty, empty, error(ErrorCode::PartitionNotFound)]),
        (Command::PollMessages, levels),
        (Command::DeleteSegments, levels),
        (Command::SendMessages, unfound),
        (Command::StoreConsumerOffset, unfound),
        (Command::DeleteConsumerOffset, unfound),
    ] {
        let missing = [Missing::Stream, Missing::Topic, Missing::Partition];
        assert_eq!(missing.map(|missing| missing.answer(command)), expected, "{}", command.name());
    }
}
