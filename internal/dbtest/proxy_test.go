package dbtest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

const never = time.Hour

// cut connects through a proxy, exchanges one line, arms the fault and says the line that it waits for.
func cut(t *testing.T, server *peer, fault Fault) (*Proxy, *Armed, *caller) {
	t.Helper()
	proxy := NewProxy(t, server.Addr().String())
	client := call(t, proxy.Addr())
	client.say(t, "hello\n")
	server.expect(t, "hello\n")
	server.may <- struct{}{}
	client.expectAnswers(t, 1)
	fault.On = "commit"
	armed := proxy.Cut(fault)
	client.say(t, "please COMMIT now\n")
	return proxy, armed, client
}

func TestCutBeforeTheChunk(t *testing.T) {
	t.Parallel()
	server := newPeer(t)
	_, armed, client := cut(t, server, Fault{Moment: Before})
	client.expectEnd(t)
	<-armed.Struck()
	<-armed.Over()
	server.expect(t, silence)
}

func TestCutWithinTheText(t *testing.T) {
	t.Parallel()
	server := newPeer(t)
	_, armed, client := cut(t, server, Fault{Moment: Within})
	client.expectEnd(t)
	<-armed.Over()
	server.expect(t, "please COM")
}

func TestCutAfterTheChunkWhileTheServerWorks(t *testing.T) {
	t.Parallel()
	server := newPeer(t)
	_, armed, client := cut(t, server, Fault{Moment: After})
	client.expectEnd(t)
	<-armed.Struck()
	server.expect(t, "please COMMIT now\n")
	if isClosed(armed.Over()) {
		t.Error("over before the server has answered")
	}
	server.may <- struct{}{}
	<-armed.Over()
	server.expect(t, silence)
}

func TestCutWhenTheServerHasAnswered(t *testing.T) {
	t.Parallel()
	server := newPeer(t)
	_, armed, client := cut(t, server, Fault{Moment: Answered})
	server.expect(t, "please COMMIT now\n")
	client.expectHanging(t)
	if isClosed(armed.Struck()) {
		t.Error("the client was cut before the server answered")
	}
	server.may <- struct{}{}
	client.expectEnd(t)
	<-armed.Over()
	server.expect(t, silence)
}

func TestCutNowAndArriveLate(t *testing.T) {
	t.Parallel()
	server, begin := newPeer(t), time.Now()
	const late = 50 * time.Millisecond
	_, armed, client := cut(t, server, Fault{Moment: Late, Delay: late})
	client.expectEnd(t)
	server.expect(t, "please COMMIT now\n")
	if took := time.Since(begin); took < late {
		t.Errorf("arrived after %s, want at least %s", took, late)
	}
	server.may <- struct{}{}
	<-armed.Over()
}

func TestCutClientIsCutBeforeLateBytesArrive(t *testing.T) {
	t.Parallel()
	for _, moment := range []Moment{Late, Blackhole} {
		server := newPeer(t)
		proxy, armed, client := cut(t, server, Fault{Moment: moment, Delay: never})
		client.expectEnd(t)
		<-armed.Struck()
		if len(server.heard) != 0 || isClosed(armed.Over()) {
			t.Error(moment, "reached the server at once")
		}
		proxy.Sever()
		<-armed.Over()
	}
}

func TestBlackholeEnds(t *testing.T) {
	t.Parallel()
	server, begin := newPeer(t), time.Now()
	const dark = 50 * time.Millisecond
	_, armed, client := cut(t, server, Fault{Moment: Blackhole, Delay: dark})
	client.expectEnd(t)
	server.expect(t, silence)
	if took := time.Since(begin); took < dark {
		t.Errorf("the server heard the end after %s, want at least %s", took, dark)
	}
	<-armed.Over()
}

func TestHangCutsNobodyUntilItsEnd(t *testing.T) {
	t.Parallel()
	server := newPeer(t)
	proxy, armed, client := cut(t, server, Fault{Moment: Hang, Delay: never})
	<-armed.Struck()
	client.expectHanging(t)
	if len(server.heard) != 0 {
		t.Error("the server heard something")
	}
	proxy.Sever()
	client.expectEnd(t)
	<-armed.Over()
}

func TestCutFindsATextThatTwoChunksShare(t *testing.T) {
	t.Parallel()
	server := newPolitePeer(t)
	proxy := NewProxy(t, server.Addr().String())
	armed := proxy.Cut(Fault{On: "x\ncommit", Moment: Within})
	client := call(t, proxy.Addr())
	client.ask(t, "x\n") // answered: the first half has been forwarded
	client.say(t, "commit\n")
	client.expectEnd(t)
	<-armed.Over()
	server.expect(t, "x\n", "co") // the middle of the eight bytes
}

func TestCutSkipsAndIsSpent(t *testing.T) {
	t.Parallel()
	server := newPolitePeer(t)
	proxy := NewProxy(t, server.Addr().String())
	armed := proxy.Cut(Fault{On: "commit", Skip: 1, Times: 2})
	client := call(t, proxy.Addr())
	client.ask(t, "commit\n") // skipped
	for range 2 {
		client.ask(t, "other\n")
		client.say(t, "commit\n")
		client.expectEnd(t)
		client = call(t, proxy.Addr())
	}
	client.ask(t, "commit\n") // spent
	if armed.Count() != 2 {
		t.Error("struck", armed.Count())
	}
}

