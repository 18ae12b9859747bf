/*
 How a call ended; negated as the result of a call that failed.
 */
typedef enum {
  /*
   As asked.
   */
  STATUS_OK = 0,
  /*
   A ring has no room; the call may be repeated later.
   */
  STATUS_BUSY = 1,
  /*
   The buffer is too small; the needed size was written.
   */
  STATUS_NEED = 2,
  /*
   An argument is not what it must be.
   */
  STATUS_INVALID = 3,
  /*
   No engine has this handle, or it has been closed.
   */
  STATUS_CLOSED = 4,
  /*
   The engine belongs to another process: this one was forked from it.
   */
  STATUS_WRONG_PROCESS = 5,
  /*
   The engine is not in the stage that the call is for.
   */
  STATUS_WRONG_STAGE = 6,
  /*
   The deadline passed.
   */
  STATUS_TIMEOUT = 7,
  /*
   The configuration cannot work on this machine.
   */
  STATUS_CONFIGURATION = 8,
  /*
   Somebody else listens on the address.
   */
  STATUS_ADDRESS_IN_USE = 9,
  /*
   The operating system does not allow it.
   */
  STATUS_PERMISSION = 10,
  /*
   The operating system refused.
   */
  STATUS_IO = 11,
  /*
   A fault of ours.
   */
  STATUS_PANIC = 12,
} Status;

/*
 How many bytes the arena of a call takes that decodes at most `rows` rows from `piece_length` bytes.
 */
int64_t codec_arena_size(uint32_t columns,
                         uint64_t rows,
                         uint64_t piece_length);

/*
 Decodes batches of a segment to columns in `arena` and returns the number of rows.

 `asked` holds ten numbers: valid bytes of the segment from the piece on, lowest offset of the next batch, partition,
 whether payloads are hashed, columns, most rows, first offset, end offset, first time, last time. `key` is the
 rule of the keys: `none`, `id`, `header:NAME` or `json:/PATH`. `told` gets five numbers: bytes consumed, lowest offset of the next batch, first offset to
 go on with, why it ended (0 end, 1 more bytes are needed, 2 full, 3 damage, which `engine_last_error` explains), bytes
 needed; then start and length of each of the twenty buffers.

 # Safety
 `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to ten numbers, `key` to
 `key_length` bytes; `arena` points to `capacity` writable bytes, `told` to 45 writable numbers.
 */
int64_t codec_decode(const uint8_t *piece,
                     uintptr_t piece_length,
                     const uint64_t *asked,
                     const uint8_t *key,
                     uintptr_t key_length,
                     uint8_t *arena,
                     uintptr_t capacity,
                     uint64_t *told);

/*
 Finds the last batch of a segment that begins at `offset` or before, by headers alone.

 `asked` holds valid bytes of the segment from the piece on, lowest offset of the next batch, partition. `told` gets the
 position of the last such batch in the piece (2^64 - 1: none), the position of the next header to look at, and
 whether to look there. Returns 0, or 1 for damage, which `engine_last_error` explains.

 # Safety
 `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to three numbers, `told` to three
 writable numbers.
 */
int64_t codec_seek(const uint8_t *piece,
                   uintptr_t piece_length,
                   const uint64_t *asked,
                   uint64_t offset,
                   uint64_t *told);

/*
 Describes a piece of a file of a data directory in lines of JSON.

 `kind` is "layout", "superblock", "journal", "manifest", "segment", "segments", "index" or "state"; the piece begins at
 `position` of a file of `file_length` bytes. `next` is written with where to go on and `wanted` with how many bytes to
 bring from there, 0 at the end.

 # Safety
 `kind` points to `kind_length` readable bytes, `piece` to `piece_length`; `buffer` points to `capacity` writable bytes;
 `needed`, `next` and `wanted` are null or point to writable numbers.
 */
int64_t codec_describe_file(const uint8_t *kind,
                            uintptr_t kind_length,
                            uint64_t position,
                            uint64_t file_length,
                            const uint8_t *piece,
                            uintptr_t piece_length,
                            uint8_t *buffer,
                            uintptr_t capacity,
                            uint64_t *needed,
                            uint64_t *next,
                            uint64_t *wanted);

/*
 The checksum of bytes that a footer has for each MiB: 16 bytes, most significant first.

 # Safety
 `piece` points to `piece_length` readable bytes that nobody writes meanwhile; `buffer` points to `capacity` writable
 bytes; `needed` is null or points to a writable number.
 */
int64_t codec_digest(const uint8_t *piece,
                     uintptr_t piece_length,
                     uint8_t *buffer,
                     uintptr_t capacity,
                     uint64_t *needed);

/*
 Reads the footer at the front of `piece`: fills `buffer` with its checksum and the digest of each MiB, 16 bytes each,
 most significant first.

 `told` gets ten numbers: group, base offset, last offset, messages, first op, last op, bytes, first time, last time,
 generation.

 # Safety
 `piece` points to `piece_length` readable bytes that nobody writes meanwhile; `buffer` points to `capacity` writable
 bytes; `needed` is null or points to a writable number; `told` points to ten writable numbers.
 */
