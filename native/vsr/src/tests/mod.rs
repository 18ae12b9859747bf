//! A cluster in memory: real replicas, and everything around them from one seed.

mod bounds;
mod catalogue;
mod catching_up;
mod client_model;
mod disk;
mod fifo;
mod gaps;
mod hand;
mod installing;
mod judge;
mod liveness;
mod merging;
mod node;
mod pairs;
mod planted;
mod resting;
mod retries;
mod seed;
mod seeded;
mod steady;
mod weather;
mod workload;
mod world;