func TestCutOneClientOnlyAndHeal(t *testing.T) {
	t.Parallel()
	server := newPolitePeer(t)
	proxy := NewProxy(t, server.Addr().String())
	chosen := call(t, proxy.Addr())
	proxy.Cut(Fault{On: "commit", Client: chosen.LocalAddr().String()})
	chosen.say(t, "commit\n")
	chosen.expectEnd(t)
	other := call(t, proxy.Addr())
	proxy.Cut(Fault{On: "commit", Client: chosen.LocalAddr().String()})
	other.ask(t, "commit\n")
	proxy.Cut(Fault{})
	proxy.Heal()
	other.ask(t, "commit\n")
}

func TestProxyOfADeadServerClosesItsClients(t *testing.T) {
	t.Parallel()
	const nobody = "127.0.0.1:1" // a port that the kernel gives to nobody who asks for any
	client := call(t, NewProxy(t, nobody).Addr())
	client.expectEnd(t)
}

// The port of a server that is down may be given to the proxy itself.
func TestProxyDoesNotCallItself(t *testing.T) {
	t.Parallel()
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	proxy := startProxy(listener, listener.Addr().String())
	t.Cleanup(proxy.Close)
	call(t, proxy.Addr()).expectEnd(t)
}

func TestDelayIsARoundTripNotALimit(t *testing.T) {
	t.Parallel()
	const oneWay, lines = 50 * time.Millisecond, 500
	server := newPolitePeer(t)
	proxy := NewProxy(t, server.Addr().String())
	proxy.Delay(oneWay)
	client := call(t, proxy.Addr())
	begin := time.Now()
	for i := range lines {
		client.say(t, fmt.Sprintln(i))
	}
	client.expectAnswers(t, lines)
	if took := time.Since(begin); took < 2*oneWay || took > lines*oneWay/2 {
		t.Errorf("%d lines took %s, want little more than %s", lines, took, 2*oneWay)
	}
	for i := range lines {
		server.expect(t, fmt.Sprintln(i))
	}
}

func TestDelayOfHalfAMillisecond(t *testing.T) {
	server := newPolitePeer(t)
	proxy := NewProxy(t, server.Addr().String())
	client := call(t, proxy.Addr())
	const oneWay = 500 * time.Microsecond
	proxy.Delay(oneWay)
	times := roundTrips(t, client, 50)
	t.Logf("fastest %s, median %s", times[0], times[len(times)/2])
	// The fastest, because the machine may be busy. Timers rounded up to whole milliseconds would make it more than 2 ms.
	if times[0] < 8*oneWay/5 || times[0] > 3*oneWay {
		t.Errorf("the fastest round trip took %s, want about %s", times[0], 2*oneWay)
	}
}

func roundTrips(tb testing.TB, client *caller, count int) (times []time.Duration) {
	for range count {
		begin := time.Now()
		client.ask(tb, "ping\n")
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times
}

// TestCutCommitOfARealServer says what the moments mean for a transaction.
func TestCutCommitOfARealServer(t *testing.T) {
	t.Parallel()
	for moment, stored := range map[Moment]string{Before: "0", Within: "0", After: "1", Answered: "1", Late: "1", Blackhole: "0", Hang: "0"} {
		t.Run(fmt.Sprint(moment), func(t *testing.T) {
			t.Parallel()
			server, direct := Shared(t), Database(t)
			proxy := NewProxy(t, server.Addr())
			through := &Postgres{server: server.server, bin: server.bin, port: portOf(proxy)}
			database := databaseOf(t, direct)
			exec1(t, through, database, "CREATE TABLE orders (n int)")
			armed := proxy.Cut(Fault{On: "commit", Moment: moment, Delay: 10 * time.Millisecond})
			if _, err := through.Exec(database, "BEGIN; INSERT INTO orders VALUES (1); COMMIT"); err == nil {
				t.Error("the client was told of success")
			}
			<-armed.Over()
			if got := exec1(t, server, database, "SELECT count(*) FROM orders"); got != stored {
				t.Errorf("%s orders, want %s", got, stored)
			}
		})
	}
}

func portOf(proxy *Proxy) (port int) {
	_, digits, _ := strings.Cut(proxy.Addr(), ":")
	_, _ = fmt.Sscan(digits, &port)
	return port
}

func BenchmarkRoundTrip(b *testing.B) {
	server := newPolitePeer(b)
	go func() {
		for range server.heard { // makes room for the next
		}
	}()
	direct := server.Addr().String()
	b.Run("direct", func(b *testing.B) { benchmarkCalls(b, direct) })
	for _, oneWay := range []time.Duration{0, 500 * time.Microsecond} {
		b.Run("delay="+oneWay.String(), func(b *testing.B) {
			proxy := NewProxy(b, direct)
			proxy.Delay(oneWay)
			benchmarkCalls(b, proxy.Addr())
		})
	}
}

func benchmarkCalls(b *testing.B, addr string) {
	client := call(b, addr)
	defer client.Close() // the peer serves one at a time
	for b.Loop() {
		client.ask(b, "ping\n")
	}
}