int64_t codec_read_footer(const uint8_t *piece,
                          uintptr_t piece_length,
                          uint8_t *buffer,
                          uintptr_t capacity,
                          uint64_t *needed,
                          uint64_t *told);

/*
 Writes a footer: fills `buffer` with its checksum, 16 bytes, most significant first, and then with its bytes.

 `asked` holds the ten numbers that `codec_read_footer` tells; `digests` those of each MiB as it tells them.

 # Safety
 `asked` points to ten numbers, `digests` to `digests_length` readable bytes; `buffer` points to `capacity` writable
 bytes; `needed` is null or points to a writable number.
 */
int64_t codec_write_footer(const uint64_t *asked,
                           const uint8_t *digests,
                           uintptr_t digests_length,
                           uint8_t *buffer,
                           uintptr_t capacity,
                           uint64_t *needed);

/*
 Makes an empty table of bytes that are zero. `seed` is what keys are hashed with: nobody who sends messages knows it.

 # Safety
 `table` points to `capacity` writable bytes.
 */
int64_t codec_newest_begin(uint8_t *table,
                           uintptr_t capacity,
                           uint64_t seed);

/*
 Takes the messages of a piece of a segment into account; returns how many of them have an identity.

 `asked` holds valid bytes of the segment from the piece on, lowest offset of the next batch, partition, and whether
 messages without a key are identified by their ids. `key` is the rule of the keys: `none`, `id`, `header:NAME` or
 `json:/PATH`. `told` gets bytes consumed, lowest offset of the next batch, messages, why it ended (0 end, 1 more bytes
 are needed, 2 a larger table is, 3 damage, which `engine_last_error` explains), bytes needed.

 # Safety
 `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to four numbers, `key` to
 `key_length` bytes; `table` points to `capacity` writable bytes, `told` to five writable numbers.
 */
int64_t codec_newest_add(const uint8_t *piece,
                         uintptr_t piece_length,
                         const uint64_t *asked,
                         const uint8_t *key,
                         uintptr_t key_length,
                         uint8_t *table,
                         uintptr_t capacity,
                         uint64_t *told);

/*
 Moves a table into a larger one that is empty.

 # Safety
 `table` points to `capacity` writable bytes, `larger` to `larger_capacity` others.
 */
int64_t codec_newest_move(uint8_t *table,
                          uintptr_t capacity,
                          uint8_t *larger,
                          uintptr_t larger_capacity);

/*
 Fills `buffer` with the offsets of the newest messages, ascending, eight bytes each; tombstones that were appended before
 `horizon`, microseconds, are left out. Returns the number of bytes.

 # Safety
 `table` points to `capacity` writable bytes; `buffer` points to `buffer_capacity` writable bytes; `needed` is null or points
 to a writable number.
 */
int64_t codec_newest_offsets(uint8_t *table,
                             uintptr_t capacity,
                             uint64_t horizon,
                             uint8_t *buffer,
                             uintptr_t buffer_capacity,
                             uint64_t *needed);

/*
 Copies batches of a segment with only those messages whose offsets `kept` names; returns the number of bytes.

 `asked` holds valid bytes of the segment from the piece on, lowest offset of the next batch, partition. `kept` holds
 offsets, ascending, each as eight bytes, the lowest first. `told` gets bytes consumed, lowest offset of the next
 batch, messages kept, last offset kept (2^64 - 1: none), why it ended, bytes needed. As many bytes as the piece has
 are always enough.

 # Safety
 `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to three numbers, `kept` to
 `kept_length` bytes; `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number;
 `told` points to six writable numbers.
 */
int64_t codec_rewrite(const uint8_t *piece,
                      uintptr_t piece_length,
                      const uint64_t *asked,
                      const uint8_t *kept,
                      uintptr_t kept_length,
                      uint8_t *buffer,
                      uintptr_t capacity,
                      uint64_t *needed,
                      uint64_t *told);

/*
 Copies batches of a segment without the messages that have an identity and are not the newest of it; returns the number of
 bytes.

 `asked` and `key` are those of `codec_newest_add`, with a fifth number: whether each offset of the segment is a message that
 has an identity. Then batches of which nothing stays are passed over by their headers, and the bytes consumed may be more
 than the piece has. `newest` holds offsets as `codec_newest_offsets` tells them. `told` gets bytes consumed, lowest offset
 of the next batch, messages kept, least and greatest timestamp of their batches (2^64 - 1 and 0: none), why it ended,
 bytes needed. As many bytes as the piece has are always enough.

 # Safety
 `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to five numbers, `key` to
 `key_length` bytes, `newest` to `newest_length` bytes; `buffer` points to `capacity` writable bytes, `told` to seven
 writable numbers.
 */
int64_t codec_compact(const uint8_t *piece,
                      uintptr_t piece_length,
                      const uint64_t *asked,
                      const uint8_t *key,
                      uintptr_t key_length,
                      const uint8_t *newest,
                      uintptr_t newest_length,
                      uint8_t *buffer,
                      uintptr_t capacity,
                      uint64_t *told);

