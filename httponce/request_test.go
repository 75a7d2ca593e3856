package httponce_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
	"github.com/onceward/onceward/httponce"
)

var create = &onceward.Operation{Name: "create-order.v1"}

func TestF21KeyIsRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	for _, c := range []struct {
		name  string
		lines []string
		code  string
	}{
		{"missing", nil, "key_missing"},
		{"empty", []string{""}, "key_malformed"},
		{"blank", []string{"  "}, "key_malformed"},
		{"quoted blank", []string{`"  "`}, "key_malformed"},
		{"two lines", []string{"a", "b"}, "key_repeated"},
		{"the same line twice", []string{"a", "a"}, "key_repeated"},
		{"two members", []string{`"a", "b"`}, "key_repeated"},
		{"two bare members", []string{`a,b`}, "key_repeated"},
		{"no closing quote", []string{`"a`}, "key_malformed"},
		{"after the quote", []string{`"a"b`}, "key_malformed"},
		{"parameter", []string{`"a";b=1`}, "key_malformed"},
		{"bad escape", []string{`"a\n"`}, "key_malformed"},
		{"beyond ASCII", []string{`"é"`}, "key_malformed"},
		{"bare beyond ASCII", []string{`é`}, "key_malformed"},
		{"256 bytes", []string{strings.Repeat("k", 256)}, "key_too_long"},
		{"10 kB", []string{strings.Repeat("k", 10_000)}, "key_too_long"},
	} {
		r := s.request("", book)
		r.Header.Del(httponce.HeaderKey)
		for _, line := range c.lines {
			r.Header.Add(httponce.HeaderKey, line)
		}
		answer := s.do(r)
		if answer.status != 400 || answer.code() != c.code {
			t.Errorf("%s: %d %s", c.name, answer.status, answer.body)
		}
	}
	s.wantClaims(0)
	s.post(strings.Repeat("k", 255), book).want(t, 201, "")
}

func TestF21KeyIsTakenByteForByte(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	for i, key := range []string{"abc", "ABC", "abd", `"a b"`, `"a,b"`, `"a\"b"`, `"a\\b"`, "a=b;"[:3]} {
		if answer := s.post(key, book).want(t, 201, ""); answer.replayed() {
			t.Errorf("%s is the key of another request", key)
		}
		s.wantRows(i + 1)
	}
}

func TestQuotedAndBareAreOneKey(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	first := s.post(`abc`, book).want(t, 201, "")
	for _, key := range []string{`"abc"`, ` "abc" `, ` abc `} {
		again := s.post(key, book).want(t, 201, "")
		if !again.replayed() || again.body != first.body {
			t.Errorf("%q is another key than abc", key)
		}
	}
	s.wantRows(1)
}

func TestStrictTakesOnlyTheQuotedForm(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{Strict: true}})
	s.orders(create)
	s.post(`abc`, book).want(t, 400, "key_malformed")
	s.wantClaims(0)
	s.post(`"abc"`, book).want(t, 201, "")
}

func TestOptionalKey(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{Optional: true}})
	s.orders(create)
	for range 2 {
		r := s.request("", book)
		r.Header.Del(httponce.HeaderKey)
		s.do(r).want(t, 201, "")
	}
	s.wantRows(2)
	s.post("", book).want(t, 400, "key_malformed") // present and blank is a fault, not an absence
	s.post("k", book).want(t, 201, "")
	if !s.post("k", book).replayed() {
		t.Error("a key that was sent counts")
	}
}

