//! Memory that ports share: what Dynamic Thresholds let queues have.

use shallop_core::Bytes;
use shallop_switch::{Holding, Limit, Member, Memory, Pool, Pooled, Room};

const SIZE: Bytes = Bytes::new(1_000_000);
const PACKET: Bytes = Bytes::new(100);

/// Queues of one port each that always want more, with these factors and this much of their own: what each has when
/// packets have left and come for long, and the pool.
fn saturate(alphas: &[f64], private: Bytes) -> (Vec<Bytes>, Pool) {
    let mut pool = Pool::new(SIZE, alphas.len());
    let mut rooms: Vec<Room> = (0..)
        .zip(alphas)
        .map(|(place, &alpha)| Room::pooled(Member { pool: 0, place, alpha, private }, vec![None]))
        .collect();
    let mut held = vec![Holding::default(); alphas.len()];
    for _ in 0..20_000 {
        for (room, held) in rooms.iter_mut().zip(&mut held) {
            let mut memory = Pooled { room, pool: &mut pool };
            if held.packets > 0 {
                memory.release(0, *held, PACKET);
                *held = held.without(PACKET);
            }
            for _ in 0..2 {
                if memory.store(0, *held, PACKET) {
                    *held = held.with(PACKET);
                }
            }
        }
    }
    (held.into_iter().map(|held| held.bytes).collect(), pool)
}

#[test]
fn saturated_queues_end_up_with_their_part_of_the_pool() {
    for alpha in [0.125, 0.5, 1.0, 2.0, 8.0] {
        for count in [1, 2, 4] {
            let (held, pool) = saturate(&vec![alpha; count], Bytes::ZERO);
            let part = alpha / (1.0 + alpha * count as f64) * SIZE.get() as f64;
            for held in &held {
                let off = (held.get() as f64 - part).abs();
                assert!(
                    off <= 2.0 * PACKET.get() as f64,
                    "{alpha}, {count}: {held} and not {part}"
                );
            }
            assert_eq!(pool.held(), held.iter().fold(Bytes::ZERO, |sum, held| sum + *held));
        }
    }
}

#[test]
fn of_different_factors_each_gets_its_own() {
    let alphas = [0.5, 1.0, 2.0];
    let (held, _) = saturate(&alphas, Bytes::ZERO);
    for (alpha, held) in alphas.iter().zip(held) {
        let part = alpha / (1.0 + alphas.iter().sum::<f64>()) * SIZE.get() as f64;
        assert!((held.get() as f64 - part).abs() <= 200.0, "{alpha}: {held} and not {part}");
    }
}

#[test]
fn private_bytes_are_taken_first_and_do_not_count() {
    let private = Bytes::new(50_000);
    let (with, pool) = saturate(&[1.0, 1.0], private);
    let (without, _) = saturate(&[1.0, 1.0], Bytes::ZERO);
    for (with, without) in with.iter().zip(&without) {
        let off = with.get().abs_diff((*without + private).get());
        assert!(off <= PACKET.get(), "{with} with, {without} without");
    }
    assert_eq!(pool.held() + private + private, with[0] + with[1]);
}

#[test]
fn a_newcomer_gets_half_of_what_is_free_before_the_first_shrinks() {
    let mut pool = Pool::new(SIZE, 2);
    let member = |place| Member { pool: 0, place, alpha: 1.0, private: Bytes::ZERO };
    let mut fill = |place| {
        let mut room = Room::pooled(member(place), vec![None]);
        let mut held = Holding::default();
        while (Pooled { room: &mut room, pool: &mut pool }).store(0, held, PACKET) {
            held = held.with(PACKET);
        }
        held.bytes
    };
    assert_eq!((fill(0), fill(1)), (Bytes::new(500_000), Bytes::new(250_000)));
    assert_eq!((pool.held(), pool.most()), (Bytes::new(750_000), Bytes::new(750_000)));
}

#[test]
fn what_leaves_is_given_back_and_queues_with_room_of_their_own_take_nothing() {
    let mut pool = Pool::new(SIZE, 1);
    let member = Member { pool: 0, place: 0, alpha: 1.0, private: Bytes::new(150) };
    let mut room = Room::pooled(member, vec![Some(Limit { packets: 1, ..Limit::NONE }), None]);
    let (none, one) = (Holding::default(), Holding::default().with(PACKET));
    let mut memory = Pooled { room: &mut room, pool: &mut pool };
    assert!(memory.store(0, none, PACKET) && !memory.store(0, one, PACKET));
    assert!(memory.store(1, none, PACKET) && memory.store(1, one, PACKET));
    assert_eq!(memory.pool.held(), Bytes::new(50), "150 of 200 bytes are private");
    memory.release(1, one.with(PACKET), PACKET);
    assert_eq!(memory.pool.held(), Bytes::ZERO);
    assert!(!room.store(1, none, PACKET), "without the pool there is nothing to take");
}
