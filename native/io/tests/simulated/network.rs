//! Frames: in order or not, lost, doubled, cut off, and always the same for a seed.

use ng_io::simulated::{NetworkFaults, SimulatedNetwork};

const WEATHER: NetworkFaults =
    NetworkFaults { loss: 0, duplication: 0, delay_min: 100, delay_max: 900, reorder: false };

fn network(seed: u64, weather: NetworkFaults) -> SimulatedNetwork {
    let mut network = SimulatedNetwork::new(seed);
    network.set_weather(weather);
    network
}

/// Everything that arrives, with its time.
fn arrivals(network: &mut SimulatedNetwork) -> Vec<(u64, u8, u8, u8)> {
    let mut all = Vec::new();
    while let Some(at) = network.next_arrival() {
        assert!(network.arrive(at - 1).is_none(), "not before its time");
        let (from, to, bytes) = network.arrive(at).expect("it is due");
        all.push((at, from, to, bytes[0]));
    }
    all
}

#[test]
fn frames_of_a_pair_keep_their_order_and_those_of_two_pairs_do_not() {
    let mut network = network(1, WEATHER);
    for number in 0..100 {
        network.send(u64::from(number), 1, 2, vec![number]);
        network.send(u64::from(number), 2, 1, vec![number]);
    }
    let all = arrivals(&mut network);
    assert_eq!(all.len(), 200);
    for pair in [(1, 2), (2, 1)] {
        let of_pair = all.iter().filter(|(_, from, to, _)| (*from, *to) == pair).map(|(.., number)| *number);
        assert!(of_pair.eq(0..100));
    }
    assert!(all.windows(2).any(|two| two[0].3 > two[1].3), "one direction runs ahead of the other");
    assert!(all.iter().all(|(at, .., number)| (100..1_000).contains(&(at - u64::from(*number).min(*at)))));
}

#[test]
fn frames_overtake_where_they_may() {
    let mut network = network(2, NetworkFaults { reorder: true, ..WEATHER });
    (0..100).for_each(|number| network.send(0, 1, 2, vec![number]));
    let mut numbers: Vec<_> = arrivals(&mut network).iter().map(|(.., number)| *number).collect();
    assert!(!numbers.is_sorted());
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..100));
}

#[test]
fn some_are_lost_and_some_come_twice() {
    for reorder in [false, true] {
        let mut network = network(3, NetworkFaults { loss: 100, duplication: 100, reorder, ..WEATHER });
        (0..10_000_u64).for_each(|at| network.send(at, 1, 2, vec![at.to_le_bytes()[0]]));
        let count = arrivals(&mut network).len();
        assert!((9_600..10_200).contains(&count), "{count}");
    }
    let mut network = network(4, NetworkFaults { loss: 1000, ..WEATHER });
    network.send(0, 1, 2, vec![1]);
    assert_eq!(network.next_arrival(), None);
    network.set_weather(NetworkFaults { duplication: 1000, ..NetworkFaults::default() });
    network.send(5, 1, 2, vec![7]);
    assert_eq!(arrivals(&mut network), [(5, 1, 2, 7), (5, 1, 2, 7)]);
}

#[test]
fn a_cut_loses_one_direction_until_it_ends() {
    let mut network = network(5, WEATHER);
    network.send(0, 1, 2, vec![1]);
    network.send(0, 2, 1, vec![2]);
    network.cut(1, 2, 1_000);
    network.send(999, 1, 2, vec![3]);
    network.send(1_000, 1, 2, vec![4]);
    let numbers: Vec<_> = arrivals(&mut network).iter().map(|(.., number)| *number).collect();
    assert_eq!(numbers, [2, 4]);
    network.cut(1, 2, u64::MAX);
    network.send(2_000, 1, 2, vec![5]);
    network.cut(1, 2, 0);
    network.send(2_000, 1, 2, vec![6]);
    let numbers: Vec<_> = arrivals(&mut network).iter().map(|(.., number)| *number).collect();
    assert_eq!(numbers, [6]);
}

#[test]
fn a_seed_is_one_history() {
    let run = |seed| {
        let weather = NetworkFaults { loss: 50, duplication: 50, reorder: true, ..WEATHER };
        let mut network = network(seed, weather);
        for at in 0..500_u64 {
            let pair = at.to_le_bytes()[0] % 3;
            network.send(at, pair, (pair + 1) % 3, vec![at.to_le_bytes()[0]]);
        }
        arrivals(&mut network)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
