// Package redisfront answers replays from Redis, before the database is asked, and tells duplicates at other processes
// that the first attempt runs.
//
// It is an onceward.Front: it saves the database work and never decides. Lost, slow, full, evicting or failing over, Redis
// makes answers slower and never wrong: what it does not answer in time is asked of the store, after a few failures it is
// left alone for a moment, and a replay from the store fills it again.
//
// A command has two keys, both in one hash slot: idem:result:{operation}:{id} holds the completed record, and
// idem:lock:{operation}:{id} the fingerprint and the token of the attempt that runs. The id is the digest of operation,
// scope and key; neither of these is in a key's name. Reading the result and taking the lock is one script, and so is writing
// the result and deleting the lock if it is still ours, so that a request costs two round trips and a replay one.
//
// Business data that lie in Redis alone are another matter, for which there is no engine here: see the example RedisAlone.
package redisfront
