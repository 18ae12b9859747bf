//! The golden matrix: who may do what, judged by the rights that shards judge by.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use ng_catalog::{Catalog, Rights, Target};
use ng_wire::permissions::Permissions;
use ng_wire::request::{Identifier, TopicTarget};
use ng_wire::table::command::Command;
use ng_wire::table::permission::Requirement;

use crate::written::{catalog, stream, topic};

/// Who holds each set.
const OWN_USER: u32 = 7;

const USERS: [u32; 2] = [OWN_USER, 8];

/// What commands are about, by kind and name, if it is there.
fn targets(catalog: &Catalog) -> Vec<(&'static str, &'static str, Option<Target>)> {
    let of_topic = |stream, topic| {
        let (stream, topic) = (Identifier::Number(stream), Identifier::Number(topic));
        let found = catalog.find_topic(TopicTarget { stream, topic }).ok();
        found.map(|found| Target::Topic(found.stream, found.topic))
    };
    let of_stream = |stream| catalog.find_stream(Identifier::Number(stream)).ok().map(Target::Stream);
    let of_user = |user| USERS.contains(&user).then_some(Target::User(user));
    vec![
        ("node", "-", Some(Target::Node)),
        ("user", "own", of_user(OWN_USER)),
        ("user", "other", of_user(8)),
        ("user", "missing", of_user(9)),
        ("stream", "own", of_stream(1)),
        ("stream", "other", of_stream(3)),
        ("stream", "missing", of_stream(5)),
        ("topic", "own", of_topic(1, 2)),
        ("topic", "sibling", of_topic(1, 4)),
        ("topic", "other", of_topic(3, 2)),
        ("topic", "missing", of_topic(1, 6)),
    ]
}

fn judged(sets: &[Rights], requirement: Requirement, target: Option<Target>) -> String {
    let letter = |rights: &Rights| match target {
        None => '-',
        Some(target) if rights.meet(OWN_USER, requirement, target) => 'y',
        Some(_) => 'n',
    };
    sets.iter().map(letter).collect()
}

fn set(block: &str) -> Rights {
    let block: Vec<u8> = (0..block.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&block[at..at + 2], 16).expect("a pair of hex digits"))
        .collect();
    Rights::compile(&Permissions::decode(&block).expect("a good block"))
}

#[test]
fn every_verdict() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/permissions/matrix.txt");
    let text = fs::read_to_string(path).expect("the golden matrix");
    let catalog = catalog(&[
        stream(1, "one"),
        topic(1, 2, "two"),
        topic(1, 4, "four"),
        stream(3, "three"),
        topic(3, 2, "two"),
    ]);
    let targets = targets(&catalog);
    let (mut sets, mut judgements, mut commands) = (Vec::new(), 0, HashSet::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["set", _, block] => sets.push(set(block)),
            ["verdict", name, kind, of, letters] => {
                let command = Command::ALL.iter().find(|command| command.name() == name).expect(name);
                let named = targets.iter().find(|target| (target.0, target.1) == (kind, of));
                let (_, _, target) = named.expect("a target");
                assert_eq!(judged(&sets, command.row().requirement, *target), letters, "{name} {of}");
                commands.insert(command);
                judgements += letters.len();
            }
            _ => panic!("{line} is neither a set nor a verdict"),
        }
    }
    assert_eq!((sets.len(), commands.len()), (60, Command::ALL.len()));
    assert_eq!(judgements, 60 * 140);
}