/*
 Looks for each batch of a compacted segment in the segment that it was made from; returns why it came to its end: 0 all were
 found, 1 more bytes of the compacted one are needed, 2 of the other one, 3 the other one is at its end, 4 something is wrong,
 which `engine_last_error` explains.

 `asked` holds valid bytes of the compacted segment from the piece on and the lowest offset of its next batch, the same two
 of the other one, and the partition. `told` gets bytes that were found and the lowest offset of the next batch, bytes of
 the other one that were passed and the lowest offset there, messages found, their least (2^64 - 1: none) and greatest
 timestamp, bytes needed.

 # Safety
 `slices` points to `slices_length` readable bytes and `whole` to `whole_length`, which nobody writes meanwhile; `asked` to
 five numbers; `told` to eight writable numbers.
 */
int64_t codec_compare(const uint8_t *slices,
                      uintptr_t slices_length,
                      const uint8_t *whole,
                      uintptr_t whole_length,
                      const uint64_t *asked,
                      uint64_t *told);

/*
 The version of this boundary.
 */
uint32_t abi_version(void);

/*
 Fills `buffer` with lines of `key=value` about this build: its package version, the digest of its tables, its profile.

 # Safety
 `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
 */
int64_t describe(uint8_t *buffer,
                 uintptr_t capacity,
                 uint64_t *needed);

/*
 Opens an engine with settings in lines of `key=value`: binds its listener, starts no thread. Writes its handle.

 # Safety
 `settings` points to `length` readable bytes; `handle` to a writable number.
 */
int64_t engine_open(const uint8_t *settings,
                    uintptr_t length,
                    uint64_t *handle);

/*
 Fills `buffer` with lines of `key=value`: bound addresses, the chosen backend.

 # Safety
 `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
 */
int64_t engine_describe(uint64_t handle, uint8_t *buffer, uintptr_t capacity, uint64_t *needed);

/*
 The descriptor to watch: readable when there is something to drain. Reading it is the caller's part.
 */
int64_t engine_notify_fd(uint64_t handle);

/*
 Starts the engine's threads and returns at once; a record says how it went.
 */
int64_t engine_start(uint64_t handle);

/*
 Takes whole records for the first shard. Writes how many bytes were taken, which is all of them unless the ring was
 full (`BUSY`).

 # Safety
 `records` points to `length` readable bytes; `taken` is null or points to a writable number.
 */
int64_t engine_submit(uint64_t handle,
                      const uint8_t *records,
                      uintptr_t length,
                      uint64_t *taken);

/*
 Fills `buffer` with whole records and returns how many bytes. When a record is left, `needed` is written with its size:
 with nothing returned the buffer is too small for it, else another call gets it. Doubles as Python's sign of life.

 # Safety
 `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
 */
int64_t engine_drain(uint64_t handle,
                     uint8_t *buffer,
                     uintptr_t capacity,
                     uint64_t *needed);

/*
 Fills `cells` with every shard's figures, shard by shard, and returns how many there are in all.

 # Safety
 `cells` points to `capacity` writable numbers; `needed` is null or points to a writable number, written with how many
 cells there are.
 */
int64_t engine_metrics(uint64_t handle,
                       uint64_t *cells,
                       uintptr_t capacity,
                       uint64_t *needed);

/*
 Begins an orderly stop and returns at once; a record says when it is done.
 */
int64_t engine_stop(uint64_t handle);

/*
 Waits until every thread has ended, at most `timeout_ms`. Returns 1 if they ended in order, 0 if something was cut off.
 The one call that may take long: not for an event loop's thread.
 */
int64_t engine_join(uint64_t handle,
                    uint64_t timeout_ms);

/*
 Closes an engine whose threads have ended, or never began.
 */
int64_t engine_close(uint64_t handle);

/*
 Fills `buffer` with the sentence of the calling thread's last failure.

 # Safety
 `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
 */
int64_t engine_last_error(uint8_t *buffer, uintptr_t capacity, uint64_t *needed);

/*
 Probes the machine and the directory at `path`, and fills `buffer` with lines of `key=value`.

 # Safety
 `path` points to `path_length` readable bytes, `buffer` to `capacity` writable ones; `needed` is null or points to a
 writable number.
 */
int64_t probe_host(const uint8_t *path,
                   uintptr_t path_length,
                   uint8_t *buffer,
                   uintptr_t capacity,
                   uint64_t *needed);

/*
 Fills `buffer` with what the journals of the data directory at `path` have lost, three lines for each loss: its name,
 `acceptable` or `final`, what it means. With `names`, one in each line, which must be all of these, they are accepted.
 After them come three lines for each partition that a loss without a group may have hit: the group in hexadecimal, `from`,
 the first offset that may be lost.

 Where that is refused there are three lines as well: nothing, the status that the process ends with, why.

 # Safety
 `path` points to `path_length` readable bytes, `names` to `names_length`; `buffer` points to `capacity` writable bytes;
 `needed` is null or points to a writable number.
 */
int64_t recover_directory(const uint8_t *path,
                          uintptr_t path_length,
                          const uint8_t *names,
                          uintptr_t names_length,
                          uint8_t *buffer,
                          uintptr_t capacity,
                          uint64_t *needed);