func TestScopeDecides401(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		scope onceward.Scope
		err   error
		code  string
	}{
		{"error", onceward.Scope{}, errors.New("token of alice expired at 10:00"), "unauthenticated"},
		{"nobody", onceward.Scope{}, nil, "unauthenticated"},
		{"no principal", onceward.Scope{Tenant: "acme"}, nil, "unauthenticated"},
		{"an answer", onceward.Scope{}, fmt.Errorf("no token: %w", challenge()), "token_missing"},
	} {
		s := newService(t, setup{options: httponce.Options{
			Scope: func(*http.Request) (onceward.Scope, error) { return c.scope, c.err },
			Authorize: func(_ *http.Request, command onceward.Command) error {
				t.Errorf("%s: asked what %v may do", c.name, command.Scope)
				return nil
			},
		}})
		s.orders(create)
		answer := s.post("k", book).want(t, 401, c.code)
		if c.code == "token_missing" && answer.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: the answer's own header is gone: %v", c.name, answer.header)
		}
		if strings.Contains(answer.body, "alice") {
			t.Errorf("%s: the error's text reached the caller", c.name)
		}
		s.wantClaims(0)
	}
}

func challenge() *httponce.Answer {
	answer := httponce.Refuse(401, httponce.Problem{Code: "token_missing"})
	answer.Header = http.Header{"Www-Authenticate": {"Bearer"}}
	return answer
}

// A key that belongs to the tenant needs a tenant and no principal.
func TestTenantsKey(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(&onceward.Operation{Name: "ship.v1", Per: onceward.Tenant})
	s.post("k", book).want(t, 201, "")
	r := s.request("k", book)
	r.Header.Set("Caller", "acme/bob")
	if !s.do(r).want(t, 201, "").replayed() {
		t.Error("the key of a tenant is that of each of its principals")
	}
	r = s.request("k", book)
	r.Header.Set("Caller", "/alice")
	s.do(r).want(t, 401, "unauthenticated")
}

func TestBodyTooLargeIsNotClaimed(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{BodyBytesMax: 64}})
	s.handle(create, func(w http.ResponseWriter, r *http.Request, _ *ledgerTx) error {
		_, err := io.Copy(w, r.Body)
		return err
	})
	large := strings.Repeat("x", 65)
	s.post("k", large).want(t, 413, "body_too_large")
	r := s.request("k", "")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(large)), -1
	s.do(r).want(t, 413, "body_too_large")
	s.wantClaims(0)
	for key, length := range map[string]int64{"announced": 64, "chunked": -1} {
		r := s.request(key, "")
		r.Header.Set("Content-Type", "text/plain")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(large[:64])), length
		if answer := s.do(r).want(t, 200, ""); answer.body != large[:64] {
			t.Errorf("%s: the handler read %q", key, answer.body)
		}
	}
}

// A smaller bound outside of the door is told as what it is.
func TestBodyBeyondAnothersBound(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	handler := s.door.Handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error { return nil })
	s.mux.Handle("POST /bounded", http.MaxBytesHandler(handler, 64))
	for _, length := range []int64{65, -1} {
		r := s.request("k", "")
		r.URL.Path, r.ContentLength, r.Body = "/bounded", length, io.NopCloser(strings.NewReader(strings.Repeat("x", 65)))
		if answer := s.do(r).want(t, 413, "body_too_large"); !strings.Contains(answer.body, "at most 64 bytes") {
			t.Errorf("the answer is %s", answer.body)
		}
	}
	s.wantClaims(0)
}

// A handler that parses a form leaves no files behind.
func TestFilesOfAFormAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newService(t, setup{})
	parse := func(w http.ResponseWriter, r *http.Request) {
		err := r.ParseMultipartForm(1) // all files go to the disk
		files, _ := os.ReadDir(os.TempDir())
		if err != nil || len(files) != 1 {
			t.Errorf("%v, %d files on the disk", err, len(files))
		}
	}
	s.mux.Handle("POST /handled", s.door.Handle(create, func(w http.ResponseWriter, r *http.Request, _ *ledgerTx) error {
		parse(w, r)
		return nil
	}))
	s.mux.Handle("POST /wrapped", s.door.Middleware(create)(http.HandlerFunc(parse)))
	for _, path := range []string{"/handled", "/wrapped"} {
		var form bytes.Buffer
		m := multipart.NewWriter(&form)
		part, err := m.CreateFormFile("file", "file")
		if err == nil {
			_, err = part.Write(make([]byte, 100_000))
		}
		if err = errors.Join(err, m.Close()); err != nil {
			t.Fatal(err)
		}
		r := s.request(path, form.String())
		r.URL.Path = path
		r.Header.Set("Content-Type", m.FormDataContentType())
		s.do(r).want(t, 200, "")
		if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
			t.Errorf("%s: %d files remain, %v", path, len(files), err)
		}
	}
}

