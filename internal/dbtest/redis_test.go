package dbtest_test

import (
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
)

func TestRedisIsCrashedAndStartedAgain(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{Settings: []string{"appendonly yes", "appendfsync always"}})
	command := func(want string, words ...string) {
		t.Helper()
		if got, err := redis.Command(words...); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", words, got, err, want)
		}
	}
	command("OK", "SET", "k", "one\r\ntwo")
	addr := redis.Addr()
	redis.Kill()
	if _, err := redis.Command("PING"); err == nil {
		t.Error("a killed server answered")
	}
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	if redis.Addr() != addr {
		t.Error("the address has changed")
	}
	command("one\r\ntwo", "GET", "k")
	command("", "GET", "another")
	command("k", "KEYS", "*")
	if _, err := redis.Command("INCR", "k"); err == nil {
		t.Error("an error of the server is none here")
	}
}
