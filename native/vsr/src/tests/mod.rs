//! A cluster in memory: real replicas, and everything around them from one seed.

mod catalogue;
mod client_model;
mod disk;
mod fifo;
mod hand;
mod judge;
mod merging;
mod node;
mod planted;
mod retries;
mod seed;
mod seeded;
mod weather;
mod workload;
mod world;