func TestLargeBodyIsRead(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.handle(create, func(w http.ResponseWriter, r *http.Request, _ *ledgerTx) error {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
		return err
	})
	r := s.request("k", strings.Repeat("x", 1<<20))
	r.Header.Set("Content-Type", "text/plain")
	if answer := s.do(r).want(t, 200, ""); answer.body != "1048576" {
		t.Errorf("the handler read %s bytes", answer.body)
	}
}

func TestIncompleteBodyIsNotClaimed(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	for _, length := range []int{100, 100_000} { // read at once, and growing
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: x\r\nCaller: acme/alice\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, book)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != 400 {
			t.Errorf("half a body was answered with %d", response.StatusCode)
		}
		conn.Close()
	}
	s.wantClaims(0)
}

// What an outer handler has read away is not taken for an empty body.
func TestConsumedBodyIsNotClaimed(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{outer: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			next.ServeHTTP(w, r)
		})
	}})
	s.handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error { return nil })
	for _, size := range []int{10, 100_000} {
		r := s.request("k", strings.Repeat("x", size))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		s.do(r).want(t, 400, "body_incomplete")
	}
	s.wantClaims(0)
}

// Coded bytes count byte for byte, whatever their type says.
func TestCodedBodyOfAHandler(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error { return nil })
	send := func(body string) reply {
		r := s.request("k", body)
		r.Header.Set("Content-Encoding", "gzip")
		return s.do(r)
	}
	send("\x1f\x8b\x08\x00").want(t, 200, "")
	send("\x1f\x8b\x08\x01").want(t, 422, "key_reused")
}

func TestInputIsValidatedBeforeTheClaim(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	for _, c := range []struct{ body, detail string }{
		{``, "The body is empty. Send JSON."},
		{`  `, "The body is empty. Send JSON."},
		{`null`, "The body is null. Send a value."},
		{`{`, "The body is not JSON: it ends too early."},
		{`{"sku":}`, "The body is not JSON: an error at byte 8."},
		{`[]`, "The body must be an object, not array."},
		{`{"sku":1}`, `The member "sku" must be a string, not number.`},
		{`{"sku":"A","quantity":"secret"}`, `The member "quantity" must be an integer of 64 bits, not string.`},
		{`{"sku":"A","quantity":2.5}`, `The member "quantity" must be an integer of 64 bits, not one beyond its range or with a fraction or an exponent.`},
		{`{"lines":[{"cents":true}]}`, `The member "lines.cents" must be an integer of 64 bits, not bool.`},
		{`{"sku":"A","colour":"red"}`, `The member "colour" is not known here.`},
		{`{"sku":"A"}{}`, "The body has text after the JSON value, at byte 12."},
		{`{"sku":"A"} x`, "The body has text after the JSON value, at byte 12."},
		{`{"sku":"A","quantity":-1}`, "the quantity must not be negative."},
		{`{"sku":"A","sku":"B"}`, "The request's json cannot be read: duplicate member."},
		{`{"sku":"A","quantity":1,"Quantity":1000}`, `The members "quantity" and "Quantity" differ in case only. Send one of them.`},
		{`{"lines":[{"cents":1,"\u0043ents":1000}]}`, `The members "cents" and "Cents" differ in case only. Send one of them.`},
		{"{\"sku\":\"\xff\"}", "The request's json cannot be read: invalid UTF-8."},
	} {
		answer := s.post("k", c.body)
		if answer.status != 400 || answer.code() != "body_invalid" || answer.detail() != c.detail {
			t.Errorf("%s: %d %s", c.body, answer.status, answer.body)
		}
		if answer.header.Get(httponce.HeaderID) != "" {
			t.Errorf("%s: an id without a result", c.body)
		}
	}
	s.wantClaims(0)
	s.post("k", book).want(t, 201, "") // the key is still free
	s.post("k", `{"sku":"BOOK","quantity":-2}`).want(t, 400, "body_invalid")
}

