package main

import (
	"bytes"
	"net"
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
	for _, arguments := range [][]string{{}, {"frob"}, {"migrate"}, {"demo", "--quote-life", "soon"}} {
		var out, log bytes.Buffer
		if code := run(t.Context(), arguments, streams{&out, &log}); code != exitUsage || !strings.Contains(log.String(), "onceward --help") {
			t.Errorf("%q: the exit code is %d, and it says %q", arguments, code, log.String())
		}
	}
}
