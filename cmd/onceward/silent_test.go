package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that takes connections and says nothing is no server, as a user learns soon.
func TestSilentServerIsSaidToBeSilent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, url := range []string{"postgres://user@" + listener.Addr().String() + "/x?connect_timeout=1", "mysql://user:pass@" + listener.Addr().String() + "/x?timeout=1s"} {
		for _, verb := range []string{"status", "up"} {
			var out, log bytes.Buffer
			if code := run(t.Context(), []string{"migrate", verb, "--database", url}, streams{&out, &log}); code != exitFailed || strings.Contains(log.String(), "pass@") ||
				!strings.Contains(log.String(), listener.Addr().String()) {
				t.Errorf("%s: the exit code is %d, and it says %q", verb, code, log.String())
			}
		}
	}
}

// Whoever gives no verb, or a wrong one, is told where there is more.
func TestUsageErrorNamesHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments []string
		says      string
	}{
		{nil, "(onceward --help"},
		{[]string{"frob"}, "(onceward --help"},
		{[]string{"migrate"}, "(onceward migrate --help"},
		{[]string{"demo", "--quote-life", "soon"}, "(onceward demo --help"},
		{[]string{"demo", "--quote-life", "0s"}, "--quote-life: 0s is not between 1s and 24h (onceward demo --help"},
		{[]string{"demo", "--quote-life", "25h"}, "--quote-life: 25h0m0s is not between 1s and 24h"},
		{[]string{"demo", "--addr", ""}, "--addr: it is empty"},
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), c.arguments, streams{&out, &log}); code != exitUsage || !strings.Contains(log.String(), c.says) {
			t.Errorf("%q: the exit code is %d, and it says %q", c.arguments, code, log.String())
		}
	}
}

// A Redis that is not there is no reason not to start, and is told of at once.
func TestDemoSaysThatRedisDoesNotAnswer(t *testing.T) {
	t.Parallel()
	demo := start(t, filepath.Join(t.TempDir(), "x.db"), "--redis", "redis://:s3cret@127.0.0.1:1/0")
	demo.signal(os.Interrupt)
	if err := demo.awaitEnd(); err != nil {
		t.Error(err)
	}
	if log := demo.log.String(); !strings.Contains(log, "Redis does not answer yet") || strings.Contains(log, "s3cret") {
		t.Errorf("it says %s", log)
	}
}