func TestBodyType(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	for i, c := range []struct {
		contentType, encoding string
		status                int
	}{
		{"application/json", "", 201},
		{"application/json; charset=utf-8", "", 201},
		{"application/vnd.shop+json", "", 201},
		{"", "", 201},
		{"application/x-www-form-urlencoded", "", 201},
		{"text/plain", "", 201},
		{"json", "", 201},
		{"application/json", "gzip", 415},
	} {
		r := s.request(fmt.Sprint("k", i), book)
		r.Header.Set("Content-Type", c.contentType)
		if c.contentType == "" {
			r.Header.Del("Content-Type")
		}
		if c.encoding != "" {
			r.Header.Set("Content-Encoding", c.encoding)
		}
		if answer := s.do(r); answer.status != c.status {
			t.Errorf("%s %s: %d %s", c.contentType, c.encoding, answer.status, answer.body)
		}
	}
}

func TestEmptyInputNeedsNoBody(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.mux.Handle("POST /orders/{id}/cancel", httponce.JSON(s.door, create, func(ctx context.Context, _ *ledgerTx, _ struct{}) (*httponce.Answer, error) {
		return httponce.OK(httponce.CallFrom(ctx).Request.PathValue("id")), nil
	}))
	r := s.request("k", "")
	r.URL.Path = "/orders/7/cancel"
	if answer := s.do(r).want(t, 200, ""); answer.body != "\"7\"\n" {
		t.Errorf("the path value is %s", answer.body)
	}
}

func TestF14F16WrittenAnotherWayIsTheSameRequest(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	s.post("k", `{"sku":"BOOK","quantity":2,"lines":[{"cents":9007199254740993}]}`).want(t, 201, "")
	for _, same := range []string{
		` { "lines": [ {"cents":9007199254740993} ], "quantity":2, "sku":"\u0042OOK" }` + "\n",
		`{"sku":"BOOK","quantity":2,"lines":[{"cents":9007199254740993}]}`,
	} {
		if !s.post("k", same).want(t, 201, "").replayed() {
			t.Errorf("%s says the same", same)
		}
	}
	s.post("k", `{"sku":"BOOK","quantity":2,"lines":[{"cents":9007199254740992}]}`).want(t, 422, "key_reused")
	s.post("k", `{"sku":"BOOK","quantity":2,"lines":[]}`).want(t, 422, "key_reused")
	s.wantRows(1)
}

func TestF18PathQueryAndMethodCount(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	handler := s.door.Handle(create, func(w http.ResponseWriter, r *http.Request, tx *ledgerTx) error {
		tx.insert(r.PathValue("id"))
		return nil
	})
	for _, pattern := range []string{"/orders/{id}/lines", "/files/{path...}", "/tree/"} {
		s.mux.Handle(pattern, handler)
	}
	send := func(key, method, target string) reply {
		r := s.request(key, book)
		r.Method = method
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
		return s.do(r)
	}
	for _, c := range []struct{ first, other string }{
		{"/orders/1/lines", "/orders/2/lines"},
		{"/orders/1/lines", "/orders/1/lines?dry=1"},
		{"/orders/1/lines?dry=1", "/orders/1/lines?dry=2"},
		{"/files/a/b", "/files/a/c"},
		{"/tree/a", "/tree/b"},
	} {
		key := "k" + c.first
		send(key, "POST", c.first).want(t, 200, "")
		send(key, "POST", c.other).want(t, 422, "key_reused")
		send(key, "PUT", c.first).want(t, 422, "key_reused")
		if !send(key, "POST", c.first).want(t, 200, "").replayed() {
			t.Errorf("%s is not itself", c.first)
		}
	}
	// A tenant's name that was cut off before the route is a part of the path all the same.
	inner := http.NewServeMux()
	inner.Handle("POST /orders", handler)
	s.mux.HandleFunc("/tenants/{tenant}/", func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix("/tenants/"+r.PathValue("tenant"), inner).ServeHTTP(w, r)
	})
	send("cut", "POST", "/tenants/a/orders").want(t, 200, "")
	send("cut", "POST", "/tenants/b/orders").want(t, 422, "key_reused")
	if !send("cut", "POST", "/tenants/a/orders").want(t, 200, "").replayed() {
		t.Error("a path that was cut is not itself")
	}
	send("q", "POST", "/orders/1/lines?a=1&b=2").want(t, 200, "")
	if !send("q", "POST", "/orders/1/lines?b=2&a=%31").want(t, 200, "").replayed() {
		t.Error("the order of the query's names does not count")
	}
	send("bad", "POST", "/orders/1/lines?a=%zz").want(t, 400, "body_invalid")
}

// A record of the time before a deploy is checked by the rule that wrote it.
func TestF18OldRuleVerifiesItsRecords(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: noMemory, options: httponce.Options{Rules: []fingerprint.Rule{{Version: 1}}}})
	s.orders(create)
	s.post("old", book).want(t, 201, "")
	counted := fingerprint.Rule{Version: 2, Headers: []string{"X-Shop"}, Ignore: []string{"/quantity"}}
	door, err := httponce.New(s.engine, httponce.Options{Scope: callerOf, Rules: []fingerprint.Rule{counted, {Version: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	s.mux.Handle("POST /v2/orders", httponce.JSON(door, create, func(context.Context, *ledgerTx, order) (*httponce.Answer, error) {
		return httponce.OK(nil), nil
	}))
	send := func(key, shop, body string) reply {
		r := s.request(key, body)
		r.URL.Path = "/v2/orders"
		r.Header.Set("X-Shop", shop)
		return s.do(r)
	}
	if !send("old", "north", book).want(t, 201, "").replayed() {
		t.Error("a record of rule 1 is not found by a door of rule 2")
	}
	send("old", "north", `{"sku":"BOOK","quantity":3}`).want(t, 422, "key_reused")
	send("new", "north", book).want(t, 200, "")
	send("new", "north", `{"sku":"BOOK","quantity":3}`).want(t, 200, "")
	send("new", "south", book).want(t, 422, "key_reused")
}

func TestF22SafeMethodsAndPreflightsAreNotClaimed(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	handler := s.door.Handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error { return nil })
	s.mux.Handle("/raw", handler)
	s.mux.Handle("/legacy", s.door.Middleware(create)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := httponce.TxFrom[*ledgerTx](r); !ok {
			w.Header().Set("X-Untouched", r.Method)
		}
	})))
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		r := s.request("", "")
		r.Header = http.Header{"Origin": {"https://shop.example"}, "Access-Control-Request-Headers": {"idempotency-key"}}
		r.Method, r.Body, r.URL.Path = method, nil, "/legacy"
		if answer := s.do(r); answer.status != 200 || answer.header.Get("X-Untouched") != method {
			t.Errorf("%s did not pass untouched: %d", method, answer.status)
		}
		r.URL.Path = "/raw"
		want := map[string]int{"OPTIONS": 204}[method]
		if want == 0 {
			want = 405
		}
		if answer := s.do(r); answer.status != want || !strings.Contains(answer.header.Get("Allow"), "POST") {
			t.Errorf("%s on a route of Handle: %d, Allow %q", method, answer.status, answer.header.Get("Allow"))
		}
	}
	s.wantClaims(0)
}
